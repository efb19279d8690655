import type { Database, RootDatabase } from 'lmdb';
import { type Outcome, OUTCOMES } from '../core/outcome.ts';
import { OUTCOMES_KEPT_MS, OUTCOMES_WAITING_MAX } from '../limits.ts';
import { durablyTogether, type StoreFault } from './durable.ts';
import { ID_BYTES, writeId } from './request-rows.ts';
import { withSum } from './value.ts';

/** Choice: rows that one flush removes; with four a second as many go as can come. Walking them takes under a millisecond. */
const PRUNE_ROWS = 500;

/**
 * The last outcome that was reported for each decision, for as long as one may be reported: so that the same again changes nothing and
 * another one replaces it. What a request told of itself is in the log of decisions.
 *
 * Rows of 21 bytes with their check sum, in the order of the decisions. Written behind the answers, like the decisions themselves; lost
 * with a process that is killed: what waited for at most one round of `flush`. Direction of failure: open. While no disk takes them,
 * 100,000 wait in memory, and then the oldest are forgotten.
 */
export class Outcomes {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  /** Not written yet. */
  readonly #waiting = new Map<string, Outcome>();
  /** With LMDB now. */
  #inFlight: ReadonlyMap<string, Outcome> = new Map();
  #flushing: Promise<StoreFault | null> | null = null;
  #broken = false;

  constructor(root: RootDatabase<Buffer, Buffer>, table: Database<Buffer, Buffer>) {
    this.#root = root;
    this.#table = table;
  }

  /** LMDB does not come back to this process: closing the environment would hang. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Measured: 2 µs. */
  find(requestId: string): Outcome | null {
    const waits = this.#waiting.get(requestId) ?? this.#inFlight.get(requestId);
    if (waits !== undefined) return waits;
    const key = keyOf(requestId);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return stored === undefined ? null : (OUTCOMES[stored[0] ?? -1] ?? null);
  }

  put(requestId: string, outcome: Outcome): void {
    this.#waiting.set(requestId, outcome);
    if (this.#waiting.size <= OUTCOMES_WAITING_MAX) return;
    const [oldest = ''] = this.#waiting.keys();
    this.#waiting.delete(oldest);
  }

  /** Writes what waits, and removes some of what has run out; null when all is well. Calls do not overlap. */
  flush(nowMs: number): Promise<StoreFault | null> {
    this.#flushing ??= this.#flush(nowMs).finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #flush(nowMs: number): Promise<StoreFault | null> {
    if (this.#broken) return null;
    const ended = this.#ended(nowMs);
    if (this.#waiting.size === 0 && ended.length === 0) return null;
    const taken = new Map(this.#waiting);
    this.#waiting.clear();
    this.#inFlight = taken;
    const written = await durablyTogether(this.#root, () => {
      for (const [requestId, outcome] of taken) {
        const key = keyOf(requestId);
        if (key !== null) void this.#table.put(key, withSum(key, Buffer.of(OUTCOMES.indexOf(outcome))));
      }
      for (const key of ended) void this.#table.remove(key);
    });
    if (written.kind === 'ok') {
      // Without it this thread's reads would see the store as it was before the write until its next turn.
      this.#root.resetReadTxn();
      this.#inFlight = new Map();
      return null;
    }
    this.#inFlight = new Map();
    for (const [requestId, outcome] of taken) if (!this.#waiting.has(requestId)) this.put(requestId, outcome);
    if (written.code !== 'store_stuck') return written;
    // Decisions go on without this environment, so its end is not the process's.
    this.#broken = true;
    return { ...written, code: 'store_write_failed' };
  }

  #ended(nowMs: number): Buffer[] {
    const end = Buffer.alloc(ID_BYTES);
    end.writeUIntBE(Math.max(0, Math.floor(nowMs - OUTCOMES_KEPT_MS)), 0, 6);
    return [...this.#table.getKeys({ end, limit: PRUNE_ROWS })].map((key) => Buffer.from(key));
  }
}

function keyOf(requestId: string): Buffer | null {
  const key = Buffer.allocUnsafe(ID_BYTES);
  return writeId('req', requestId, key, 0) ? key : null;
}
