import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import {
  SIMULATION_FRAMES,
  SIMULATIONS_PER_CUSTOMER_MAX,
  SIMULATIONS_WAITING_MAX,
} from '../../../src/kernel/limits.ts';
import { Simulator } from '../../../src/decide/simulator.ts';
import { AnswerWriter, BatchReader, createBatchBuffer, REQUEST_SIMULATION } from '../../../src/frames/batch-buffer.ts';
import type { ScoreTask } from '../../../src/frames/score-messages.ts';
import { recordOf } from '../state/decision-log-support.ts';

const NOW = 1_790_000_000_000;
const BODY = Buffer.from('{"session_token":"s"}');
const customer = (n: number): CustomerNumber => n as CustomerNumber;

/** A pool whose batches return when the test calls `answer`. */
function pool() {
  const frames = Array.from({ length: 3 + SIMULATION_FRAMES + 1 }, createBatchBuffer);
  const out: { readonly task: ScoreTask; done(): void; fail(error: Error): void }[] = [];
  return {
    frames,
    out,
    simulationBatches: SIMULATION_FRAMES,
    warmUpBatches: 1,
    run: (task: ScoreTask) => new Promise<void>((done, fail) => out.push({ task, done, fail })),
    answer(status = 200): void {
      const one = out.shift();
      const frame = one === undefined ? undefined : frames[one.task.frame];
      if (one === undefined || frame === undefined) throw new Error('nothing to answer');
      const writer = new AnswerWriter(frame);
      writer.reset();
      const text = status === 200 ? '' : '{"status":400,"code":"invalid_request"}';
      const record = status === 200 ? recordOf({ occurredAtMs: NOW, decision: 'REVIEW' }).bytes : Buffer.alloc(0);
      writer.write(0, { status, decision: 0, flags: 0, score: 0, rulesLow: 0, rulesHigh: 0, text, record });
      one.done();
    },
  };
}

test('A simulation is one request in a batch buffer of its own, and returns its record', async () => {
  const workers = pool();
  const ran = new Simulator(workers).run(customer(7), BODY, NOW);
  await Promise.resolve();
  const { frame, count } = workers.out[0]?.task ?? { frame: -1, count: 0 };
  expect([3, 4]).toContain(frame);
  expect(count).toBe(1);
  const requests = new BatchReader(workers.frames[frame] ?? createBatchBuffer());
  expect(requests.meta(0)).toEqual({ customerNumber: 7, flags: REQUEST_SIMULATION, nowMs: NOW });
  expect(requests.body(0).toString()).toBe(BODY.toString());
  workers.answer();
  expect(await ran).toMatchObject({ kind: 'decided', record: { decision: 'REVIEW' } });
});

test('The problem that a worker finds in the body is returned', async () => {
  const workers = pool();
  const ran = new Simulator(workers).run(customer(7), BODY, NOW);
  await Promise.resolve();
  workers.answer(400);
  expect(await ran).toMatchObject({ kind: 'refused', problem: { code: 'invalid_request' } });
});

test('A simulation that its worker does not survive is an internal error, and the next one is scored', async () => {
  const workers = pool();
  const simulator = new Simulator(workers);
  for (let n = 0; n < SIMULATION_FRAMES + 1; n++) {
    const ran = simulator.run(customer(7), BODY, NOW);
    await Promise.resolve();
    workers.out.shift()?.fail(new Error('the worker died'));
    expect(await ran).toMatchObject({ kind: 'refused', problem: { code: 'internal_error' } });
  }
});

test('Few simulations are scored at once, further ones wait in order, and beyond that they are refused', async () => {
  const workers = pool();
  const simulator = new Simulator(workers);
  const runs = Array.from({ length: SIMULATION_FRAMES + SIMULATIONS_WAITING_MAX }, (_none, n) =>
    simulator.run(customer(n), BODY, NOW),
  );
  await Promise.resolve();
  expect(workers.out).toHaveLength(SIMULATION_FRAMES);
  const refused = await simulator.run(customer(1_000), BODY, NOW);
  expect(refused).toMatchObject({ kind: 'refused', problem: { code: 'overloaded', status: 429 } });
  for (let n = 0; n < runs.length; n++) {
    workers.answer();
    await runs[n];
    await new Promise((done) => setImmediate(done));
  }
  expect((await Promise.all(runs)).every(({ kind }) => kind === 'decided')).toBe(true);
});

test('One customer cannot take the places of the others', async () => {
  const workers = pool();
  const simulator = new Simulator(workers);
  const own = Array.from({ length: SIMULATIONS_PER_CUSTOMER_MAX }, () => simulator.run(customer(7), BODY, NOW));
  expect(await simulator.run(customer(7), BODY, NOW)).toMatchObject({ kind: 'refused' });
  const other = simulator.run(customer(8), BODY, NOW);
  for (let n = 0; n <= own.length; n++) {
    await new Promise((done) => setImmediate(done));
    workers.answer();
  }
  expect((await Promise.all([...own, other])).every(({ kind }) => kind === 'decided')).toBe(true);
});
