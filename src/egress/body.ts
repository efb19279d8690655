/** Choice: bodies beyond it are rare; smaller ones are joined, which takes them twice for a moment. */
const JOINED_BYTES_MAX = 1_048_576;

/**
 * Takes a body as it comes. One that turns out large moves to memory for the largest that may come: what of it is never written costs
 * nothing, and no part of the body is held twice.
 */
export class Body {
  readonly #bytesMax: number;
  #chunks: Buffer[] = [];
  #large: Buffer | null = null;
  #bytes = 0;

  /** The caller holds what comes to `bytesMax`. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Buffer): void {
    const at = this.#bytes;
    this.#bytes += chunk.length;
    if (this.#large !== null) chunk.copy(this.#large, at);
    else {
      this.#chunks.push(chunk);
      if (this.#bytes > JOINED_BYTES_MAX) this.#move();
    }
  }

  /** All of it. */
  take(): Buffer {
    if (this.#large !== null) return this.#large.subarray(0, this.#bytes);
    return this.#chunks.length === 1 ? (this.#chunks[0] ?? EMPTY) : Buffer.concat(this.#chunks);
  }

  #move(): void {
    this.#large = Buffer.allocUnsafeSlow(this.#bytesMax);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(this.#large, at);
    this.#chunks = [];
  }
}

const EMPTY = Buffer.alloc(0);
