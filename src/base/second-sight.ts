/**
 * Tells what was asked for before, so that a cache need not keep what comes once. Most tokens and addresses of strangers do, and
 * each object that outlives its request is copied twice by the collector while no request is served.
 *
 * One word for each place: another value that falls on it makes the one before it a stranger again. Values are told by 32 bits.
 */
export class SecondSight {
  readonly #last: Int32Array;

  /** `places` is a power of two. */
  constructor(places: number) {
    this.#last = new Int32Array(places);
  }

  /** Whether the value was the last one on its place; from now on it is. */
  see(hash: number): boolean {
    const at = (hash ^ (hash >>> 16)) & (this.#last.length - 1);
    if (this.#last[at] === hash) return true;
    this.#last[at] = hash;
    return false;
  }
}

/** 32 bits of a text, from some 32 characters spread over it. Not keyed: for caches whose places may collide. */
export function sampleHash(text: string): number {
  const step = Math.max(1, text.length >>> SAMPLES_BITS);
  let sum = text.length;
  for (let i = 0; i < text.length; i += step) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return sum ^ (sum >>> 15);
}

/** Beginnings and ends are alike in all tokens of one collector. */
const SAMPLES_BITS = 5;
