import type { Database, RootDatabase } from 'lmdb';
import { type Outcome, OUTCOMES } from '../../risk/event-outcome.ts';
import { OUTCOMES_KEPT_MS, OUTCOMES_WAITING_MAX } from '../../kernel/limits.ts';
import { durablyTogether, type StoreFault } from './durable.ts';
import { ID_BYTES, writeId } from './request-rows.ts';
import { withSum } from './value.ts';

/**
 * Choice: rows removed per flush; with four flushes a second, removal keeps up with the maximum arrival rate. Scanning them takes under a
 * millisecond.
 */
const PRUNE_ROWS = 500;

/**
 * The last reported outcome of each decision, kept for as long as one may be reported: reporting the same one again changes nothing,
 * another one replaces it. Outcomes that a request reports about itself are in the decision log.
 *
 * Rows of 21 bytes including their check sum, in the order of the decisions. Written after the responses, like the decisions themselves. A
 * killed process loses what waited for the next `flush`. Failure direction: open. While the disk accepts no writes, 100,000 wait in memory;
 * beyond that the oldest are dropped.
 */
export class Outcomes {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  /** Not written yet. */
  readonly #waiting = new Map<string, Outcome>();
  /** Being written by LMDB. */
  #inFlight: ReadonlyMap<string, Outcome> = new Map();
  #flushing: Promise<StoreFault | null> | null = null;
  #broken = false;

  constructor(root: RootDatabase<Buffer, Buffer>, table: Database<Buffer, Buffer>) {
    this.#root = root;
    this.#table = table;
  }

  /** LMDB does not recover in this process: closing the environment would hang. */
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

  /** Writes waiting outcomes and removes some expired ones; null on success. Calls do not overlap. */
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
      // Otherwise reads on this thread would see the store as it was before the write until the next turn of the event loop.
      this.#root.resetReadTxn();
      this.#inFlight = new Map();
      return null;
    }
    this.#inFlight = new Map();
    for (const [requestId, outcome] of taken) if (!this.#waiting.has(requestId)) this.put(requestId, outcome);
    if (written.code !== 'store_stuck') return written;
    // Decisions work without this environment, so its fault must not end the process.
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
