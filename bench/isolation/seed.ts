import { createHash } from 'node:crypto';
import type { CustomerNumber, FingerprintHash } from '../../src/kernel/brand.ts';
import { newId } from '../../src/kernel/ids.ts';
import { deriveKey, openMasterKey } from '../../src/state/repair/master-key.ts';
import type { PartResult } from '../../src/state/tables/extraction-table.ts';
import { openStore, type Store } from '../../src/state/feed/open-store.ts';
import { valueOf } from '../extract/service.ts';
import { storedJob, storedPart } from '../extract/stored-job.ts';
import { makeDataDirectory } from '../data-directory.ts';
import { createKeyPair, newCustomer } from '../../src/state/feed/key-changes.ts';

/** A data directory in which one customer has as much data as its pages can show, and another only makes decisions. */
export interface Seeded {
  readonly busyKey: string;
  readonly calmKey: string;
  /** The job whose first page of records has the maximum size. */
  readonly jobId: string;
}

/** Rate limit of a key, requests per minute. */
const RATE_LIMIT = 100_000_000;
/** One full page of each kind of row. */
const ROWS = 1_000;
const RECORD_BYTES = 9_800;
const CHUNK_RECORDS = 50;

export async function seed(dataDir: string, listEntries = ROWS): Promise<Seeded> {
  const master = openMasterKey(dataDir, undefined);
  if (master.kind === 'fault') throw new Error(master.detail);
  await makeDataDirectory(dataDir);
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const { store } = opened;
  try {
    const busy = await seedCustomer(store, 'busy');
    const calm = await seedCustomer(store, 'calm');
    await seedLists(store, busy.number, listEntries);
    await seedSessions(store, busy.number, deriveKey(master.key, 'extraction-secrets'));
    const jobId = await seedJobs(store, busy.number);
    return { busyKey: busy.secretKey, calmKey: calm.secretKey, jobId };
  } finally {
    await store.close();
  }
}

export function hashOf(n: number): string {
  return createHash('sha256').update(String(n)).digest('hex');
}

async function seedCustomer(store: Store, name: string): Promise<{ number: CustomerNumber; secretKey: string }> {
  const nowMs = Date.now();
  const { number } = valueOf(await store.changes.commit(newCustomer(name, nowMs), { by: 'service', nowMs }));
  const pair = valueOf(await createKeyPair(store.changes, number, { rateLimit: RATE_LIMIT }, { by: 'service', nowMs }));
  return { number, secretKey: pair.secret.text };
}

async function seedLists(store: Store, customer: CustomerNumber, entries: number): Promise<void> {
  const note = 'as long as a note may be '.repeat(20);
  for (let from = 0; from < entries; from += ROWS) {
    const changes = Array.from({ length: Math.min(ROWS, entries - from) }, (_, n) => ({
      fingerprintHash: hashOf(from + n) as FingerprintHash,
      action: 'block' as const,
      // Beyond the first page, short ones: a million long notes take 600 MB.
      note: from === 0 ? note : null,
      expiresAtSeconds: null,
    }));
    const batch = { kind: 'list.batch', customer, entries: changes } as const;
    valueOf(await store.changes.commit(batch, { by: 'service', nowMs: Date.now() }));
  }
}

async function seedSessions(store: Store, customer: CustomerNumber, encryptionKey: Uint8Array): Promise<void> {
  const sessions = extractOf(store).sessions;
  const nowMs = Date.now();
  const make = async (n: number): Promise<void> => {
    const times = { createdAtMs: nowMs, expiresAtMs: nowMs + 86_400_000 };
    const session = { id: newId('ses', nowMs), customer, host: `host-${n}.example.com`, ...times };
    valueOf(await sessions.create(encryptionKey, session, Buffer.from('{}')));
  };
  for (let n = 0; n < ROWS; n += 100)
    await Promise.all(Array.from({ length: Math.min(100, ROWS - n) }, (_, i) => make(n + i)));
}

/** Resolves to the id of the job that has the records. */
async function seedJobs(store: Store, customer: CustomerNumber): Promise<string> {
  const { extractions } = extractOf(store);
  const nowMs = Date.now();
  let id = '';
  for (let n = 0; n < ROWS; n += 100) {
    const made = await Promise.all(
      Array.from({ length: Math.min(100, ROWS - n) }, () => extractions.create(storedJob(customer, nowMs), nowMs)),
    );
    const jobs = made.map((one) => {
      const created = valueOf(one);
      if (created.kind !== 'created') throw new Error(created.kind);
      return created.stored.job;
    });
    valueOf(
      await extractions.begin(
        jobs.map((job) => job.number),
        nowMs,
      ),
    );
    for (const job of jobs) {
      const isFirst = id === '';
      if (isFirst) ({ id } = job);
      const counts = isFirst ? ROWS : 0;
      for (let from = 0; from < Math.max(1, counts); from += CHUNK_RECORDS) {
        const to = Math.min(counts, from + CHUNK_RECORDS);
        valueOf(await extractions.apply([partOf(job, from, to, to === counts)], nowMs));
      }
    }
  }
  return id;
}

function extractOf(store: Store): NonNullable<Store['extract']> {
  if (store.extract === null) throw new Error('the store is open read-only');
  return store.extract;
}

function partOf(job: PartResult['job'], from: number, to: number, isLast: boolean): PartResult {
  const lines = Array.from({ length: to - from }, (_, i) => Buffer.from(`${JSON.stringify(recordOf(from + i))}\n`));
  const hashes = Buffer.concat(lines.map((line) => createHash('sha256').update(line).digest().subarray(0, 16)));
  const found = { ndjson: Buffer.concat(lines), lineBytes: Uint32Array.from(lines, (line) => line.length), hashes };
  return storedPart(job, found, isLast);
}

/** A record that is mostly one text with two-byte letters. */
function recordOf(n: number): object {
  const text = 'Ein Wörterbuch für Leser, "mit Zitaten". '.repeat(Math.floor(RECORD_BYTES / 46));
  const meta = { id: `r-${n}`, source_url: `https://source.example/${n}`, fetched_at: '2026-01-02T00:00:00.000Z' };
  return { id: `r-${n}`, title: `Record ${n}`, text, _meta: meta };
}
