/** The part of a long list that is currently wanted. The rest is read later, starting where this part ends. */
export interface ListPart<K extends string = string> {
  /** Index of the first entry; earlier ones are skipped. */
  readonly from: number;
  /** Maximum number of entries, by kind of list. */
  readonly max: Readonly<Record<K, number>>;
  /** Returns whether to keep an address. */
  keeps(url: string, kind: K): boolean;
}

/**
 * Choice: maximum number of characters of the addresses in one part, so that a list of very long ones is read in more parts; enough for
 * 20,000 usual ones.
 * Measured: a job whose list has addresses of 750 characters takes 51 MiB besides the store's pages; with twice as many, 97 MiB.
 */
const PART_CHARACTERS_MAX = 2 * 1_048_576;

/** Takes a list's entries one by one and keeps those of the part. */
export class PartTaker<K extends string, E extends { readonly url: string }> {
  readonly entries: E[] = [];
  /** Index at which the list continues after the part; null if no entry to keep follows. */
  next: number | null = null;
  readonly #part: ListPart<K>;
  #seen = 0;
  #characters = 0;

  constructor(part: ListPart<K>) {
    this.#part = part;
  }

  get seen(): number {
    return this.#seen;
  }

  /** Returns false if the part is full, so that the rest need not be read. */
  take(entry: E, kind: K): boolean {
    if (this.next !== null) return false;
    const at = this.#seen++;
    if (at < this.#part.from || !this.#part.keeps(entry.url, kind)) return true;
    if (this.entries.length >= this.#part.max[kind] || this.#characters >= PART_CHARACTERS_MAX) {
      this.next = at;
      return false;
    }
    this.#characters += entry.url.length;
    this.entries.push(entry);
    return true;
  }
}
