import {
  MISSES_UNTIL_GONE,
  NO_CHANGES,
  type SeenRecord,
  type Watch,
  WATCH_CHANGE_BYTES_MAX,
  WATCH_CHANGES_MAX,
  type WatchChange,
  type WatchCounts,
  type WatchFinding,
} from '../../../work/watch.ts';
import { changeBytes } from '../../tables/watch-table.ts';
import type { Applying, Apply } from './applying.ts';
import { record } from './audit-record.ts';

/**
 * Customers' watches and their runs. Everything that could happen twice after a kill, or on two nodes, is refused here: a run begins only
 * once under its number, and a finding that was applied is no difference any more.
 */

export const createWatch: Apply<'watch.created'> = (at, { watch }) => {
  const { watches } = at.tables;
  if (watches.of(watch.customer).length >= at.bounds.watches) return 'limit_reached';
  watches.put(watch);
  record(at, watch.customer, { kind: 'watch.created', target: watch.id, after: factsOf(watch) });
  return 'created';
};

export const changeWatch: Apply<'watch.changed'> = (at, { customer, id, change, resets }) => {
  const { watches } = at.tables;
  const before = watches.find(customer, id);
  if (before === null) return null;
  const reset = { generation: before.generation + 1, hasBaseline: false, running: null, nullShares: {} };
  const after: Watch = { ...before, ...change, ...(resets && reset), updatedAtMs: at.nowMs };
  watches.put(after);
  const [was, is] = [factsOf(before), factsOf(after)];
  record(at, customer, { kind: 'watch.changed', target: id, before: was, after: is });
  return after;
};

export const removeWatch: Apply<'watch.removed'> = (at, { customer, id }) => {
  const before = at.tables.watches.find(customer, id);
  if (before === null) return false;
  at.tables.watches.remove(customer, id);
  record(at, customer, { kind: 'watch.removed', target: id, before: factsOf(before) });
  return true;
};

export const beginWatch: Apply<'watch.begun'> = (at, { customer, id, run, dueAtMs, missed, nextDueAtMs, node }) => {
  const { watches } = at.tables;
  const before = watches.find(customer, id);
  if (before === null) return null;
  if (before.running !== null || before.runs + 1 !== run) return 'stale';
  const after: Watch = {
    ...before,
    runs: run,
    dueAtMs: nextDueAtMs,
    missedRuns: before.missedRuns + missed,
    running: { run, dueAtMs, beganAtMs: at.nowMs, job: null, node, counts: NO_CHANGES },
  };
  watches.put(after);
  return after;
};

export const takeWatch: Apply<'watch.taken'> = (at, { customer, id, run, from, node, job }) => {
  const watch = at.tables.watches.find(customer, id);
  if (watch?.running?.run !== run || watch.running.node !== from) return false;
  at.tables.watches.put({ ...watch, running: { ...watch.running, node, job } });
  return true;
};

export const compareWatch: Apply<'watch.compared'> = (at, { customer, id, run, findings }) => {
  const before = at.tables.watches.find(customer, id);
  if (before?.running?.run !== run) return false;
  const applied = new FindingsOfRun(at, before, run);
  for (const finding of findings) applied.add(finding);
  at.tables.watches.put(applied.watch());
  return true;
};

export const endWatch: Apply<'watch.ended'> = (at, { customer, id, run, end }) => {
  const watch = at.tables.watches.find(customer, id);
  if (watch?.running?.run !== run) return null;
  const { node: _node, ...began } = watch.running;
  const { drift, ...ended } = end;
  at.tables.watches.put({
    ...watch,
    running: null,
    hasBaseline: watch.hasBaseline || (end.failure === null && end.isComplete),
    ...(drift !== undefined && { nullShares: drift.nullShares }),
    last: { ...began, ...ended, endedAtMs: at.nowMs, drifted: drift?.drifted ?? [] },
  });
  return began.counts;
};

/** The findings of one change, applied to one watch. */
class FindingsOfRun {
  readonly #at: Applying;
  readonly #watch: Watch;
  readonly #run: number;
  #counts: WatchCounts;
  #firstSeq: number;
  #nextSeq: number;
  #bytes: number;

  constructor(at: Applying, watch: Watch, run: number) {
    this.#at = at;
    this.#watch = watch;
    this.#run = run;
    this.#counts = watch.running?.counts ?? NO_CHANGES;
    this.#firstSeq = watch.firstSeq;
    this.#nextSeq = watch.nextSeq;
    this.#bytes = watch.changeBytes;
  }

  add({ keyHash, record: found }: WatchFinding): void {
    const { watches } = this.#at.tables;
    const seen = watches.findSeen(this.#watch, keyHash);
    if (found === null) {
      if (seen !== null) this.#miss(keyHash, seen);
      return;
    }
    const { recordJson, ...present } = found;
    if (seen?.hash === present.hash && seen.missed === 0) return;
    watches.putSeen(this.#watch, keyHash, { ...present, missed: 0, missedRun: 0 });
    if (seen === null) this.#emit('new', { keyJson: present.keyJson, recordJson, beforeJson: null });
    else if (seen.hash !== present.hash)
      this.#emit('changed', { keyJson: present.keyJson, recordJson, beforeJson: seen.valuesJson });
  }

  watch(): Watch {
    const { running } = this.#watch;
    return {
      ...this.#watch,
      running: running && { ...running, counts: this.#counts },
      firstSeq: this.#firstSeq,
      nextSeq: this.#nextSeq,
      changeBytes: this.#bytes,
    };
  }

  #miss(keyHash: string, seen: SeenRecord): void {
    // Counted by an earlier attempt of this run.
    if (seen.missedRun === this.#run) return;
    const { watches } = this.#at.tables;
    const missed = seen.missed + 1;
    if (missed < MISSES_UNTIL_GONE) {
      watches.putSeen(this.#watch, keyHash, { ...seen, missed, missedRun: this.#run });
      return;
    }
    watches.removeSeen(this.#watch, keyHash);
    this.#emit('gone', { keyJson: seen.keyJson, recordJson: null, beforeJson: seen.valuesJson });
  }

  /** The first complete run gives no changes. */
  #emit(kind: WatchChange['kind'], what: Pick<WatchChange, 'keyJson' | 'recordJson' | 'beforeJson'>): void {
    const { watches } = this.#at.tables;
    if (!this.#watch.hasBaseline || !this.#watch.emit.includes(kind)) return;
    const change: WatchChange = { atMs: this.#at.nowMs, run: this.#run, kind, ...what };
    watches.putChange(this.#watch, this.#nextSeq++, change);
    this.#counts = { ...this.#counts, [kind]: this.#counts[kind] + 1 };
    this.#bytes += changeBytes(change);
    while (this.#bytes > WATCH_CHANGE_BYTES_MAX || this.#nextSeq - this.#firstSeq > WATCH_CHANGES_MAX)
      this.#bytes -= watches.removeChange(this.#watch, this.#firstSeq++);
  }
}

/** What a run reads and its key may name persons, and is left out. */
function factsOf({ extraction, schedule, emit, isPaused }: Watch): Readonly<Record<string, unknown>> {
  const { connector, operation } = extraction;
  const { kind } = schedule;
  const every = kind === 'every' ? schedule.seconds : null;
  return {
    connector,
    operation,
    every_seconds: every,
    cron: kind === 'cron' ? schedule.line : null,
    emit,
    paused: isPaused,
  };
}
