import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fault, type StoreFault, type StoreWrite } from '../state/durable.ts';
import type { Appended, JobLog, LogEntry } from './job-log.ts';
import { decodeOp, encodeOp, type JobOp, type OpOrigin } from './job-ops.ts';

/** What became of an entry in the tables of this node. */
export type Applied = StoreWrite<unknown>;

export interface FollowerParts {
  readonly log: JobLog;
  readonly node: string;
  /** The position up to which this node's tables contain everything. */
  readonly position: { get(): number; set(position: number): Promise<void> };
  /**
   * Applies an entry to the tables of this node. `isAwaited`: a caller of `commit` gets the outcome. A fault is repeated until it is none:
   * an entry that one node leaves out would make its jobs differ from those of all others.
   */
  apply(op: JobOp, origin: OpOrigin, job: number, isAwaited: boolean): Promise<Applied>;
  /** Called when entries are missing; resolves when the tables no longer depend on them. */
  onGap(from: number, to: number): Promise<void>;
  onFault(detail: StoreFault): void;
  /** Called once for the entry at which this node stops, because a newer build wrote it; the upgraded node continues from there. */
  onUnknown(number: number, format: number): void;
}

/** Choice: as the pauses of other writers after a refused write. */
const RETRY_MS = 1_000;
const UNREACHABLE_MS = 200;
/**
 * Choice: how long an entry waits for a store that takes none, before its first connection or while a replica takes over. Measured: the
 * first connection of the thread takes up to 0.4 s on a busy machine.
 */
const APPEND_WAIT_MS = 2_000;
const APPEND_RETRY_MS = 25;
/** Choice: how long a writer waits for its own entry to be applied here; usually a few ms. */
const COMMIT_MS = 15_000;
const POLL_MS = 5;
/** Choice: how long a start waits for the store; then the node serves what it has. */
const START_MS = 5_000;

/** Writes to the log of jobs and applies it, in order, on this node. */
export class LogFollower {
  readonly #parts: FollowerParts;
  readonly #run = randomUUID();
  readonly #waiting = new Map<number, (applied: Applied) => void>();
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

  /** Whether this node waits for its upgrade, at an entry of a newer build. */
  get isStopped(): boolean {
    return this.#stopped !== null;
  }

  /** Appends an entry, and resolves to its outcome here. `jobsBefore`: this node's greatest job number, for an entry that creates one. */
  async commit<T>(op: JobOp, nowMs: number, jobsBefore: number | null = null): Promise<StoreWrite<T>> {
    if (this.#stopped !== null) return this.#stopped;
    const serial = ++this.#serial;
    const outcome = new Promise<Applied>((resolve) => this.#waiting.set(serial, resolve));
    const bytes = encodeOp({ node: this.#parts.node, run: this.#run, serial, nowMs }, op);
    const appended = await this.#append(bytes, jobsBefore);
    const hasEntry = appended.kind === 'ok' || (!appended.isKnown && (await this.#isThere(serial)));
    if (hasEntry) {
      const applied = await Promise.race([outcome, delay(COMMIT_MS, null, { ref: false })]);
      // The outcome of an entry has the type that its kind of op returns.
      if (applied !== null) return applied as StoreWrite<T>;
    }
    this.#waiting.delete(serial);
    if (appended.kind === 'ok')
      return fault('change_unconfirmed', 'the change was not read back from the shared store');
    const code = appended.isKnown ? 'cluster_unavailable' : 'change_unconfirmed';
    return fault(code, `the shared store did not take the change: ${appended.detail}`);
  }

  /** Appends an entry. What the store certainly did not take is repeated for a while. */
  async #append(bytes: Buffer, jobsBefore: number | null): Promise<Appended> {
    const endMs = performance.now() + APPEND_WAIT_MS;
    for (;;) {
      const appended = await this.#parts.log.append(bytes, this.#position, jobsBefore);
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
    await this.caughtUp();
  }

  async caughtUp(): Promise<void> {
    const last = (await this.#parts.log.last()) ?? 0;
    const endMs = performance.now() + COMMIT_MS;
    while (this.#isBefore(last) && performance.now() < endMs) await delay(POLL_MS);
  }

  #isBefore(last: number): boolean {
    return this.#position < last && !this.#isClosed && this.#stopped === null;
  }

  /** Stops after the entry that is being applied. Close the reader's link first, so that it does not wait for further entries. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (!this.#isClosed && this.#stopped === null) {
      const read = await this.#parts.log.read(this.#position);
      if (read.kind === 'fault') await delay(UNREACHABLE_MS);
      else if (read.kind === 'gap') {
        await this.#parts.onGap(this.#position, read.next);
        await this.#reached(read.next - 1);
      } else if (read.entries.length > 0) {
        for (const entry of read.entries) if (!this.#isClosed && this.#stopped === null) await this.#apply(entry);
        await this.#reached(this.#position);
      }
    }
  }

  async #apply(entry: LogEntry): Promise<void> {
    const decoded = decodeOp(entry.bytes);
    if (decoded.kind === 'unknown') return this.#stop(entry.number, decoded.format);
    const { origin, op } = decoded;
    const waiting = origin.run === this.#run ? this.#waiting.get(origin.serial) : undefined;
    for (;;) {
      const applied = await this.#parts.apply(op, origin, entry.job, waiting !== undefined);
      if (applied.kind === 'ok') {
        this.#position = entry.number;
        waiting?.(applied);
        this.#waiting.delete(waiting === undefined ? -1 : origin.serial);
        return;
      }
      this.#parts.onFault(applied);
      if (this.#isClosed) return;
      await delay(RETRY_MS);
    }
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
