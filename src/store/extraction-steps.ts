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
import { withoutSum, withSum } from './value.ts';

/** A step that is still to be done. */
export interface OpenStep {
  /** Its number in its job; those found first are the smallest. */
  readonly step: number;
  readonly key: string;
  readonly stateJson: string;
}

/** Steps as another step found them, packed, because there may be 100,000 of them. */
export interface FoundSteps {
  /** One behind the other: the length of its key, u16; its key; its state as JSON. As they are stored. */
  readonly rows: Uint8Array;
  /** Of each row. */
  readonly rowBytes: Uint32Array;
  /** `HASH_BYTES` for each: SHA-256 of its whole key. */
  readonly hashes: Uint8Array;
}

/** The open steps of jobs, in the order in which they were found, and the keys of all that a job has met. */
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

  /** Steps from a number on. A job with any number of them is read a few at a time. */
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
   * Only inside a write transaction. Adds those that the job has not met, numbered from `firstStep` on and up to `lastStep`, which is
   * not used; says how many, and whether there were more.
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

  /** Only inside a write transaction. */
  remove(job: JobNumber, step: number): void {
    void this.#steps.remove(numberedKey(job, step, 6));
  }

  /** Only inside a write transaction. Removes a part of what a job left, and says how many rows. */
  clean(job: JobNumber, rowsMax: number): number {
    const removed = removeOfJob(this.#steps, job, rowsMax);
    return removed < rowsMax ? removed + removeOfJob(this.#keys, job, rowsMax - removed) : removed;
  }
}
