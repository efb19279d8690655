import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import type { Delivery } from '../../../src/work/webhook.ts';
import type { NewJob } from '../../../src/state/extraction-table.ts';
import {
  type DeliveryReason,
  type DeliveryReport,
  DeliveryQueue,
  type DeliveryWork,
} from '../../../src/state/delivery-work.ts';
import { type JobReason, type JobWork, StoredJobs } from '../../../src/state/job-work.ts';
import type { Store } from '../../../src/state/open-store.ts';
import { newStoredJob, result } from '../../support/extraction-jobs.ts';
import { delivery } from '../../unit/state/deliveries-support.ts';
import { customer, open, value } from '../../unit/state/support.ts';
import { describeWorkQueue, type WorkQueueSubject } from './work-queue.ts';

const NOW = Date.UTC(2026, 10, 23);

/** A store that is opened again by `reopen`, as by a process that was started again. */
async function openTwice(): Promise<{ readonly store: Store; readonly reopen: () => Promise<Store> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-work-'));
  let store = open(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    store,
    async reopen() {
      await store.close();
      store = open(folder);
      return store;
    },
  };
}

const endpoints = [0, 1, 2, 3].map(() => newId('wh', NOW));
const laneOfDeliveries = (lane: number): string => endpoints[lane] ?? '';
let serial = 0;

describeWorkQueue('the delivery log', async () => {
  const { store, reopen } = await openTwice();
  const subject = (of: Store): WorkQueueSubject<Delivery, DeliveryWork, DeliveryReport, DeliveryReason> => ({
    queue: new DeliveryQueue(of.deliveries),
    make: (lane) => delivery(lane, { endpointId: laneOfDeliveries(lane) }, NOW + serial++),
    idOf: ({ id }) => id,
    laneOf: laneOfDeliveries,
    perform: () => Promise.resolve(),
    report: () => ({ attempt: null, elapsedMs: 3 }),
    reason: { status: 'failed', error: 'timeout' },
    restart: async () => subject(await reopen()),
  });
  return subject(store);
});

describeWorkQueue('the extraction jobs', async () => {
  const { store, reopen } = await openTwice();
  const subject = (of: Store): WorkQueueSubject<NewJob, JobWork, null, JobReason> => {
    if (of.extract === null) throw new Error('the store is open for reading only');
    const { extractions } = of.extract;
    return {
      queue: new StoredJobs(extractions),
      make: (lane) => newStoredJob({ customer: customer(lane) }, NOW + serial++),
      idOf: ({ job }) => job.id,
      laneOf: String,
      async perform({ job }) {
        const [applied] = await value(extractions.apply([result(job, 0, { ids: ['a'] })], NOW));
        if (applied?.isEnd !== true) throw new Error('the job did not end');
      },
      report: () => null,
      reason: { failure: { reason: 'internal_error', retryable: true }, entries: [] },
      restart: async () => subject(await reopen()),
    };
  };
  return subject(store);
});
