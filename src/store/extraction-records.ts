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
} from './extractions/keys.ts';
import { addSum, SUM_BYTES, withoutSum } from './value.ts';

/** Records as a step found them. */
export interface FoundRecords {
  /** NDJSON: a line for each record. */
  readonly ndjson: Uint8Array;
  /** Of each line, its line feed included. */
  readonly lineBytes: Uint32Array;
  /** `HASH_BYTES` for each record: SHA-256 of its id. */
  readonly hashes: Uint8Array;
}

export interface StoredChunk {
  /** Of its first record, from 0. */
  readonly firstSeq: number;
  readonly records: number;
  /** NDJSON, a copy. */
  readonly bytes: Uint8Array;
}

export interface Kept {
  readonly records: number;
  readonly duplicates: number;
  readonly bytes: number;
  /** There was one more than may be kept. */
  readonly isOver: boolean;
}

const COUNT_BYTES = 4;

/** The records of jobs, a chunk for what a step found, and the ids of all that a job has. */
export class ExtractionRecords {
  readonly #chunks: Database<Buffer, Buffer>;
  readonly #keys: Database<Buffer, Buffer>;

  constructor(chunks: Database<Buffer, Buffer>, keys: Database<Buffer, Buffer>) {
    this.#chunks = chunks;
    this.#keys = keys;
  }

  /** The chunks of a job from the one on that holds record `seq`, one at a time. */
  *from(job: JobNumber, seq: number): Generator<StoredChunk> {
    const [first] = this.#chunks.getKeys({
      start: numberedKey(job, seq, 4),
      end: numberedKey(job, 0, 4),
      reverse: true,
      limit: 1,
    });
    const atStart = this.#chunks.doesExist(numberedKey(job, 0, 4)) ? numberedKey(job, 0, 4) : null;
    const start = first === undefined ? atStart : Buffer.from(first);
    if (start === null) return;
    for (const { key, value } of this.#chunks.getRange({ start, end: endOfJob(job) })) {
      const row = Buffer.from(withoutSum(value));
      yield {
        firstSeq: Buffer.from(key).readUInt32BE(4),
        records: row.readUInt32BE(0),
        bytes: row.subarray(COUNT_BYTES),
      };
    }
  }

  /**
   * Only inside a write transaction. Keeps the records `from` to `to` of what was found that the job does not have, `max` of them at
   * most, as one chunk whose first record is `firstSeq`.
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
    // In one piece: bytes outside of V8's heap that are garbage bring on its large collections.
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

  /** Only inside a write transaction. Removes a part of what only the work needed, and says how many rows. */
  cleanKeys(job: JobNumber, rowsMax: number): number {
    return removeOfJob(this.#keys, job, rowsMax);
  }

  /** Only inside a write transaction. Removes a part of the records, and says how many chunks. */
  cleanChunks(job: JobNumber, rowsMax: number): number {
    return removeOfJob(this.#chunks, job, rowsMax);
  }
}
