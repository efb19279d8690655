import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openExtractions, type Extractions } from '../../../src/extract/extraction-thread.ts';
import type { ExtractStore } from '../../../src/state/extract-store.ts';
import { createUnreadLog } from '../../../src/observe/log.ts';
import type { Extraction } from '../../../src/work/extraction-job.ts';
import { freeSlices } from '../../support/slices.ts';
import { newExtraction } from '../../support/extraction-jobs.ts';
import { customer, tempStore } from '../state/support.ts';

const KEY = Buffer.alloc(32, 7);
const me = customer(1);
const NO_ROWS = {
  find: () => Promise.resolve(null),
  add: () => false,
  ended: () => Promise.resolve(),
  forget: () => {},
};

/** The main thread's side on a store, with the real thread. No job fetches anything: the listening addresses stay unknown. */
function open(store: ExtractStore, dataDir: string): Extractions {
  const extractions = openExtractions({
    store,
    data: {
      dataDir,
      encryptionKey: KEY,
      workers: 1,
      worker: { egressAllow: [], userAgent: 'test', bases: {} },
      polite: { gapMs: 0, concurrency: 1 },
      bounds: {},
      runsJobs: true,
      recordsMax: 1_000,
    },
    log: createUnreadLog('info'),
    onStoreFaults: (faults) => expect(faults).toEqual([]),
  });
  extractions.start(NO_ROWS);
  onTestFinished(() => extractions.stop());
  return extractions;
}

function temporary(): { store: ExtractStore; dataDir: string } {
  const { extract: store, dataDir } = tempStore();
  if (store === null) throw new Error('the store was opened to be read');
  return { store, dataDir };
}

function begin(): Extractions {
  const { store, dataDir } = temporary();
  return open(store, dataDir);
}

async function create({ control }: Extractions): Promise<Extraction> {
  const made = await control.create(newExtraction());
  if (made.kind !== 'created') throw new Error(made.kind);
  return made.job;
}

const runningJobs = ({ readings }: Extractions): number => {
  const reading = readings.find(({ name }) => name === 'gatehouse_extraction_jobs_running');
  return reading?.kind === 'level' ? reading.read() : -1;
};

describe('the extraction thread', () => {
  test('What the thread has acknowledged is found at once', async () => {
    const at = begin();
    const job = await create(at);
    expect(at.control.find(me, job.id)).toMatchObject({ id: job.id, connector: job.connector });
    expect(at.control.find(customer(2), job.id)).toBeNull();
    const made = await at.control.sessions.create({
      customer: me,
      session: { host: 'example.org', cookies: [], headers: {}, storage: {} } as never,
      expiresAtMs: null,
    });
    const id = made.kind === 'created' ? made.session.id : '';
    expect(at.control.sessions.find(me, id)).toMatchObject({ host: 'example.org' });
    expect(await at.control.sessions.remove(customer(2), id)).toEqual({ kind: 'not_found' });
    expect(await at.control.sessions.remove(me, id)).toEqual({ kind: 'removed' });
    expect(at.control.sessions.find(me, id)).toBeNull();
    await expect.poll(() => runningJobs(at)).toBe(1);
  });

  test('waitFor ends with the job, with its cancellation, or with its time', async () => {
    const at = begin();
    const [first, second] = [await create(at), await create(at)];
    const waiting = at.control.waitFor(me, first.id, 600_000);
    expect(await at.control.cancel(me, first.id)).toMatchObject({ kind: 'cancelled' });
    expect(await waiting).toMatchObject({ status: 'failed', failure: { reason: 'cancelled' } });
    expect(await at.control.waitFor(me, first.id, 600_000)).toMatchObject({ status: 'failed' });
    expect((await at.control.waitFor(me, second.id, 1))?.status).toMatch(/queued|running/);
    expect(await at.control.waitFor(customer(2), second.id, 600_000)).toBeNull();
  });

  test('A stop returns the state of their jobs to waiting callers, and the next run continues the jobs', async () => {
    const { store, dataDir } = temporary();
    const first = open(store, dataDir);
    const job = await create(first);
    const waiting = first.control.waitFor(me, job.id, 600_000);
    await first.stop();
    expect((await waiting)?.status).toMatch(/queued|running/);
    await expect(first.control.create(newExtraction())).rejects.toThrow('not running');
    const second = open(store, dataDir);
    await expect.poll(() => second.control.find(me, job.id)?.status).toBe('running');
    expect(await second.control.cancel(me, job.id)).toMatchObject({ kind: 'cancelled' });
    const page = await second.control.page(
      me,
      { after: null, limit: 10, status: null, connector: null, operation: null },
      freeSlices(),
    );
    expect(page.rows.map(({ id, status }) => [id, status])).toEqual([[job.id, 'failed']]);
  });

  test('A thread that cannot open the store is reported and started again until it can', async () => {
    const { store, dataDir } = temporary();
    const folder = join(dataDir, 'other');
    await mkdir(folder);
    await writeFile(join(folder, 'extract'), 'not a folder');
    const at = open(store, folder);
    await expect(at.control.create(newExtraction())).rejects.toThrow('ended');
    await vi.waitFor(() => expect(at.status().state).toBe('broken'), 15_000);
    await rm(join(folder, 'extract'));
    await expect.poll(() => at.status().state).toBe('ok');
    expect(await at.control.create(newExtraction())).toMatchObject({ kind: 'created' });
  });
});
