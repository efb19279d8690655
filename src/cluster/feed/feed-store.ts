import type { Argument, Command, Link, Reply, Sent } from '../link.ts';
import { CHANGES_KEY, HEAD_KEY } from './feed-keys.ts';
import { APPEND, FOUND, RESTORE, TRIM } from './feed-scripts.ts';

/** The stream of changes in the cluster's store, and its head. */

/** Choice: a commit may wait longer than a decision; a store that is slower than this is away. */
export const FEED_DEADLINE_MS = 500;
/** Choice: a reader asks at least twice a second whether the stream is still the one that it reads. */
const BLOCK_MS = 500;
/** Choice: a read has at most some 2 MB. */
const ENTRIES_PER_READ = 100;
/** The largest second half of an id. */
const PART_MAX = '18446744073709551615';

export interface Head {
  readonly cluster: string;
  readonly check: string;
  readonly format: string;
  readonly number: number;
  readonly last: string;
}

/** One part of a change. */
export interface StreamEntry {
  readonly number: number;
  readonly part: number;
  readonly token: string;
  /** Token of the change before. */
  readonly previous: string;
  /** Time at which it was appended, Unix ms, on the store's clock. */
  readonly atMs: number;
  readonly bytes: number;
  readonly parts: number;
  readonly data: Buffer;
}

export interface Away {
  readonly kind: 'away';
  readonly what: 'refused' | 'unknown' | 'down';
  readonly detail: string;
}

export type Asked<T> = { readonly kind: 'ok'; readonly value: T } | Away;
export type Answer = readonly [status: string, detail: string];

export async function readHead(link: Link): Promise<Asked<Head | null>> {
  const fields = ['id', 'check', 'format', 'number', 'last'];
  return ask(link, { key: HEAD_KEY, args: ['HMGET', HEAD_KEY, ...fields] }, (reply) => headOf(listOf(reply)));
}

/**
 * Founds the cluster if there is none, or one of this id with fewer changes than `applied`; returns its head, which is another one's if
 * that came first.
 */
export function found(
  link: Link,
  { cluster, check, format, number, last }: Head,
  applied = number,
): Promise<Asked<Head | null>> {
  const args = [cluster, check, format, String(number), last, String(applied)];
  return ask(link, script(FOUND, args), (reply) => headOf(listOf(reply).slice(1)));
}

/** `changes`: the encrypted parts of each change. */
export function append(
  link: Link,
  cluster: string,
  writer: { readonly run: string; readonly batch: number; readonly applied: number },
  changes: readonly (readonly Buffer[])[],
): Promise<Asked<Answer>> {
  const args: Argument[] = [cluster, writer.run, String(writer.batch), String(writer.applied)];
  for (const parts of changes) args.push(String(parts.length), ...parts);
  return ask(link, script(APPEND, args), answerOf);
}

export function restore(link: Link, cluster: string, entries: readonly StreamEntry[]): Promise<Asked<Answer>> {
  const args: Argument[] = [cluster];
  for (const { number, part, token, previous, atMs, bytes, parts, data } of entries)
    args.push(String(number), String(part), token, previous, String(atMs), String(bytes), String(parts), data);
  return ask(link, script(RESTORE, args), answerOf);
}

export function trim(link: Link, cluster: string, before: number): Promise<Asked<number>> {
  return ask(link, script(TRIM, [cluster, String(before)]), Number);
}

/** Waits until there are parts after one, for half a second at most. `part` is null for the last one of the change. */
export function readAfter(waiting: Link, number: number, part: number | null): Promise<Asked<readonly StreamEntry[]>> {
  const from = `${number}-${part ?? PART_MAX}`;
  const head = ['XREAD', 'COUNT', String(ENTRIES_PER_READ), 'BLOCK', String(BLOCK_MS), 'STREAMS', CHANGES_KEY, from];
  return ask(waiting, { key: CHANGES_KEY, args: head }, entriesOfRead, BLOCK_MS + 2 * FEED_DEADLINE_MS);
}

/** Returns the first entry from a number on; null at the end. */
export function firstFrom(link: Link, number: number): Promise<Asked<StreamEntry | null>> {
  const args = ['XRANGE', CHANGES_KEY, `${number}-0`, '+', 'COUNT', '1'];
  return ask(link, { key: CHANGES_KEY, args }, (reply) => listOf(reply).map(entryOf)[0] ?? null);
}

/**
 * Returns whether the store has later parts by its head, but not in its stream: somebody else has removed them. The head is read first, on
 * the same connection, so a part that is appended meanwhile cannot look removed.
 */
export async function isRemovedAfter(link: Link, number: number, part: number | null): Promise<Asked<boolean>> {
  const [head, first] = await link.send(
    [
      { key: HEAD_KEY, args: ['HMGET', HEAD_KEY, 'number'] },
      { key: CHANGES_KEY, args: ['XRANGE', CHANGES_KEY, `(${number}-${part ?? PART_MAX}`, '+', 'COUNT', '1'] },
    ],
    FEED_DEADLINE_MS,
  );
  const newest = readSent(head, (reply) => Number(textOf(listOf(reply)[0])));
  const isEmpty = readSent(first, (reply) => listOf(reply).length === 0);
  if (newest.kind === 'away') return newest;
  return isEmpty.kind === 'away' ? isEmpty : { kind: 'ok', value: newest.value > number && isEmpty.value };
}

export async function ask<T>(
  link: Link,
  command: Command,
  read: (reply: Reply) => T,
  deadlineMs = FEED_DEADLINE_MS,
): Promise<Asked<T>> {
  const [sent] = await link.send([command], deadlineMs);
  return readSent(sent, read);
}

/** The command for the clock of the primary that has `key`, which the nodes share. `timeOf` reads its reply. */
export function timeCommand(key: string): Command {
  return { key, args: ['EVAL', "return redis.call('TIME')", '1', key] };
}

/** Asks for that clock alone. */
export function askTime(link: Link, key: string): Promise<Asked<number>> {
  return ask(link, timeCommand(key), timeOf);
}

/** Unix ms. */
export function timeOf(reply: Reply): number {
  const [seconds, microseconds] = listOf(reply);
  return Number(textOf(seconds)) * 1000 + Number(textOf(microseconds)) / 1000;
}

function readSent<T>(sent: Sent | undefined, read: (reply: Reply) => T): Asked<T> {
  if (sent === undefined) return { kind: 'away', what: 'down', detail: 'nothing was sent' };
  if (sent.kind === 'fault') return { kind: 'away', what: sent.what, detail: sent.detail };
  return { kind: 'ok', value: read(sent.reply) };
}

function script(text: string, args: readonly Argument[]): Command {
  return { key: HEAD_KEY, args: ['EVAL', text, '2', HEAD_KEY, CHANGES_KEY, ...args] };
}

export function listOf(reply: Reply | undefined): readonly Reply[] {
  return Array.isArray(reply) ? (reply as readonly Reply[]) : [];
}

export function textOf(reply: Reply | undefined): string {
  return Buffer.isBuffer(reply) ? reply.toString() : String(reply ?? '');
}

function answerOf(reply: Reply): Answer {
  const [status, detail] = listOf(reply);
  return [textOf(status), textOf(detail)];
}

function headOf([id, check, format, number, last]: readonly Reply[]): Head | null {
  if (id === null || id === undefined) return null;
  return {
    cluster: textOf(id),
    check: textOf(check),
    format: textOf(format),
    number: Number(textOf(number)),
    last: textOf(last),
  };
}

/** Null is the reply when the time is over. */
function entriesOfRead(reply: Reply): readonly StreamEntry[] {
  const [stream] = listOf(reply);
  return listOf(listOf(stream)[1]).map(entryOf);
}

function entryOf(reply: Reply): StreamEntry {
  const [id, fields] = listOf(reply);
  const [number = '', part = ''] = textOf(id).split('-');
  const values = new Map<string, Reply>();
  const all = listOf(fields);
  for (let at = 0; at + 1 < all.length; at += 2) values.set(textOf(all[at]), all[at + 1] ?? null);
  const data = values.get('d');
  return {
    number: Number(number),
    part: Number(part),
    token: textOf(values.get('t')),
    previous: textOf(values.get('p')),
    atMs: Number(textOf(values.get('m'))),
    bytes: Number(textOf(values.get('b'))),
    parts: Number(textOf(values.get('c'))),
    data: Buffer.isBuffer(data) ? data : Buffer.alloc(0),
  };
}
