import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fault, type StoreFault, type StoreWrite } from '../../state/tables/durable.ts';
import type { SharedJobsState } from '../../state/tables/shared-jobs.ts';
import {
  type Appended,
  JOB_NUMBER_MAX,
  type JobLog,
  type LogEntry,
  type LogHead,
  type SealedEntry,
} from './job-log.ts';
import { NewestEntries } from '../log/newest-entries.ts';
import { decodeOp, encodeOp, type JobOp, type OpOrigin } from './job-ops.ts';

/** Outcome of an entry in the tables of this node. */
export type AppliedEntry = StoreWrite<unknown>;

export interface FollowerParts {
  readonly log: JobLog;
  readonly node: string;
  /** The position up to which this node's tables contain everything. */
  readonly position: { get(): number; set(position: number): Promise<void> };
  /**
   * Applies an entry to the tables of this node. `isAwaited`: a caller of `commit` gets the outcome. A fault is repeated until it is none:
   * an entry that one node leaves out would make its jobs differ from those of all others.
   */
  apply(op: JobOp, origin: OpOrigin, job: number, isAwaited: boolean): Promise<AppliedEntry>;
  /**
   * Called when this node has not applied what the log had before `to`, or has applied something else. Resolves to the position that the
   * tables contain when the jobs of another node have replaced them; null if no node gave them, and the tables do not depend on entries
   * between the two any more.
   */
  replace(from: number, to: number): Promise<number | null>;
  /** Called when the store had lost entries, with the number of those that this node has put back. */
  onPutBack(entries: number): void;
  onFault(detail: StoreFault): void;
  /** Called once for the entry at which this node stops, because a newer build wrote it; the upgraded node continues from there. */
  onUnknown(number: number, format: number): void;
}

/** Choice: as the pauses of other writers after a refused write. */
const RETRY_MS = 1_000;
const UNREACHABLE_MS = 200;
/**
 * Choice: how long an entry waits for a store that takes none, before its first connection or while a replica takes over. Measured:
 * without it, entries were refused in the first 0.4 s of the thread on a busy machine.
 */
const APPEND_WAIT_MS = 2_000;
const APPEND_RETRY_MS = 25;
/** Choice: how long a writer waits for its own entry to be applied here; usually a few ms. */
const COMMIT_MS = 15_000;
const POLL_MS = 5;
/** Choice: longer than a read waits for entries, so that a store that answers is never taken for silent. */
const AWAY_MS = 3_000;
const CHECK_MS = 1_000;
/** Choice: after an outage a node that has more entries than others puts them back before others write new ones. */
const SETTLE_MS = 500;
/** Choice: how long a start waits for the store; then the node serves what it has. */
const START_MS = 5_000;

const UNSETTLED: Appended = { kind: 'fault', isKnown: true, detail: 'the store does not answer' };

/** Writes to the log of jobs and applies it, in order, on this node. */
export class LogFollower {
  readonly #parts: FollowerParts;
  readonly #run = randomUUID();
  readonly #waiting = new Map<number, (applied: AppliedEntry) => void>();
  /** Those that were applied here in this run. */
  readonly #newest = new NewestEntries<SealedEntry>(({ sealed }) => sealed);
  #checkedMs = Number.NEGATIVE_INFINITY;
  #hasChecked = false;
  #lastReadMs = 0;
  /** Nothing is appended before: other nodes may still put back what the store has lost. Infinity while the store does not answer. */
  #settledMs = 0;
  #last = 0;
  #putBack = 0;
  /** Entries that no node can apply. */
  #leftOut = 0;
  #isIncomplete = false;
  #isReplacing = false;
  #serial = 0;
  #position: number;
  #isClosed = false;
  /** Why no entry is applied any more; null while they are. */
  #stopped: StoreFault | null = null;
  #following: Promise<void> | null = null;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#position = parts.position.get();
  }

  /** True while the next entry was written by a newer build: this node waits for its upgrade. */
  get isStopped(): boolean {
    return this.#stopped !== null;
  }

  /** Appends an entry, and resolves to its outcome here. `jobsBefore`: this node's greatest job number, for an entry that creates one. */
  async commit<T>(op: JobOp, nowMs: number, jobsBefore: number | null = null): Promise<StoreWrite<T>> {
    if (this.#stopped !== null) return this.#stopped;
    const serial = ++this.#serial;
    const outcome = new Promise<AppliedEntry>((resolve) => this.#waiting.set(serial, resolve));
    const bytes = encodeOp({ node: this.#parts.node, run: this.#run, serial, nowMs }, op);
    const appended = await this.#append(bytes, jobsBefore);
    const hasEntry = appended.kind === 'ok' || (!appended.isKnown && (await this.#isThere(serial)));
    if (hasEntry) {
      const applied = await this.#appliedIn(outcome);
      // The outcome of an entry has the type that its kind of op returns.
      if (applied !== null) return applied as StoreWrite<T>;
    }
    this.#waiting.delete(serial);
    if (appended.kind === 'ok')
      return fault('change_unconfirmed', 'the change was not read back from the shared store');
    const code = appended.isKnown ? 'cluster_unavailable' : 'change_unconfirmed';
    return fault(code, `the shared store did not take the change: ${appended.detail}`);
  }

  /** Resolves to null if this node does not read the entry: after `COMMIT_MS`, or when the store has not answered for a while. */
  async #appliedIn(outcome: Promise<AppliedEntry>): Promise<AppliedEntry | null> {
    const fromMs = performance.now();
    for (;;) {
      const applied = await Promise.race([outcome, delay(UNREACHABLE_MS, null, { ref: false })]);
      const nowMs = performance.now();
      if (applied !== null || nowMs - fromMs > COMMIT_MS || nowMs - Math.max(fromMs, this.#lastReadMs) > AWAY_MS)
        return applied;
    }
  }

  /** Appends an entry. What the store certainly did not take is repeated for a while. */
  async #append(bytes: Buffer, jobsBefore: number | null): Promise<Appended> {
    const endMs = performance.now() + APPEND_WAIT_MS;
    for (;;) {
      const isSettled = performance.now() >= this.#settledMs;
      const appended = isSettled ? await this.#parts.log.append(bytes, this.#position, jobsBefore) : UNSETTLED;
      const isFinal = appended.kind === 'ok' || !appended.isKnown;
      if (isFinal || this.#isClosed || performance.now() > endMs) return appended;
      await delay(APPEND_RETRY_MS);
    }
  }

  /** Returns whether an entry whose append had no answer is in the log. */
  async #isThere(serial: number): Promise<boolean> {
    await this.caughtUp();
    return !this.#waiting.has(serial);
  }

  /**
   * Applies the log from now on. Resolves when everything in it is applied; waits a while for a store that does not answer, so that a node
   * does not work on what others took over meanwhile.
   */
  async follow(): Promise<void> {
    this.#following ??= this.#follow();
    const endMs = performance.now() + START_MS;
    while (performance.now() < endMs && (await this.#parts.log.last()) === null) await delay(UNREACHABLE_MS);
    do await this.caughtUp();
    while (this.#isReplacing && !this.#isClosed && (await delay(UNREACHABLE_MS, true)));
  }

  get state(): SharedJobsState {
    const behind = Math.max(0, this.#last - this.#position);
    const refused = this.#parts.log.refused + this.#leftOut;
    return { behind, putBack: this.#putBack, refused, isIncomplete: this.#isIncomplete };
  }

  /** Resolves when everything in the log is applied, after a while at the latest. Returns whether this node then has all jobs. */
  async caughtUp(): Promise<boolean> {
    const last = await this.#lastEntry();
    const endMs = performance.now() + COMMIT_MS;
    while (this.#isBefore(last ?? 0) && performance.now() < endMs) await delay(POLL_MS);
    return last !== null && this.#position >= last && !this.#isReplacing && !this.#isIncomplete;
  }

  /** Returns the number of the newest entry; null if the store does not answer. Before the first answer it waits for one for a while. */
  async #lastEntry(): Promise<number | null> {
    const endMs = performance.now() + APPEND_WAIT_MS;
    for (;;) {
      const last = await this.#parts.log.last();
      if (last !== null || this.#hasChecked || this.#isClosed || performance.now() > endMs) return last;
      await delay(APPEND_RETRY_MS);
    }
  }

  #isBefore(last: number): boolean {
    return this.#position < last && !this.#isReplacing && !this.#isClosed && this.#stopped === null;
  }

  /** Stops after the entry that is being applied. Close the reader's link first, so that it does not wait for further entries. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (!this.#isClosed && this.#stopped === null) {
      if (performance.now() - this.#checkedMs >= CHECK_MS && !(await this.#check())) {
        await this.#unreachable();
        continue;
      }
      const read = await this.#parts.log.read(this.#position);
      if (read.kind !== 'fault') this.#lastReadMs = performance.now();
      if (read.kind === 'fault') await this.#unreachable();
      else if (read.kind === 'gap') await this.#replace(read.next);
      else if (read.entries.length > 0) {
        for (const entry of read.entries) if (!this.#isClosed && this.#stopped === null) await this.#apply(entry);
        await this.#reached(this.#position);
      }
    }
  }

  async #unreachable(): Promise<void> {
    // Before the first connection nothing can have been lost since.
    if (this.#hasChecked) this.#settledMs = Number.POSITIVE_INFINITY;
    this.#checkedMs = Number.NEGATIVE_INFINITY;
    await delay(UNREACHABLE_MS);
  }

  /**
   * Compares the log with this node: a replica that took over may lack the newest entries, which this node then puts back under their
   * numbers. If others have written something else there first, this node takes the jobs of another one. Returns false if the store does
   * not answer.
   */
  async #check(): Promise<boolean> {
    const head = await this.#parts.log.headAt(this.#position);
    if (head === null) return false;
    const own = this.#newest.all.at(-1);
    if (head.last < this.#position) {
      if (!(await this.#continueLog(head))) return false;
    } else if (head.own !== null && own?.number === this.#position && !own.sealed.equals(head.own.sealed)) {
      await this.#replace(head.last + 1);
    }
    this.#last = head.last;
    this.#checkedMs = performance.now();
    this.#hasChecked = true;
    if (this.#settledMs === Number.POSITIVE_INFINITY) this.#settledMs = this.#checkedMs + SETTLE_MS;
    return true;
  }

  /** Makes the log, which ends before this node's position, reach it again. Returns false if the store does not answer. */
  async #continueLog({ last, newest }: LogHead): Promise<boolean> {
    const isSame = newest === null || this.#hasApplied(newest);
    if (!isSame && (await this.#replace(last + 1))) return true;
    const canPutBack = isSame && this.#newest.all.at(-1)?.number === this.#position;
    const back = canPutBack ? await this.#parts.log.restore(this.#newest.all) : await this.#continue();
    if (back === null) return false;
    this.#putBack += back;
    this.#parts.onPutBack(back);
    return true;
  }

  /**
   * Appends an entry that changes nothing, so that later entries get numbers above this node's position. Nodes behind it then see a gap.
   * Returns 0; null if the store does not answer.
   */
  async #continue(): Promise<0 | null> {
    const origin = { node: this.#parts.node, run: this.#run, serial: ++this.#serial, nowMs: 0 };
    const appended = await this.#parts.log.append(encodeOp(origin, { kind: 'claim', jobs: [] }), this.#position, null);
    return appended.kind === 'ok' ? 0 : null;
  }

  #hasApplied({ number, sealed }: SealedEntry): boolean {
    const known = this.#newest.all.find((entry) => entry.number === number);
    return known === undefined ? this.#newest.all[0]?.number === number + 1 : known.sealed.equals(sealed);
  }

  /** Replaces this node's jobs by another node's, which must contain everything before `to`. Keeps its own if no node has that. */
  async #replace(to: number): Promise<boolean> {
    this.#isReplacing = true;
    const position = await this.#parts.replace(this.#position, to);
    this.#isReplacing = false;
    if (this.#isClosed && position === null) return false;
    this.#isIncomplete = position === null && this.#position < to - 1;
    if (position !== null) this.#newest.clear();
    await this.#reached(position ?? Math.max(this.#position, to - 1));
    return position !== null;
  }

  async #apply(entry: LogEntry): Promise<void> {
    const decoded = decodeOp(entry.bytes);
    if (decoded.kind === 'unknown') return this.#stop(entry.number, decoded.format);
    const { origin, op } = decoded;
    // Refused alike on every node: no table has room for the number.
    if (!(entry.job >= 0 && entry.job <= JOB_NUMBER_MAX)) return this.#leaveOut(entry);
    const waiting = origin.run === this.#run ? this.#waiting.get(origin.serial) : undefined;
    for (;;) {
      const applied = await this.#parts.apply(op, origin, entry.job, waiting !== undefined);
      if (applied.kind === 'ok') {
        this.#position = entry.number;
        this.#newest.add([entry]);
        waiting?.(applied);
        this.#waiting.delete(waiting === undefined ? -1 : origin.serial);
        return;
      }
      this.#parts.onFault(applied);
      if (this.#isClosed) return;
      await delay(RETRY_MS);
    }
  }

  #leaveOut(entry: LogEntry): void {
    this.#position = entry.number;
    this.#leftOut++;
    this.#newest.add([entry]);
  }

  /** No entry may be left out: the jobs of this node would differ from those of all others. */
  #stop(number: number, format: number): void {
    const detail = `entry ${number} of the log of extractions has format ${format}, which a newer build wrote; upgrade this node`;
    this.#stopped = fault('cluster_unavailable', detail);
    this.#parts.onUnknown(number, format);
    for (const settle of this.#waiting.values()) settle(this.#stopped);
    this.#waiting.clear();
  }

  async #reached(position: number): Promise<void> {
    this.#position = position;
    await this.#parts.position.set(position);
  }
}
