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
import { SUM_BYTES, withoutSum, withSum } from '../value.ts';

/** A step that is still to be done. */
export interface OpenStep {
  /** Its number in its job; steps found first have the smallest numbers. */
  readonly step: number;
  readonly key: string;
  readonly stateJson: string;
}

/** The steps found by a step, packed, because there may be 100,000 of them. */
export interface FoundSteps {
  /** The rows one after the other: the length of its key, u16, with `LIST_MARK` for a list; its key; its state as JSON. */
  readonly rows: Uint8Array;
  /** Size of each row. */
  readonly rowBytes: Uint32Array;
  /** `HASH_BYTES` per step: SHA-256 of its whole key. */
  readonly hashes: Uint8Array;
}

/** Marks the row of a step that reads a list. Stored rows do not have it: their number tells. */
export const LIST_MARK = 0x8000;

/** Steps that read a list have numbers from here to `LISTS_TO`, the newest the smallest; all others have smaller ones. */
const LISTS_FROM = 2 ** 46;
const LISTS_TO = 2 ** 47;

/** Measured: disk space of the hash of a step's key, which stays until the job ends. */
const MARK_BYTES = 52;
/** Bytes that LMDB adds to a row of `steps`, and the size of its pages. */
const ROW_OVERHEAD_BYTES = 24;
const PAGE_BYTES = 4_096;

/**
 * Returns the disk space of a waiting step's row, whose pages are three quarters full, as rows of several jobs are added in turn.
 * Measured: 173, 413, 1,032 and 4,113 bytes for rows of 150, 350, 700 and 1,400. Two large rows of a page are split into pages of one.
 */
function diskBytesOf(rowBytes: number): number {
  const bytes = rowBytes + SUM_BYTES + ROW_OVERHEAD_BYTES;
  return bytes <= PAGE_BYTES / 3 ? Math.ceil((bytes * 4) / 3) : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}

export interface AddedSteps {
  readonly added: number;
  /** Disk space that they take, with the hashes of their keys. */
  readonly bytes: number;
  /** Whether there were more, for which there was no room. */
  readonly isCut: boolean;
}

/** The open steps of jobs, pages in the order in which they were found, and the keys of all steps of a job. */
export class ExtractionSteps {
  readonly #steps: Database<Buffer, Buffer>;
  readonly #keys: Database<Buffer, Buffer>;

  constructor(steps: Database<Buffer, Buffer>, keys: Database<Buffer, Buffer>) {
    this.#steps = steps;
    this.#keys = keys;
  }

  /** Returns the disk space of an open step's row; null if there is no such step. */
  bytesOf(job: JobNumber, step: number): number | null {
    const stored = this.#steps.getBinaryFast(numberedKey(job, step, 6));
    return stored === undefined ? null : diskBytesOf(stored.length - SUM_BYTES);
  }

  /** Returns the pages that wait, from this number on. A job's steps are read a few at a time, however many there are. */
  from(job: JobNumber, step: number, limit: number): readonly OpenStep[] {
    return this.#range(numberedKey(job, step, 6), numberedKey(job, LISTS_FROM, 6), limit);
  }

  /** Returns the lists that wait, the newest first. */
  lists(job: JobNumber, limit: number): readonly OpenStep[] {
    return this.#range(numberedKey(job, LISTS_FROM, 6), endOfJob(job), limit);
  }

  #range(start: Buffer, end: Buffer, limit: number): readonly OpenStep[] {
    const found: OpenStep[] = [];
    for (const { key, value } of this.#steps.getRange({ start, end, limit })) {
      const row = Buffer.from(withoutSum(value));
      const stateAt = 2 + row.readUInt16BE(0);
      found.push({
        step: Buffer.from(key).readUIntBE(4, 6),
        key: row.toString('utf8', 2, stateAt),
        stateJson: row.toString('utf8', stateAt),
      });
    }
    return found;
  }

  /**
   * Must be called inside a write transaction. Adds the steps that are new to the job, numbered from `firstStep` on, as far as they take no
   * more than `bytesMax`.
   */
  add(
    job: JobNumber,
    { rows, rowBytes, hashes }: FoundSteps,
    range: FoundRange,
    firstStep: number,
    bytesMax: number,
  ): AddedSteps {
    let added = 0;
    let bytes = 0;
    let at = range.at;
    for (let i = range.from; i < range.to; i++) {
      const end = at + (rowBytes[i] ?? 0);
      const mark = hashedKey(job, hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
      if (!this.#keys.doesExist(mark)) {
        const own = MARK_BYTES + diskBytesOf(end - at);
        if (bytes + own > bytesMax) return { added, bytes, isCut: true };
        putMark(this.#keys, mark);
        this.#put(job, firstStep + added, rows.subarray(at, end));
        added++;
        bytes += own;
      }
      at = end;
    }
    return { added, bytes, isCut: false };
  }

  #put(job: JobNumber, number: number, found: Uint8Array): void {
    const row = Buffer.from(found);
    const head = row.readUInt16BE(0);
    row.writeUInt16BE(head & ~LIST_MARK, 0);
    const place = numberedKey(job, (head & LIST_MARK) === 0 ? number : LISTS_TO - number, 6);
    void this.#steps.put(place, withSum(place, row));
  }

  /** Must be called inside a write transaction. */
  remove(job: JobNumber, step: number): void {
    void this.#steps.remove(numberedKey(job, step, 6));
  }

  /** Must be called inside a write transaction. Removes part of an ended job's rows; returns the number of removed rows. */
  clean(job: JobNumber, rowsMax: number): number {
    const removed = removeOfJob(this.#steps, job, rowsMax);
    return removed < rowsMax ? removed + removeOfJob(this.#keys, job, rowsMax - removed) : removed;
  }
}
