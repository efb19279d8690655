/** Choice: the newest entries that a node can put back after the store has lost them. */
const ENTRIES_MAX = 1_000;
const BYTES_MAX = 4 * 2 ** 20;

/** The newest entries that a node has applied, as they lie in the store, in order. What has one number stays together. */
export class NewestEntries<Entry extends { readonly number: number }> {
  readonly #contentOf: (entry: Entry) => Buffer;
  #entries: Entry[] = [];
  #bytes = 0;

  constructor(contentOf: (entry: Entry) => Buffer) {
    this.#contentOf = contentOf;
  }

  get all(): readonly Entry[] {
    return this.#entries;
  }

  /** Adds everything that has the next number, and drops the oldest numbers beyond the bounds. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) this.#bytes += this.#contentOf(entry).length;
    this.#entries.push(...entries);
    const newest = this.#entries.at(-1)?.number;
    while (this.#entries.length > ENTRIES_MAX || this.#bytes > BYTES_MAX) {
      const number = this.#entries[0]?.number;
      if (number === newest) return;
      while (this.#entries[0]?.number === number) {
        const dropped = this.#entries.shift();
        this.#bytes -= dropped === undefined ? 0 : this.#contentOf(dropped).length;
      }
    }
  }

  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
  }
}
