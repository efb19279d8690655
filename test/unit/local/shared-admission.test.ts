import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { createRateMemory } from '../../../src/local/rate-window.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import { visitorShare } from '../../../src/kernel/capacity-share.ts';
import { REPLAY_KEEP_SECONDS } from '../../../src/kernel/limits.ts';

const KEY = Buffer.alloc(16, 7);
const NOW = 1_800_000_000;
const THREADS = 3;
/** Twice what the first slots of the table hold, so that threads rebuild segments while others look into them. */
const IDS = 100_000;
const IDS_MAX = 1_000_000;
const ALLOWANCE = 20_000;
const FOLDER = new URL('../../../dist/src/local/', import.meta.url).href;

/** Admits the same requests in an order of its own. */
const CODE = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { LocalAdmission } = await import(workerData.folder + 'local-admission.js');
  const { ReplayGuard } = await import(workerData.folder + 'replay-guard.js');
  const { ids, rates, key, requests, start, thread, now } = workerData;
  const guard = new ReplayGuard(${IDS_MAX}, Buffer.from(key), null, ids);
  const admission = new LocalAdmission(guard, { stage() {} }, rates);
  Atomics.add(start, 0, 1);
  while (Atomics.load(start, 0) < ${THREADS});
  const outcomes = {};
  const from = thread * 7;
  for (let n = 0; n < requests.count; n++) {
    const at = (from + n) % requests.count;
    const requestId = requests.withIds ? 'request ' + at : null;
    const request = { ...requests.request, requestId, timestampSeconds: now, nowSeconds: now };
    const [{ outcome }] = admission.admit([request]);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  parentPort.postMessage(outcomes);
`;

interface Requests {
  readonly count: number;
  readonly withIds: boolean;
  readonly request: {
    readonly window: 'decide';
    readonly keyNumber: number;
    readonly allowance: number;
    readonly source: string | null;
  };
}

/** Lets all threads admit the requests at the same time; returns how often each outcome came. */
async function admitInThreads(requests: Requests): Promise<{ outcomes: Record<string, number>; guard: ReplayGuard }> {
  const guard = new ReplayGuard(IDS_MAX, KEY);
  const start = new Int32Array(new SharedArrayBuffer(4));
  const shared = { folder: FOLDER, ids: guard.memory, rates: createRateMemory(3), key: KEY, requests, start, now: NOW };
  const answers = Array.from({ length: THREADS }, async (_none, thread) => {
    const url = new URL(`data:text/javascript,${encodeURIComponent(CODE)}`);
    const worker = new Worker(url, { workerData: { ...shared, thread } });
    const [answer] = (await once(worker, 'message')) as [Record<string, number>];
    await worker.terminate();
    return answer;
  });
  const outcomes: Record<string, number> = {};
  for (const answer of await Promise.all(answers))
    for (const [outcome, count] of Object.entries(answer)) outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
  return { outcomes, guard };
}

const request = { window: 'decide', keyNumber: 5, allowance: 2 ** 31, source: null } as const;

test('Exactly one of several copies of an id is admitted when threads admit them at the same time', async () => {
  const { outcomes, guard } = await admitInThreads({ count: IDS, withIds: true, request });
  expect(outcomes).toEqual({ admitted: IDS, replayed: (THREADS - 1) * IDS });
  expect(guard.size).toBe(IDS);
  for (let n = 0; n < 1_024; n++) guard.sweep(NOW + REPLAY_KEEP_SECONDS);
  expect(guard.size).toBe(0);
});

test('Threads admit exactly the allowance of a key together, and exactly the share of a visitor', async () => {
  const limited = { ...request, allowance: ALLOWANCE };
  const { outcomes } = await admitInThreads({ count: ALLOWANCE, withIds: false, request: limited });
  expect(outcomes).toEqual({ admitted: ALLOWANCE, rate_limited: (THREADS - 1) * ALLOWANCE });
  const visitor = { ...limited, allowance: 20 * ALLOWANCE, source: '198.51.100.7' };
  expect(visitorShare(visitor.allowance)).toBe(ALLOWANCE);
  const visits = await admitInThreads({ count: ALLOWANCE, withIds: false, request: visitor });
  expect(visits.outcomes).toEqual({ admitted: ALLOWANCE, rate_limited: (THREADS - 1) * ALLOWANCE });
});

test('A table restored for more ids than it may hold knows them all', () => {
  const guard = new ReplayGuard(1_024, KEY);
  const restorer = guard.restorer();
  restorer.reserve(2_000_000);
  const entry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: NOW + REPLAY_KEEP_SECONDS, keyNumber: 9 };
  for (let n = 1; n <= 400_000; n++) restorer.add({ ...entry, hashLow: Math.imul(n, 0x9e3779b1) >>> 0, hashHigh: n });
  restorer.done();
  expect(guard.size).toBe(400_000);
  const request = { window: 'decide', keyNumber: 9, allowance: 5, source: null } as const;
  const [verdict] = new LocalAdmission(guard, { stage: () => {} }).admit([
    { ...request, requestId: 'new', timestampSeconds: NOW, nowSeconds: NOW },
  ]);
  expect(verdict?.outcome).toBe('full');
});
