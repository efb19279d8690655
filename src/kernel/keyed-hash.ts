/**
 * A keyed 64-bit hash of short texts, for tables whose keys clients choose: without the secret key nobody can target a slot. Uses
 * HalfSipHash's permutation with one round per word and three at the end. A word is two UTF-16 units, so the values differ from those of
 * the byte-wise original.
 * Measured: 140 ns for 40 characters, `crypto.hash` 250 ns (bench/micro).
 */
export class KeyedHash {
  /** The last result, two unsigned 32-bit halves. */
  low = 0;
  high = 0;
  readonly #k0: number;
  readonly #k1: number;

  /** `key` holds at least 8 secret bytes. */
  constructor(key: Buffer) {
    this.#k0 = key.readInt32LE(0);
    this.#k1 = key.readInt32LE(4);
  }

  /** Hashes `scope` (any 32 bits) and the first `length` characters of `text` into `low` and `high`. */
  update(scope: number, text: string, length = text.length): void {
    let v0 = this.#k0;
    let v1 = this.#k1 ^ 0xee;
    let v2 = 0x6c796765 ^ this.#k0;
    let v3 = 0x74656462 ^ this.#k1;
    const words = (length + 1) >> 1;
    // Mixes the scope, the text and its length, then runs three final rounds for each of the two halves.
    for (let i = -1; i < words + 7; i++) {
      let m = 0;
      if (i < 0) m = scope | 0;
      else if (i < words) {
        const at = i << 1;
        m = text.charCodeAt(at) | (at + 1 < length ? text.charCodeAt(at + 1) << 16 : 0);
      } else if (i === words) m = length;
      else if (i === words + 1) v2 ^= 0xee;
      else if (i === words + 4) {
        this.low = (v1 ^ v3) >>> 0;
        v1 ^= 0xdd;
      }
      v3 ^= m;
      v0 = (v0 + v1) | 0;
      v1 = (v1 << 5) | (v1 >>> 27);
      v1 ^= v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = (v3 << 8) | (v3 >>> 24);
      v3 ^= v2;
      v0 = (v0 + v3) | 0;
      v3 = (v3 << 7) | (v3 >>> 25);
      v3 ^= v0;
      v2 = (v2 + v1) | 0;
      v1 = (v1 << 13) | (v1 >>> 19);
      v1 ^= v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= m;
    }
    this.high = (v1 ^ v3) >>> 0;
  }
}
