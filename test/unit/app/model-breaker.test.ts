import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ModelBreaker, MODEL_TRIP_FACTOR } from '../../../src/app/model-breaker.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { createUnreadLog } from '../../../src/observe/log.ts';
import type { Decision } from '../../../src/risk/decision.ts';
import { encodeRecord } from '../../../src/risk/decision-record.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';
import { facts } from '../../support/facts.ts';
import { writeForest } from '../../support/forest-files.ts';

const [ONE, TWO] = [1, 2] as CustomerNumber[] as [CustomerNumber, CustomerNumber];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 10, 20);
/** Share of decisions from which on it trips, at the budget that the model of these tests has. */
const BUDGET = 0.004;
const TRIP_SHARE = MODEL_TRIP_FACTOR * BUDGET;

let folder = '';
let modelsDir = '';
let silent: ReadonlySet<CustomerNumber> = new Set();

/** A decision from one of 256 networks; `others`: weight of a rule beside the model. */
function record(n: number, decision: Decision, { others = 0, wouldBe = null as Decision | null } = {}): Buffer {
  const hit = (code: string, weight: number) => ({ rule: { code }, weight, evidence: '' });
  return encodeRecord({
    requestId: 'req_01J00000000000000000000000',
    occurredAtMs: START_MS,
    verdict: { decision, score: 0, reasons: [], reviewHint: '' },
    wouldBe,
    sessionMode: 'full',
    shadow: null,
    publicKey: false,
    eventType: 'login',
    facts: facts({ ip: readIp(`91.10.${n % 256}.1`) }),
    contributions: [...(others > 0 ? [hit('device_headless', others)] : []), hit('model_score', 0.7)],
  });
}

async function started({ now = () => START_MS } = {}): Promise<ModelBreaker> {
  const breaker = new ModelBreaker({
    dataDir: folder,
    modelsDir,
    store: { customers: { find: () => null } } as never,
    archive: { at: () => null },
    policyFile: {
      setModelSilent(customers) {
        silent = customers;
      },
    },
    nowMs: now,
    log: createUnreadLog('silent'),
  });
  await breaker.start();
  return breaker;
}

/** Decides evenly over a time; each `alarmEvery`th decision is one that the model alone stops. */
function traffic(
  breaker: ModelBreaker,
  customer: CustomerNumber,
  { fromMs = START_MS, overMs = HOUR_MS, decisions = 5_000, alarmEvery = 0 },
): void {
  const alarms = Array.from({ length: 256 }, (_, n) => record(n, 'SOFT_CHALLENGE'));
  for (let n = 0; n < decisions; n++) {
    const isAlarm = alarmEvery > 0 && n % alarmEvery === 0;
    const alarm = alarms[Math.floor(n / Math.max(alarmEvery, 1)) % 256] ?? Buffer.alloc(0);
    breaker.count(customer, alarm, isAlarm, fromMs + (n * overMs) / decisions);
  }
}

function choose(sinceSeconds: number): void {
  writeFileSync(join(modelsDir, 'active.json'), JSON.stringify({ id: 'a', since: sinceSeconds }));
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-breaker-'));
  modelsDir = join(folder, 'models');
  writeForest(join(modelsDir, 'candidates', 'a'), { manifest: { budget: BUDGET } });
  choose(1_000);
  silent = new Set();
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the circuit breaker of the model', () => {
  test('Within five times its budget a model counts for a week of simulated traffic', async () => {
    const breaker = await started();
    traffic(breaker, ONE, { overMs: 7 * DAY_MS, decisions: 200_000, alarmEvery: Math.ceil(1 / TRIP_SHARE) + 2 });
    expect(breaker.silenceOf(ONE)).toBeNull();
    expect(breaker.detail).toBe('');
  });

  test('Above it falls silent within the hour, for that customer only', async () => {
    const breaker = await started();
    const alarmEvery = Math.floor(1 / TRIP_SHARE) - 5;
    traffic(breaker, TWO, { decisions: 5_000 });
    traffic(breaker, ONE, { decisions: 5_000, alarmEvery });
    const trip = breaker.silenceOf(ONE);
    expect(trip).toMatchObject({ touched: 50, decisions: 49 * alarmEvery + 1 });
    expect(trip?.atMs).toBeLessThan(START_MS + HOUR_MS);
    expect([...silent]).toEqual([ONE]);
    expect(breaker.silenceOf(TWO)).toBeNull();
    expect(breaker.detail).toContain('adds nothing for 1 customer');
  });

  test('The same alarms over a day are too few in each hour', async () => {
    const breaker = await started();
    traffic(breaker, ONE, { overMs: DAY_MS, decisions: 5_000, alarmEvery: 10 });
    expect(breaker.silenceOf(ONE)).toBeNull();
  });

  test('Alarms of a few networks never silence it', async () => {
    const breaker = await started();
    for (let n = 0; n < 5_000; n++) breaker.count(ONE, record(n % 19, 'SOFT_CHALLENGE'), true, START_MS);
    expect(breaker.silenceOf(ONE)).toBeNull();
  });

  test('What rules stop as well, and what nobody stops, is no alarm; in observe mode it is', async () => {
    const breaker = await started();
    for (let n = 0; n < 1_000; n++) {
      breaker.count(ONE, record(n, 'BLOCK', { others: 0.7 }), true, START_MS);
      breaker.count(ONE, record(n, 'ALLOW_WATCH'), true, START_MS);
    }
    expect(breaker.silenceOf(ONE)).toBeNull();
    for (let n = 0; n < 1_000; n++)
      breaker.count(TWO, record(n, 'ALLOW', { wouldBe: 'SOFT_CHALLENGE' }), true, START_MS);
    expect(breaker.silenceOf(TWO)).not.toBeNull();
  });

  test('It lasts over a restart, until the model is chosen again', async () => {
    traffic(await started(), ONE, { alarmEvery: 10 });
    expect(silent.size).toBe(1);
    silent = new Set();
    const restarted = await started();
    expect(restarted.silenceOf(ONE)).toMatchObject({ touched: 50 });
    expect([...silent]).toEqual([ONE]);
    choose(2_000);
    await restarted.follow();
    expect(restarted.silenceOf(ONE)).toBeNull();
    expect(silent.size).toBe(0);
    expect((await started()).silenceOf(ONE)).toBeNull();
    traffic(restarted, ONE, { fromMs: START_MS + DAY_MS, alarmEvery: 10 });
    expect(restarted.silenceOf(ONE)).not.toBeNull();
  });

  test('It lasts a day, over a restart too, and trips again after that', async () => {
    traffic(await started(), ONE, { alarmEvery: 10 });
    let nowMs = START_MS + DAY_MS - 1;
    const breaker = await started({ now: () => nowMs });
    await breaker.follow();
    expect([...silent]).toEqual([ONE]);
    nowMs += HOUR_MS;
    await breaker.follow();
    expect(breaker.silenceOf(ONE)).toBeNull();
    expect(silent.size).toBe(0);
    expect((await started({ now: () => nowMs })).silenceOf(ONE)).toBeNull();
    traffic(breaker, ONE, { fromMs: nowMs, alarmEvery: 10 });
    expect([...silent]).toEqual([ONE]);
  });

  test('A file that is damaged silences nobody, and entries that are none are left out', async () => {
    traffic(await started(), ONE, { alarmEvery: 10 });
    const file = join(folder, 'model-silence.json');
    for (const damaged of ['{', '[]', 'null', '{"choice":"a 1000000","silent":3}']) {
      writeFileSync(file, damaged);
      expect((await started()).detail).toBe('');
    }
    const trip = { atMs: START_MS - 1, touched: 2, decisions: 3 };
    const silence = [[ONE, trip], [TWO, { ...trip, atMs: 'x' }], [-1, trip], null];
    writeFileSync(file, JSON.stringify({ choice: 'a 1000000', silent: silence }));
    const breaker = await started();
    expect([breaker.silenceOf(ONE), breaker.silenceOf(TWO)]).toEqual([trip, null]);
  });

  test('Without a model nothing is counted', async () => {
    rmSync(modelsDir, { recursive: true });
    const breaker = await started();
    traffic(breaker, ONE, { alarmEvery: 2 });
    expect(breaker.silenceOf(ONE)).toBeNull();
  });
});
