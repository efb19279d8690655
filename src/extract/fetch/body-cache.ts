/** A body that may be asked for again with its validators. */
export interface CachedBody {
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly contentType: string;
  /** Unpacked. */
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Choice: in a worker of 64 MiB a job, a quarter; larger bodies are not worth so many small ones. */
const BYTES_MAX = 16 * 1_048_576;
export const BODY_BYTES_MAX = 1_048_576;
/** Choice: bodies of 2 KiB fill it. */
const ENTRIES_MAX = 8_192;
/** Choice: what an entry costs beside its body. */
const ENTRY_BYTES = 2_048;

/** Bodies by what they were asked by, bounded by number and bytes; what was not used for longest goes first. */
export class BodyCache {
  /** In the order of use: a map keeps that of insertion. */
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

  /** What has no validator, or is too large, is not kept; an older one under the key goes in any case. */
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
