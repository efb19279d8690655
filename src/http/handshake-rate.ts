import { randomBytes } from 'node:crypto';
import { KeyedHash } from '../kernel/keyed-hash.ts';
import { SOURCE_HANDSHAKES_BURST_SECONDS, SOURCE_HANDSHAKES_CELLS } from '../kernel/limits.ts';

/** What the threads of one transport share. */
export interface SharedHandshakes {
  readonly memory: SharedArrayBuffer;
  readonly hashKey: Uint8Array;
}

export function createSharedHandshakes(): SharedHandshakes {
  return { memory: new SharedArrayBuffer(8 * SOURCE_HANDSHAKES_CELLS), hashKey: new Uint8Array(randomBytes(8)) };
}

/**
 * Limits the TLS handshakes of each source per second. A handshake takes its thread as long as ten decisions, so a source that only
 * opens connections would take all of it.
 *
 * Constant memory: a keyed hash maps a source to two cells, and the earlier one decides. A source is wrongly refused only when others use
 * up both of its cells, which nobody can provoke without the secret.
 */
export class HandshakeRate {
  /** Time at which everything that a cell's sources have begun is paid for, ms. */
  readonly #paidAtMs: Float64Array;
  readonly #hash: KeyedHash;
  readonly #gapMs: number;
  readonly #burstMs: number;
  readonly #nowMs: () => number;

  /**
   * `nowMs` is a monotonic clock, the same in all threads that share the memory. Two handshakes that threads begin at the same moment may
   * count as one.
   */
  constructor(
    perSecond: number,
    { memory, hashKey }: SharedHandshakes = createSharedHandshakes(),
    nowMs: () => number = () => performance.timeOrigin + performance.now(),
  ) {
    this.#paidAtMs = new Float64Array(memory);
    this.#hash = new KeyedHash(Buffer.from(hashKey));
    this.#gapMs = 1_000 / perSecond;
    this.#burstMs = SOURCE_HANDSHAKES_BURST_SECONDS * 1_000;
    this.#nowMs = nowMs;
  }

  /** Returns whether the source may begin a handshake, and counts it. A refused one costs the source nothing. */
  take(source: string): boolean {
    this.#hash.update(0, source);
    const first = this.#hash.low % SOURCE_HANDSHAKES_CELLS;
    const second = this.#hash.high % SOURCE_HANDSHAKES_CELLS;
    const nowMs = this.#nowMs();
    const paidAtMs = Math.min(this.#paidAtMs[first] ?? 0, this.#paidAtMs[second] ?? 0);
    const nextMs = Math.max(nowMs, paidAtMs) + this.#gapMs;
    if (nextMs - nowMs > this.#burstMs) return false;
    // A cell with a later time also belongs to another source and stays.
    for (const at of [first, second]) this.#paidAtMs[at] = Math.max(nextMs, this.#paidAtMs[at] ?? 0);
    return true;
  }
}
