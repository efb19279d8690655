import type { ExtractResult } from '../pools/extract-messages.ts';

/** What of a step's records is kept. */
export interface LocalKept {
  readonly ndjson: Uint8Array;
  readonly records: number;
  readonly duplicates: number;
  /** There was one more than fits. */
  readonly isOver: boolean;
}

/** Bytes of a record's hash. */
const HASH_BYTES = 16;

/** Which records of one job were there before, by the hashes of their ids, and how many more there may be. */
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
