const SPLIT_SIZE = 4_096;
const PARTS = 64;

/**
 * A set of texts that grows without a long turn: a `Set` of 131,072 texts takes 5 ms to make room for the next one. Splits into parts by
 * the first character once it is large, which must be spread evenly then, as that of a hash is.
 */
export class SplitSet {
  #few = new Set<string>();
  #parts: readonly Set<string>[] | null = null;
  #size = 0;

  get size(): number {
    return this.#parts === null ? this.#few.size : this.#size;
  }

  add(text: string): void {
    if (this.#parts === null) {
      this.#few.add(text);
      if (this.#few.size >= SPLIT_SIZE) this.#split();
    } else this.#addTo(this.#parts, text);
  }

  #split(): void {
    const parts = Array.from({ length: PARTS }, () => new Set<string>());
    for (const text of this.#few) this.#addTo(parts, text);
    this.#parts = parts;
    this.#few = new Set();
  }

  #addTo(parts: readonly Set<string>[], text: string): void {
    const part = parts[(text.codePointAt(0) ?? 0) % PARTS];
    const before = part?.size ?? 0;
    part?.add(text);
    this.#size += (part?.size ?? 0) - before;
  }
}
