import type { Database } from 'lmdb';
import { type JobNumber, endOfJob, hashedKey, numberedKey, putMark, removeOfJob } from './extractions/keys.ts';
import { withoutSum, withSum } from './value.ts';

/** A step that is still to be done. */
export interface OpenStep {
  /** Its number in its job; those found first are the smallest. */
  readonly step: number;
  readonly key: string;
  readonly stateJson: string;
}

/** A step that was found. */
export interface NewStep {
  /** Under 64 KiB. */
  readonly key: string;
  /** Of the key, `HASH_BYTES` of SHA-256. */
  readonly hash: Uint8Array;
  readonly stateJson: string;
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
    for (const { key, value } of this.#steps.getRange({ start: numberedKey(job, step, 6), end: endOfJob(job), limit })) {
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

  /** Only inside a write transaction. False: the job has met the key before, and nothing was written. */
  add(job: JobNumber, step: number, { key, hash, stateJson }: NewStep): boolean {
    const mark = hashedKey(job, hash);
    if (this.#keys.doesExist(mark)) return false;
    putMark(this.#keys, mark);
    const place = numberedKey(job, step, 6);
    const head = Buffer.allocUnsafe(2);
    const name = Buffer.from(key);
    head.writeUInt16BE(name.length);
    void this.#steps.put(place, withSum(place, Buffer.concat([head, name, Buffer.from(stateJson)])));
    return true;
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
