import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { ExtractionId, FailureDetail, FailureEntry, FailureReason } from '../../work/extraction-job.ts';
import { ID_BYTES, writeId } from './request-rows.ts';
import { withoutSum, withSum } from './value.ts';

/** Choice: the first errors say most about the cause; the last ones show how it ended. */
const FIRST_ENTRIES_MAX = 8;
const LAST_ENTRIES_MAX = 4;
/** Choice: twelve entries of a URL and a sentence stay under 8 KiB. */
const STEP_CHARACTERS_MAX = 200;
const DETAIL_CHARACTERS_MAX = 400;

/** Errors of jobs in full, by the id of the request that created the job. For the operator; removed together with the job. */
export class Failures {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  find(requestId: string): FailureDetail | null {
    const key = keyOf(requestId);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    if (stored === undefined) return null;
    const [customer, jobId, count, entries] = unpack(withoutSum(Buffer.from(stored)));
    if (!Array.isArray(entries)) throw new Error('a stored failure has the wrong form');
    return {
      requestId,
      jobId: String(jobId) as ExtractionId,
      customer: Number(customer) as CustomerNumber,
      count: Number(count),
      entries: entries.map(readEntry),
    };
  }

  /** Must be called inside a write transaction. If not all fit, keeps the first and the last ones. */
  add(job: Pick<FailureDetail, 'requestId' | 'jobId' | 'customer'>, added: readonly FailureEntry[]): void {
    const key = keyOf(job.requestId);
    if (key === null || added.length === 0) return;
    const before = this.find(job.requestId);
    const all = [...(before?.entries ?? []), ...added.map(cut)];
    const first = all.slice(0, FIRST_ENTRIES_MAX);
    const last = all.slice(FIRST_ENTRIES_MAX).slice(-LAST_ENTRIES_MAX);
    const entries = [...first, ...last].map(({ atMs, reason, step, detail }) => [atMs, reason, step, detail]);
    const value = pack([job.customer, job.jobId, (before?.count ?? 0) + added.length, entries]);
    void this.#table.put(key, withSum(key, value));
  }

  /** Must be called inside a write transaction. */
  remove(requestId: string): void {
    const key = keyOf(requestId);
    if (key !== null) void this.#table.remove(key);
  }
}

function keyOf(requestId: string): Buffer | null {
  const key = Buffer.allocUnsafe(ID_BYTES);
  return writeId('req', requestId, key, 0) ? key : null;
}

function cut(entry: FailureEntry): FailureEntry {
  const { step, detail } = entry;
  return { ...entry, step: step.slice(0, STEP_CHARACTERS_MAX), detail: detail.slice(0, DETAIL_CHARACTERS_MAX) };
}

function readEntry(stored: unknown): FailureEntry {
  if (!Array.isArray(stored)) throw new Error('a stored failure has the wrong form');
  const [atMs, reason, step, detail] = stored as readonly unknown[];
  return { atMs: Number(atMs), reason: String(reason) as FailureReason, step: String(step), detail: String(detail) };
}
