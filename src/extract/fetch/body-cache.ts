/** A body that can be revalidated. */
export interface CachedBody {
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly contentType: string;
  /** Decompressed. */
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Choice: a quarter of a worker that may use 64 MiB for a job. Larger bodies are not worth the many small ones that they would displace.
 */
const BYTES_MAX = 16 * 1_048_576;
export const BODY_BYTES_MAX = 1_048_576;
/** Choice: bodies of 2 KiB fill it. */
const ENTRIES_MAX = 8_192;
/** Choice: overhead of an entry besides its body. */
const ENTRY_BYTES = 2_048;

/** Bodies by request key, limited by number and bytes. Evicts the least recently used entry first. */
export class BodyCache {
  /** In order of use: a Map keeps insertion order. */
  readonly #entries = new Map<string, CachedBody>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(key: string): CachedBody | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry;
  }

  /** Does not cache a body that has no validator or is too large. Removes an older entry with the same key in any case. */
  keep(key: string, entry: CachedBody): void {
    this.drop(key);
    const cost = costOf(key, entry);
    if ((entry.etag === null && entry.lastModified === null) || cost > Math.min(BODY_BYTES_MAX, this.#bytesMax)) return;
    this.#entries.set(key, entry);
    this.#bytes += cost;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax && this.#entries.size <= ENTRIES_MAX) break;
      this.drop(oldest);
    }
  }

  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= costOf(key, entry);
  }
}

function costOf(key: string, entry: CachedBody): number {
  return key.length + entry.body.length + ENTRY_BYTES;
}
