/**
 * Detects values seen before, so that a cache need not store values that occur only once, like most tokens and addresses of unknown
 * identities. Each object that outlives its request is copied twice by the garbage collector, which stops all requests meanwhile.
 *
 * One word per slot: a different value in the same slot replaces the previous one, which is then unknown again. Values are compared by 32
 * bits.
 */
export class SecondSight {
  readonly #last: Int32Array;

  /** `places` is a power of two. */
  constructor(places: number) {
    this.#last = new Int32Array(places);
  }

  /** Returns whether the value was the last one in its slot; stores it there. */
  see(hash: number): boolean {
    const at = (hash ^ (hash >>> 16)) & (this.#last.length - 1);
    if (this.#last[at] === hash) return true;
    this.#last[at] = hash;
    return false;
  }
}

/** Returns a 32-bit hash of a text, from some 32 characters spread over it. Not keyed: for caches in which collisions do no harm. */
export function sampleHash(text: string): number {
  const step = Math.max(1, text.length >>> SAMPLES_BITS);
  let sum = text.length;
  for (let i = 0; i < text.length; i += step) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return sum ^ (sum >>> 15);
}

/** The beginnings and ends of all tokens of one collector are identical. */
const SAMPLES_BITS = 5;
