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
import { withoutSum, withSum } from '../value.ts';

/** A step that is still to be done. */
export interface OpenStep {
  /** Its number in its job; steps found first have the smallest numbers. */
  readonly step: number;
  readonly key: string;
  readonly stateJson: string;
}

/** The steps found by a step, packed, because there may be 100,000 of them. */
export interface FoundSteps {
  /** The rows one after the other: the length of its key, u16; its key; its state as JSON. In the stored format. */
  readonly rows: Uint8Array;
  /** Size of each row. */
  readonly rowBytes: Uint32Array;
  /** `HASH_BYTES` per step: SHA-256 of its whole key. */
  readonly hashes: Uint8Array;
}

/** The open steps of jobs, in the order in which they were found, and the keys of all steps of a job. */
export class ExtractionSteps {
  readonly #steps: Database<Buffer, Buffer>;
  readonly #keys: Database<Buffer, Buffer>;

  constructor(steps: Database<Buffer, Buffer>, keys: Database<Buffer, Buffer>) {
    this.#steps = steps;
    this.#keys = keys;
  }

  has(job: JobNumber, step: number): boolean {
    return this.#steps.doesExist(numberedKey(job, step, 6));
  }

  /** Returns steps from this number on. A job's steps are read a few at a time, however many there are. */
  from(job: JobNumber, step: number, limit: number): readonly OpenStep[] {
    const found: OpenStep[] = [];
    for (const { key, value } of this.#steps.getRange({
      start: numberedKey(job, step, 6),
      end: endOfJob(job),
      limit,
    })) {
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
   * Must be called inside a write transaction. Adds the steps that are new to the job, numbered from `firstStep` up to but excluding
   * `lastStep`. Returns how many were added, and whether there were more.
   */
  add(
    job: JobNumber,
    { rows, rowBytes, hashes }: FoundSteps,
    range: FoundRange,
    firstStep: number,
    lastStep: number,
  ): { readonly added: number; readonly isCut: boolean } {
    let step = firstStep;
    let at = range.at;
    for (let i = range.from; i < range.to; i++) {
      const end = at + (rowBytes[i] ?? 0);
      const mark = hashedKey(job, hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
      if (!this.#keys.doesExist(mark)) {
        if (step >= lastStep) return { added: step - firstStep, isCut: true };
        putMark(this.#keys, mark);
        const place = numberedKey(job, step, 6);
        void this.#steps.put(place, withSum(place, rows.subarray(at, end)));
        step++;
      }
      at = end;
    }
    return { added: step - firstStep, isCut: false };
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
