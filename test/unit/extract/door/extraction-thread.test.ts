import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type DeliveryRows,
  openExtractions,
  type Extractions,
} from '../../../../src/extract/door/extraction-thread.ts';
import type { ExtractStore } from '../../../../src/state/tables/extract-store.ts';
import { createUnreadLog } from '../../../../src/observe/log.ts';
import type { Extraction } from '../../../../src/work/extraction-job.ts';
import type { Delivery } from '../../../../src/work/webhook.ts';
import { freeSlices } from '../../../support/slices.ts';
import { newExtraction, STORED } from '../../../support/extraction-jobs.ts';
import { customer, tempStore } from '../../state/support.ts';

const KEY = Buffer.alloc(32, 7);
const me = customer(1);
const NO_ROWS: DeliveryRows = {
  find: () => Promise.resolve(null),
  add: () => false,
  ended: () => Promise.resolve(),
  forget: () => {},
};

/** The main thread's side on a store, with the real thread. No job fetches anything: the listening addresses stay unknown. */
function open(
  store: ExtractStore,
  dataDir: string,
  rows: DeliveryRows = NO_ROWS,
  log = createUnreadLog('info'),
): Extractions {
  const extractions = openExtractions({
    store,
    data: {
      dataDir,
      encryptionKey: KEY,
      worker: { egressAllow: [], userAgent: 'test', bases: {} },
      polite: { gapMs: 0, concurrency: 1 },
      bounds: {},
      runsJobs: true,
    },
    log,
    onStoreFaults: (faults) => expect(faults).toEqual([]),
  });
  extractions.start(rows);
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

  test('A delivery whose rows the main thread cannot read or add is tried again, and arrives once', async () => {
    const { store, dataDir } = temporary();
    const calls: string[] = [];
    const added: Delivery[] = [];
    let failures = 2;
    const fail = (): void => {
      if (failures-- > 0) throw new Error('the log of deliveries cannot be used');
    };
    const rows: DeliveryRows = {
      find: (_customer, id) => {
        calls.push('find');
        fail();
        const row = added.find((one) => one.id === id);
        return Promise.resolve(row === undefined ? null : { ...row, status: 'succeeded' });
      },
      add(row) {
        calls.push('add');
        fail();
        return added.push(row) > 0;
      },
      ended: () => Promise.resolve(),
      forget: (id) => calls.push(`forget ${id}`),
    };
    const log = createUnreadLog('info');
    const lines = vi.spyOn(log, 'info');
    const at = open(store, dataDir, rows, log);
    const delivery = { ...STORED, kind: 'webhook', url: 'https://hooks.example.com/', batchSize: 10 } as const;
    const deliverySecrets = { secret: `whsec_${'A'.repeat(43)}=` };
    const made = await at.control.create(newExtraction({ delivery, deliverySecrets }));
    if (made.kind !== 'created') throw new Error(made.kind);
    const { id } = made.job;
    await at.control.cancel(me, id);
    // It waits 5 s after each of the two failures.
    await expect.poll(() => at.control.find(me, id)?.delivery.status, { timeout: 25_000 }).toBe('delivered');
    expect(calls.slice(0, 4)).toEqual(['add', 'find', 'find', 'add']);
    expect(added.map(({ endpointId, event }) => [endpointId, event])).toEqual([[id, 'extraction.failed']]);
    const waits = lines.mock.calls.filter(([fields]) => JSON.stringify(fields).includes('extraction_delivery_waits'));
    expect(waits).toHaveLength(2);
    expect(JSON.stringify(waits[0]?.[0])).toContain('the log of deliveries cannot be used');
    expect(at.status().state).toBe('ok');
  }, 40_000);
});
