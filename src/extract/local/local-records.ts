import type { ExtractResult } from '../base/extract-messages.ts';

/** What is kept of a step's records. */
export interface LocalKept {
  readonly ndjson: Uint8Array;
  readonly records: number;
  readonly duplicates: number;
  /** There was at least one record more than allowed. */
  readonly isOver: boolean;
}

/** Bytes of a record's hash. */
const HASH_BYTES = 16;

/** Deduplicates the records of one job by the hashes of their ids, and limits their number. */
export class LocalRecords {
  readonly #max: number;
  readonly #known = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  get left(): number {
    return this.#max - this.#known.size;
  }

  keep({ ndjson, lineBytes, hashes }: Pick<ExtractResult, 'ndjson' | 'lineBytes' | 'hashes'>): LocalKept {
    const marks = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength);
    const lines: Uint8Array[] = [];
    let duplicates = 0;
    let isOver = false;
    let at = 0;
    for (const [i, bytes] of lineBytes.entries()) {
      const mark = marks.toString('latin1', i * HASH_BYTES, (i + 1) * HASH_BYTES);
      const line = ndjson.subarray(at, (at += bytes));
      if (this.#known.has(mark)) duplicates++;
      else if (this.left === 0) isOver = true;
      else {
        this.#known.add(mark);
        lines.push(line);
      }
    }
    return { ndjson: Buffer.concat(lines), records: lines.length, duplicates, isOver };
  }
}
