import { expect, test } from 'vitest';
import { decodeOp, encodeOp, JOB_LOG_FORMAT, packResult, unpackResult } from '../../../../src/cluster/jobs/job-ops.ts';
import { pack, unpack } from '../../../../src/kernel/pack.ts';
import type { Job } from '../../../../src/state/tables/extractions/job-row.ts';
import { newStoredJob, result } from '../../../support/extraction-jobs.ts';
import { tempStore, value } from '../../state/support.ts';

const ORIGIN = { node: 'a', run: 'r', serial: 1, nowMs: 1_000 };

async function runningJob(): Promise<{
  readonly job: Job;
  readonly store: NonNullable<ReturnType<typeof tempStore>['extract']>;
}> {
  const { extract: store } = tempStore();
  if (store === null) throw new Error('the store was opened to be read');
  const steps = [{ key: 'a', state: {} }];
  const created = await value(store.extractions.create(newStoredJob({ collect: { mode: 'all' }, steps }), 1_000));
  if (created.kind !== 'created') throw new Error(created.kind);
  await value(store.extractions.begin([created.stored.job.number], 1_000));
  return { job: created.stored.job, store };
}

test('Entries of the version before are read: they differ in that no step is marked as a list', () => {
  const [, ...rest] = unpack(encodeOp(ORIGIN, { kind: 'begin', jobs: [[1, 1]] }));
  expect(decodeOp(pack([JOB_LOG_FORMAT - 1, ...rest]))).toMatchObject({ kind: 'op', origin: ORIGIN });
  expect(decodeOp(pack([JOB_LOG_FORMAT + 1, ...rest]))).toEqual({ kind: 'unknown', format: JOB_LOG_FORMAT + 1 });
});

test('A result that went through the log leaves the same steps in the same order, and takes as much room', async () => {
  const [here, there] = [await runningJob(), await runningJob()];
  const found = (job: Job) => result(job, 0, { next: ['list:2', 'b', 'list:1'], isLast: false });
  await value(here.store.extractions.apply([found(here.job)], 2_000));
  const wire = unpack(pack([packResult(found(there.job), 1)]))[0] as ReturnType<typeof packResult>;
  const back = unpackResult(wire, there.job, () => {
    throw new Error('there is no session');
  });
  await value(there.store.extractions.apply([back], 2_000));
  const kept = ({ job, store }: typeof here) => ({
    pages: store.steps.from(job.number, 0, 10).map(({ key }) => key),
    lists: store.steps.lists(job.number, 10).map(({ key }) => key),
    bytes: store.extractions.stateOf(job.number)?.stepBytes,
  });
  expect(kept(there)).toEqual(kept(here));
  expect(kept(there)).toMatchObject({ pages: ['a', 'b'], lists: ['list:1', 'list:2'] });
});
