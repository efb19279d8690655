import { expect, test } from 'vitest';
import type { ExtractionDelivery } from '../../../../../src/work/extraction-job.ts';
import type { ExtractStore } from '../../../../../src/state/tables/extract-store.ts';
import type { Job } from '../../../../../src/state/tables/extractions/job-row.ts';
import { newStoredJob, result, STORED } from '../../../../support/extraction-jobs.ts';
import { open, tempFolder, tempStore, value } from '../../support.ts';

function extract(): ExtractStore {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store was opened to be read');
  return extract;
}

/** Returns an ended job with that kind of delivery. */
async function ended(store: ExtractStore, kind: ExtractionDelivery['kind'], succeeds = true): Promise<Job> {
  const created = await value(store.extractions.create(newStoredJob({ delivery: { ...STORED, kind } }), 1_000));
  if (created.kind !== 'created') throw new Error(created.kind);
  const { job } = created.stored;
  await value(store.extractions.begin([job.number], 2_000));
  if (succeeds) await value(store.extractions.apply([result(job, 0, { ids: ['1'] })], 3_000));
  else await value(store.extractions.end(job, { reason: 'cancelled', retryable: false }, [], 3_000));
  return job;
}

const statusOf = (store: ExtractStore, { number }: Job): string | undefined =>
  store.extractions.stateOf(number)?.delivery;
const pendingIn = (store: ExtractStore): [string, boolean][] =>
  [...store.extractions.deliveries.pending()].map(({ id, isBegun }) => [id, isBegun]);

test.each([
  ['store', 'delivered', 'failed'],
  ['sync', 'delivered', 'failed'],
  ['webhook', 'pending', 'pending'],
  ['s3', 'pending', 'failed'],
  ['http_put', 'pending', 'failed'],
] as const)('A delivery to %s is %s when its job ends, and %s when its job fails', async (kind, good, bad) => {
  const store = extract();
  const succeeded = await ended(store, kind);
  const failed = await ended(store, kind, false);
  expect([statusOf(store, succeeded), statusOf(store, failed)]).toEqual([good, bad]);
  const pending = [good, bad].map((status, i) => (status === 'pending' ? [[succeeded, failed][i]?.id, false] : null));
  expect(pendingIn(store)).toEqual(pending.filter((row) => row !== null));
});

test('The progress of a delivery is kept until it has ended, also across a restart', async () => {
  const folder = tempFolder();
  const store = open(folder);
  const first = store.extract;
  if (first === null) throw new Error('no store');
  const job = await ended(first, 'webhook');
  const other = await ended(first, 's3');
  expect(first.extractions.deliveries.stateOf(job.number)).toBeNull();
  expect(await value(first.extractions.saveDelivery(job.number, '{"sequence":1}'))).toBe(true);
  expect(await value(first.extractions.saveDelivery(job.number, '{"sequence":2,"ä":"ö"}'))).toBe(true);
  await store.close();
  const again = open(folder);
  const { extract: second } = again;
  if (second === null) throw new Error('no store');
  expect(pendingIn(second)).toEqual([
    [job.id, true],
    [other.id, false],
  ]);
  expect(second.extractions.deliveries.stateOf(job.number)).toBe('{"sequence":2,"ä":"ö"}');
  expect(await value(second.extractions.delivered(job.number, 'failed'))).toBe(true);
  expect(statusOf(second, job)).toBe('failed');
  expect(pendingIn(second)).toEqual([[other.id, false]]);
  // It has ended permanently.
  expect(await value(second.extractions.delivered(job.number, 'delivered'))).toBe(false);
  expect(await value(second.extractions.saveDelivery(job.number, '{}'))).toBe(false);
  expect([statusOf(second, job), second.extractions.deliveries.stateOf(job.number)]).toEqual(['failed', null]);
  await again.close();
});

test('An expired job has no pending delivery', async () => {
  const store = extract();
  const job = await ended(store, 'webhook');
  await value(store.extractions.saveDelivery(job.number, '{"sequence":1}'));
  expect(await value(store.extractions.prune(3_000 + 7 * 86_400_000, 10))).toBe(1);
  expect(pendingIn(store)).toEqual([]);
  expect(await value(store.extractions.delivered(job.number, 'delivered'))).toBe(false);
});

test('A job that has not ended has no delivery that could end', async () => {
  const store = extract();
  const created = await value(store.extractions.create(newStoredJob(), 1_000));
  if (created.kind !== 'created') throw new Error(created.kind);
  const { job } = created.stored;
  expect(await value(store.extractions.delivered(job.number, 'delivered'))).toBe(false);
  expect(statusOf(store, job)).toBe('pending');
});
