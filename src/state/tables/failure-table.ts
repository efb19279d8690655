import type { Database } from 'lmdb';
import type { FailureDetail, FailureEntry, FailureReason } from '../../work/extraction-job.ts';
import { field, packedNumber, packedFields, packedText } from './packed-fields.ts';
import { ID_BYTES, readId, writeId } from './request-rows.ts';
import { type KeyForm, type TypedTable, typedTable } from './typed-table.ts';

/** Choice: the first errors say most about the cause; the last ones show how it ended. */
const FIRST_ENTRIES_MAX = 8;
const LAST_ENTRIES_MAX = 4;
/** Choice: twelve entries of a URL and a sentence stay under 8 KiB. */
const STEP_CHARACTERS_MAX = 200;
const DETAIL_CHARACTERS_MAX = 400;

/** Errors of jobs in full, by the id of the request that created the job. For the operator; removed together with the job. */
export class Failures {
  readonly #table: TypedTable<string, FailureValue>;

  constructor(database: Database<Buffer, Buffer>) {
    this.#table = typedTable({ database, key: KEY, value: VALUE });
  }

  find(requestId: string): FailureDetail | null {
    const found = this.#table.get(requestId);
    return found && { requestId, ...found };
  }

  /** Must be called inside a write transaction. If not all fit, keeps the first and the last ones. */
  add(
    { requestId, jobId, customer }: Pick<FailureDetail, 'requestId' | 'jobId' | 'customer'>,
    added: readonly FailureEntry[],
  ): void {
    if (added.length === 0 || KEY.encode(requestId) === null) return;
    const before = this.#table.get(requestId);
    const all = [...(before?.entries ?? []), ...added.map(cut)];
    const last = all.slice(FIRST_ENTRIES_MAX).slice(-LAST_ENTRIES_MAX);
    const entries = [...all.slice(0, FIRST_ENTRIES_MAX), ...last];
    this.#table.put(requestId, { customer, jobId, count: (before?.count ?? 0) + added.length, entries });
  }

  /** Must be called inside a write transaction. */
  remove(requestId: string): void {
    this.#table.remove(requestId);
  }
}

type FailureValue = Omit<FailureDetail, 'requestId'>;

const KEY: KeyForm<string> = {
  encode(requestId) {
    const key = Buffer.allocUnsafe(ID_BYTES);
    return writeId('req', requestId, key, 0) ? key : null;
  },
  decode: (key) => readId('req', key, 0),
};

const VALUE = packedFields<FailureValue>({
  customer: packedNumber(),
  jobId: packedText(),
  count: packedNumber(),
  entries: field(
    (stored) => {
      if (!Array.isArray(stored)) throw new Error('a stored failure has the wrong form');
      return stored.map(readEntry);
    },
    (entries) => entries.map(({ atMs, reason, step, detail }) => [atMs, reason, step, detail]),
  ),
});

function cut(entry: FailureEntry): FailureEntry {
  const { step, detail } = entry;
  return { ...entry, step: step.slice(0, STEP_CHARACTERS_MAX), detail: detail.slice(0, DETAIL_CHARACTERS_MAX) };
}

function readEntry(stored: unknown): FailureEntry {
  if (!Array.isArray(stored)) throw new Error('a stored failure has the wrong form');
  const [atMs, reason, step, detail] = stored as readonly unknown[];
  return { atMs: Number(atMs), reason: String(reason) as FailureReason, step: String(step), detail: String(detail) };
}
