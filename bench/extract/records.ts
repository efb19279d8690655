import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { FoundRecords } from '../../src/state/tables/extractions/record-table.ts';
import type { PartResult } from '../../src/state/tables/extraction-table.ts';
import type { Store } from '../../src/state/feed/open-store.ts';
import type { Children } from '../webhooks/children.ts';
import { print } from '../webhooks/report.ts';
import type { BenchOptions } from './options.ts';
import { Caller, seed, valueOf } from './service.ts';
import { storedJob, storedPart } from './stored-job.ts';
import { type ProcessUsage, usageOf } from './usage.ts';

/** Maximum number of records per page of the API. */
const PAGE_RECORDS = 1_000;
/** Maximum number of records that the service writes as one chunk. */
const CHUNK_RECORDS = 250;
const CHUNKS_AT_ONCE = 20;

/** Pages through all records of one large job. The service's cost per page must not grow with the position of the cursor. */
export async function benchRecords({ records, folder, nodeFlags }: BenchOptions, children: Children): Promise<void> {
  const dataDir = join(folder, 'records');
  let id = '';
  const sinceMs = performance.now();
  const { secretKey } = await seed(dataDir, async (store, customer) => {
    id = await putJob(store, customer, records);
  });
  const seededMs = performance.now() - sinceMs;
  const server = await children.serve(dataDir, nodeFlags);
  const caller = new Caller(server.port, secretKey);
  console.log(`${records} records of one job, pages of ${PAGE_RECORDS}; written in ${(seededMs / 1_000).toFixed(1)} s`);
  print('', 'records/s', 'CPU µs/record', 'MB', 'file MB');
  const { pid } = server.child;
  for (const format of ['json', 'ndjson', 'csv']) {
    const before = usageOf(pid);
    print(`${format}, before`, '', '', ...memoryOf(before));
    const startMs = performance.now();
    const read = await readAll(caller, id, format, (count) => {
      if (count >= records / 2 && count < records / 2 + PAGE_RECORDS)
        print(`${format}, half way`, '', '', ...memoryOf(usageOf(pid)));
    });
    const ms = performance.now() - startMs;
    if (read !== records) throw new Error(`read ${read} of ${records} records`);
    const after = usageOf(pid);
    print(
      `${format}, at the end`,
      ((records * 1_000) / ms).toFixed(0),
      (((after.cpuMs - before.cpuMs) * 1_000) / records).toFixed(2),
      ...memoryOf(after),
    );
  }
}

/** Returns the process's own memory and the memory of mapped file pages, MB. */
function memoryOf({ residentMb, ownMb }: ProcessUsage): readonly string[] {
  return [ownMb.toFixed(0), (residentMb - ownMb).toFixed(0)];
}

/** Reads all pages and resolves to their total number of records. */
async function readAll(caller: Caller, id: string, format: string, onPage: (count: number) => void): Promise<number> {
  let count = 0;
  for (let cursor: string | null = ''; cursor !== null;) {
    const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await caller.get(`/v1/extractions/${id}/records?limit=${PAGE_RECORDS}&format=${format}${after}`);
    const text = await answer.text();
    count += recordsIn(text, format, cursor === '');
    cursor = format === 'json' ? cursorIn(text) : answer.headers.get('x-next-cursor');
    onPage(count);
  }
  return count;
}

/** Counts a marker that occurs once per record; parsing would measure the caller instead of the service. */
function recordsIn(text: string, format: string, isFirst: boolean): number {
  if (format === 'csv') return text.split('\r\n').length - 1 - (isFirst || text.startsWith('id,') ? 1 : 0);
  return text.split('"_meta":').length - 1;
}

function cursorIn(text: string): string | null {
  const end = text.slice(-500);
  return /"next_cursor":"([^"]+)"/.exec(end)?.[1] ?? null;
}

/** Stores a succeeded job with the given number of records of about 300 bytes. Resolves to its id. */
async function putJob({ extract }: Store, customer: CustomerNumber, records: number): Promise<string> {
  if (extract === null) throw new Error('the store is open read-only');
  const { extractions } = extract;
  const nowMs = Date.now();
  const created = valueOf(await extractions.create(storedJob(customer, nowMs), nowMs));
  if (created.kind !== 'created') throw new Error(created.kind);
  const { job } = created.stored;
  valueOf(await extractions.begin([job.number], nowMs));
  for (let first = 0; first < records; first += CHUNK_RECORDS * CHUNKS_AT_ONCE) {
    const parts: PartResult[] = [];
    const end = Math.min(records, first + CHUNK_RECORDS * CHUNKS_AT_ONCE);
    for (let from = first; from < end; from += CHUNK_RECORDS) {
      const to = Math.min(records, from + CHUNK_RECORDS);
      parts.push(storedPart(job, foundRecords(from, to), to === records));
    }
    valueOf(await extractions.apply(parts, nowMs));
  }
  return job.id;
}

function foundRecords(from: number, to: number): FoundRecords {
  const ids = Array.from({ length: to - from }, (_, i) => `record-${from + i}`);
  const lines = ids.map((id) => Buffer.from(`${JSON.stringify(recordOf(id))}\n`));
  const hashes = Buffer.concat(ids.map((id) => createHash('sha256').update(id).digest().subarray(0, 16)));
  return { ndjson: Buffer.concat(lines), lineBytes: Uint32Array.from(lines, (line) => line.length), hashes };
}

function recordOf(id: string): object {
  return {
    id,
    title: `What ${id} is called, in some words`,
    author: 'Somebody',
    text: 'A short description, as lists of works have it. '.repeat(2),
    published_at: '2026-01-02T00:00:00Z',
    _meta: { id, source_url: `https://source.example/works/${id}`, fetched_at: '2026-01-02T00:00:00.000Z' },
  };
}
