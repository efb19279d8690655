import { randomFillSync } from 'node:crypto';
import { visitorShare } from '../kernel/capacity-share.ts';
import { windowStart } from '../kernel/fixed-window.ts';
import { RATE_WINDOW_SECONDS } from '../kernel/limits.ts';
import { lazyMemory, lockWord, raiseWord, unlockWord } from '../kernel/shared-words.ts';
import { VISITOR_WORDS, VisitorCounts } from './visitor-counts.ts';

/**
 * Choice: counts by key, of which the system provides only the pages that are used, 16 MiB at most. Keys share a count if their numbers
 * differ by a multiple of this.
 */
export const KEY_COUNTS = 2 ** 22;
/** Returned instead of what remains when a request is over its rate. */
export const NONE_LEFT = -1;

/**
 * Words of the memory: 0 start of the window + 1, Unix seconds; 0 before the first   1 lock of the thread that begins a window
 * 2 keys to clear: the highest one counted + 1   3 whether visitors were counted   4-5 secret of the visitors' hash
 * 16 visitors   then one count per key
 */
const AT_START = 0;
const AT_LOCK = 1;
const AT_END = 2;
const AT_VISITORS = 3;
const AT_SECRET = 4;
const HEAD = 16;
const COUNTS_AT = HEAD + VISITOR_WORDS;

const WINDOW_BYTES = (COUNTS_AT + KEY_COUNTS) * 4;

/** Returns memory for this many windows, of which the system provides only the pages that are used. */
export function createRateMemory(windows = 1): SharedArrayBuffer {
  const memory = lazyMemory(windows * WINDOW_BYTES);
  for (let n = 0; n < windows; n++) randomFillSync(new Uint8Array(memory, n * WINDOW_BYTES + AT_SECRET * 4, 8));
  return memory;
}

/**
 * Counts of the current window: one counter per key, and one per source address of a public key. Threads share them: each has an instance
 * over the same memory. A request that another thread verified before the window began may count in it. Source: contract, 3.9.
 */
export class RateWindow {
  readonly #head: Uint32Array;
  readonly #lock: Int32Array;
  readonly #counts: Uint32Array;
  readonly #visitors: VisitorCounts;

  /** `n` is the window's place in the memory. */
  constructor(memory: SharedArrayBuffer, n = 0) {
    const at = n * WINDOW_BYTES;
    this.#head = new Uint32Array(memory, at, HEAD);
    this.#lock = new Int32Array(memory, at, HEAD);
    this.#counts = new Uint32Array(memory, at + COUNTS_AT * 4, KEY_COUNTS);
    this.#visitors = new VisitorCounts(memory, at + HEAD * 4, Buffer.from(memory, at + AT_SECRET * 4, 8));
  }

  /** Moves to the window of this second and returns its end, Unix seconds. To be called before each request is counted. */
  roll(nowSeconds: number): number {
    const start = Atomics.load(this.#head, AT_START) - 1;
    const next = windowStart(start, nowSeconds);
    return (next === start ? start : this.#begin(nowSeconds)) + RATE_WINDOW_SECONDS;
  }

  /** Returns how many requests of a verified key remain. */
  left(keyNumber: number, allowance: number): number {
    return Math.max(0, allowance - (this.#counts[keyNumber % KEY_COUNTS] ?? 0));
  }

  /** The same for a public key: what remains of the source's share, at most what remains of the allowance. Selects the source. */
  leftOfVisitor(keyNumber: number, allowance: number, source: string): number {
    const used = this.#visitors.find(keyNumber, source);
    return Math.min(Math.max(0, visitorShare(allowance) - used), this.left(keyNumber, allowance));
  }

  /** Counts one request of a verified key. Returns how many remain, or `NONE_LEFT`: then nothing was counted. */
  take(keyNumber: number, allowance: number): number {
    const at = keyNumber % KEY_COUNTS;
    for (let used = Atomics.load(this.#counts, at); used < allowance;) {
      const found = Atomics.compareExchange(this.#counts, at, used, used + 1);
      if (found === used) {
        if (used === 0) raiseWord(this.#head, AT_END, at + 1);
        return allowance - used - 1;
      }
      used = found;
    }
    return NONE_LEFT;
  }

  /**
   * Counts one request of the source that `leftOfVisitor` selected against its share of the allowance, and against the allowance itself.
   * Returns what remains of the share, so that a client cannot observe the traffic of other sources. The allowance shows only when less
   * than the share is left of it.
   */
  takeVisitor(keyNumber: number, allowance: number): number {
    const remaining = this.#visitors.add(visitorShare(allowance), () => this.take(keyNumber, allowance));
    // After the count: a window that began meanwhile clears it at its end.
    this.#head[AT_VISITORS] = 1;
    return remaining;
  }

  /** Returns the start of the window that this thread or another one has begun. */
  #begin(nowSeconds: number): number {
    lockWord(this.#lock, AT_LOCK);
    const before = Atomics.load(this.#head, AT_START) - 1;
    const start = windowStart(before, nowSeconds);
    if (start !== before) {
      this.#counts.fill(0, 0, this.#head[AT_END]);
      if (this.#head[AT_VISITORS] === 1) this.#visitors.clear();
      this.#head[AT_VISITORS] = 0;
      Atomics.store(this.#head, AT_START, start + 1);
    }
    unlockWord(this.#lock, AT_LOCK);
    return start;
  }
}
