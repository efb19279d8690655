import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Watch, WatchChange } from '../../work/watch.ts';
import { showEvery } from '../../work/watch-schedule.ts';

/** Watches and their changes as clients see them. */

export function watchJson(watch: Watch): Readonly<Record<string, unknown>> {
  const { schedule, running, last, isPaused } = watch;
  return {
    id: watch.id,
    name: watch.name,
    extraction: watch.extraction,
    every: schedule.kind === 'every' ? showEvery(schedule.seconds) : null,
    cron: schedule.kind === 'cron' ? schedule.line : null,
    key: watch.key,
    compare: watch.compare,
    emit: watch.emit,
    paused: isPaused,
    status: running === null ? (isPaused ? 'paused' : 'waiting') : 'running',
    next_run_at: isPaused ? null : seconds(watch.dueAtMs),
    missed_runs: watch.missedRuns,
    baseline: watch.hasBaseline,
    running: running && showBegan(running),
    last_run: last && {
      ...showBegan(last),
      finished_at: seconds(last.endedAtMs),
      status: last.failure === null ? 'succeeded' : 'failed',
      reason: last.failure,
      complete: last.isComplete,
      notes: last.notes,
      drifted_fields: last.drifted ?? [],
      records: last.records,
      ...last.counts,
    },
    created_at: seconds(watch.createdAtMs),
    updated_at: seconds(watch.updatedAtMs),
  };
}

function showBegan({
  run,
  dueAtMs,
  beganAtMs,
  job,
}: Pick<NonNullable<Watch['running']>, 'run' | 'dueAtMs' | 'beganAtMs' | 'job'>) {
  return {
    run,
    due_at: dueAtMs === null ? null : seconds(dueAtMs),
    started_at: seconds(beganAtMs),
    extraction_id: job,
  };
}

export type NumberedChange = WatchChange & { readonly seq: number };

export function changeId({ id }: Pick<Watch, 'id'>, { seq }: Pick<NumberedChange, 'seq'>): string {
  return `${id}-${seq}`;
}

/** Returns the JSON of a change. Its parts are JSON already. */
export function changeJson(watch: Watch, change: NumberedChange): string {
  const { atMs, kind, keyJson, recordJson, beforeJson } = change;
  const head = JSON.stringify({ id: changeId(watch, change), at: seconds(atMs), kind }).slice(0, -1);
  const before = beforeJson === null ? '' : `,"before":${beforeJson}`;
  return `${head},"key":${keyJson},"record":${recordJson ?? 'null'}${before}}`;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

/** `wft_` and base64url of the customer's number, u32, and 24 random bytes: so a watch is found by its token alone. */
const TOKEN_PREFIX = 'wft_';
const TOKEN = /^wft_([A-Za-z0-9_-]{38})$/;
const RANDOM_BYTES = 24;

export interface NewFeedToken {
  readonly text: string;
  readonly hash: string;
}

export function newFeedToken(customer: CustomerNumber): NewFeedToken {
  const bytes = Buffer.alloc(4 + RANDOM_BYTES);
  bytes.writeUInt32BE(customer, 0);
  randomBytes(RANDOM_BYTES).copy(bytes, 4);
  const text = TOKEN_PREFIX + bytes.toString('base64url');
  return { text, hash: hashOfToken(text).toString('hex') };
}

/** Returns the customer that a token names; null for another text. The token is not proved by it. */
export function customerOfToken(token: string): CustomerNumber | null {
  const [, digits] = TOKEN.exec(token) ?? [];
  return digits === undefined ? null : (Buffer.from(digits, 'base64url').readUInt32BE(0) as CustomerNumber);
}

/** Compares in constant time. */
export function isFeedToken(token: string, { tokenHash }: Pick<Watch, 'tokenHash'>): boolean {
  return tokenHash !== null && timingSafeEqual(hashOfToken(token), Buffer.from(tokenHash, 'hex'));
}

function hashOfToken(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
