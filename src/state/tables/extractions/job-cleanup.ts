import type { Database } from 'lmdb';
import { u32Key, withSum } from '../value.ts';
import type { ExtractionRecords } from './record-table.ts';
import type { JobNumber } from './row-keys.ts';
import type { ExtractionSteps } from './step-table.ts';

/** Rows that only running jobs need are removed when a job ends; everything is removed when it expires. */
export type CleanupScope = 'work' | 'all';

const SCOPES: Readonly<Record<CleanupScope, number>> = { work: 1, all: 2 };
/** Choice: jobs cleaned per call; most leave a few rows. */
const CLEAN_JOBS_MAX = 100;

/** Jobs whose rows are removed in the background. Methods that write must be called inside a write transaction. */
export class JobCleanup {
  readonly #table: Database<Buffer, Buffer>;
  readonly #parts: { readonly steps: ExtractionSteps; readonly records: ExtractionRecords };

  constructor(
    table: Database<Buffer, Buffer>,
    parts: { readonly steps: ExtractionSteps; readonly records: ExtractionRecords },
  ) {
    this.#table = table;
    this.#parts = parts;
  }

  isEmpty(): boolean {
    for (const _key of this.#table.getKeys({ limit: 1 })) return false;
    return true;
  }

  add(job: JobNumber, scope: CleanupScope): void {
    const key = u32Key(job);
    void this.#table.put(key, withSum(key, Buffer.from([SCOPES[scope]])));
  }

  /** Removes at most `rowsMax` rows. Returns their number. */
  clean(rowsMax: number): number {
    const jobs = Array.from(this.#table.getRange({ limit: CLEAN_JOBS_MAX }), ({ key, value }) => ({
      key: Buffer.from(key),
      isAll: value.readUInt8(0) === SCOPES.all,
    }));
    let rows = 0;
    for (const { key, isAll } of jobs) {
      rows += this.#cleanJob(key, isAll, rowsMax - rows);
      if (rows >= rowsMax) break;
    }
    return rows;
  }

  #cleanJob(key: Buffer, isAll: boolean, rowsMax: number): number {
    const { steps, records } = this.#parts;
    const job = key.readUInt32BE(0);
    let rows = steps.clean(job, rowsMax);
    if (rows < rowsMax) rows += records.cleanKeys(job, rowsMax - rows);
    if (rows < rowsMax && isAll) rows += records.cleanChunks(job, rowsMax - rows);
    if (rows < rowsMax) void this.#table.remove(key);
    return rows;
  }
}
