import type { Database } from 'lmdb';
import {
  type FoundRange,
  type JobNumber,
  endOfJob,
  HASH_BYTES,
  hashedKey,
  numberedKey,
  putMark,
  removeOfJob,
} from './row-keys.ts';
import { addSum, SUM_BYTES, withoutSum } from '../value.ts';

/** The records found by a step. */
export interface FoundRecords {
  /** NDJSON: one line per record. */
  readonly ndjson: Uint8Array;
  /** Size of each line, including its line feed. */
  readonly lineBytes: Uint32Array;
  /** `HASH_BYTES` per record: SHA-256 of its id. */
  readonly hashes: Uint8Array;
}

export interface StoredChunk {
  /** Number of its first record, from 0. */
  readonly firstSeq: number;
  readonly records: number;
  /** NDJSON. */
  readonly bytes: Uint8Array;
}

export interface Kept {
  readonly records: number;
  readonly duplicates: number;
  readonly bytes: number;
  /** Whether there was at least one record more than the limit. */
  readonly isOver: boolean;
}

const COUNT_BYTES = 4;

/** The records of jobs, one chunk per step result, and the ids of all records of a job. */
export class ExtractionRecords {
  readonly #chunks: Database<Buffer, Buffer>;
  readonly #keys: Database<Buffer, Buffer>;

  constructor(chunks: Database<Buffer, Buffer>, keys: Database<Buffer, Buffer>) {
    this.#chunks = chunks;
    this.#keys = keys;
  }

  /** Yields copies of the chunks of a job, one at a time, starting with the chunk that contains record `seq`. */
  *from(job: JobNumber, seq: number): Generator<StoredChunk> {
    const start = this.#keyOf(job, seq);
    if (start === null) return;
    for (const { key, value } of this.#chunks.getRange({ start, end: endOfJob(job) }))
      yield chunkOf(Buffer.from(key), Buffer.from(withoutSum(value)));
  }

  /**
   * Returns the chunk that contains record `seq`, or the last one before it; null if there is none. Its bytes are valid only until the
   * store's next read: a copy would be garbage outside of V8's heap, which triggers its major collections.
   */
  find(job: JobNumber, seq: number): StoredChunk | null {
    const key = this.#keyOf(job, seq);
    const stored = key === null ? undefined : this.#chunks.getBinaryFast(key);
    if (key === null || stored === undefined) return null;
    return chunkOf(key, Buffer.from(stored.buffer, stored.byteOffset, stored.length - SUM_BYTES));
  }

  /** Returns the key of the chunk that contains record `seq`, if it exists. */
  #keyOf(job: JobNumber, seq: number): Buffer | null {
    const [first] = this.#chunks.getKeys({
      start: numberedKey(job, seq, 4),
      end: numberedKey(job, 0, 4),
      reverse: true,
      limit: 1,
    });
    const atStart = this.#chunks.doesExist(numberedKey(job, 0, 4)) ? numberedKey(job, 0, 4) : null;
    return first === undefined ? atStart : Buffer.from(first);
  }

  /**
   * Must be called inside a write transaction. Stores the new records among `from` to `to` of the step's records, at most `max`, as one
   * chunk whose first record is `firstSeq`.
   */
  keep(job: JobNumber, found: FoundRecords, range: FoundRange, place: { firstSeq: number; max: number }): Kept {
    const lines: Uint8Array[] = [];
    let records = 0;
    let duplicates = 0;
    let isOver = false;
    let { at } = range;
    for (let i = range.from; i < range.to; i++) {
      const end = at + (found.lineBytes[i] ?? 0);
      const mark = hashedKey(job, found.hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
      if (this.#keys.doesExist(mark)) duplicates++;
      else if (records >= place.max) {
        isOver = true;
        break;
      } else {
        putMark(this.#keys, mark);
        lines.push(found.ndjson.subarray(at, end));
        records++;
      }
      at = end;
    }
    const bytes = records > 0 ? this.#put(job, place.firstSeq, lines) : 0;
    return { records, duplicates, bytes, isOver };
  }

  #put(job: JobNumber, firstSeq: number, lines: readonly Uint8Array[]): number {
    const bytes = lines.reduce((sum, line) => sum + line.length, 0);
    // Allocated in one piece: garbage outside of V8's heap triggers its major collections.
    const stored = Buffer.allocUnsafe(COUNT_BYTES + bytes + SUM_BYTES);
    let at = stored.writeUInt32BE(lines.length);
    for (const line of lines) {
      stored.set(line, at);
      at += line.length;
    }
    const key = numberedKey(job, firstSeq, 4);
    void this.#chunks.put(key, addSum(key, stored));
    return bytes;
  }

  /**
   * Must be called inside a write transaction. Removes part of the record ids, which only a running job needs; returns the number of
   * removed rows.
   */
  cleanKeys(job: JobNumber, rowsMax: number): number {
    return removeOfJob(this.#keys, job, rowsMax);
  }

  /** Must be called inside a write transaction. Removes part of the records; returns the number of removed chunks. */
  cleanChunks(job: JobNumber, rowsMax: number): number {
    return removeOfJob(this.#chunks, job, rowsMax);
  }
}

function chunkOf(key: Buffer, row: Buffer): StoredChunk {
  return { firstSeq: key.readUInt32BE(4), records: row.readUInt32BE(0), bytes: row.subarray(COUNT_BYTES) };
}
