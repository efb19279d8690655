import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeliveryTrigger } from '../../../src/work/webhook.ts';
import {
  ENDPOINT_ATTEMPTS_MAX,
  ENDPOINT_ATTEMPTS_MIN,
  ENDPOINT_ATTEMPTS_START,
  HOST_ATTEMPTS_MAX,
  HOST_LATE_ATTEMPTS_MAX,
} from '../../../src/kernel/delivery-limits.ts';
import { RunnerBench, task, type Answer } from './runner-support.ts';

describe('the schedule of a delivery', () => {
  test('A delivery to an endpoint that refuses connections gets four attempts, at 0, 2, 6 and 14 s', async () => {
    const bench = new RunnerBench(() => 'refused');
    bench.meet('a');
    bench.deliver('a');
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toEqual([0, 2_000, 6_000, 14_000]);
    expect(bench.results.map(({ outcome }) => outcome.kind)).toEqual(['waiting', 'waiting', 'waiting', 'failed']);
    expect(bench.results.map(({ attempt }) => attempt?.attempt)).toEqual([1, 2, 3, 4]);
    expect(bench.results.at(-1)).toMatchObject({ outcome: { error: 'connection_refused' }, elapsedMs: 14_000 });
  });

  test('A delivery to a hanging endpoint ends after 19 s at most, without the fourth attempt', async () => {
    const bench = new RunnerBench(() => 'never');
    bench.meet('a');
    bench.deliver('a');
    await bench.time.pass(60_000);
    // Waits follow the ends of attempts of 5 s; the third attempt gets the remaining 3 s.
    expect(bench.attemptsOf('a/0')).toEqual([0, 7_000, 16_000]);
    expect(bench.results.at(-1)).toMatchObject({ outcome: { kind: 'failed', error: 'timeout' }, elapsedMs: 19_000 });
    expect(bench.results.at(-1)?.attempt?.durationMs).toBe(3_000);
  });

  test('A success ends the delivery, whichever attempt it is', async () => {
    const bench = new RunnerBench((_request, attempt) => (attempt < 3 ? { status: 503 } : { status: 204 }));
    bench.meet('a');
    bench.deliver('a');
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toHaveLength(3);
    expect(bench.results.map(({ attempt }) => attempt?.error)).toEqual(['http_status', 'http_status', null]);
    expect(bench.ends().map(({ outcome }) => outcome)).toEqual([{ kind: 'succeeded' }]);
  });

  test.each(['test', 'probe'] as const)('A %s has one attempt', async (trigger) => {
    const bench = new RunnerBench(() => 'refused');
    bench.meet('a');
    bench.deliver('a', 1, { trigger });
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toEqual([0]);
  });

  test('A resumed delivery continues with its attempts, deadline and time of the next attempt', async () => {
    const bench = new RunnerBench(() => 'refused');
    bench.meet('a', 'b');
    bench.deliver('a', 1, { attemptsMade: 2, elapsedMs: 6_000, notBeforeMs: bench.time.nowMs + 1_500 });
    bench.deliver('b', 1, { attemptsMade: 2, elapsedMs: 12_000 });
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toEqual([1_500, 9_500]);
    expect(bench.results.filter(({ endpointId }) => endpointId === 'a').map(({ attempt }) => attempt?.attempt)).toEqual(
      [3, 4],
    );
    // Its retry would start at 20 s.
    expect(bench.attemptsOf('b/0')).toEqual([0]);
  });

  test('A resumed delivery without remaining attempts or time ends without another attempt', async () => {
    const bench = new RunnerBench(() => ({ status: 200 }));
    bench.meet('a');
    bench.deliver('a', 1, { attemptsMade: 4, elapsedMs: 14_000 });
    await bench.time.pass(10);
    bench.deliver('a', 1, { attemptsMade: 1, elapsedMs: 19_000 });
    await bench.time.pass(50);
    expect(bench.seen).toEqual([]);
    expect(bench.results.map(({ outcome, attempt }) => [outcome.kind, attempt])).toEqual([
      ['failed', null],
      ['failed', null],
    ]);
  });

  test('A delivery has at most four attempts, waits of 2, 4 and 8 s, and ends within 19 s, whatever the receiver does', async () => {
    const answer: fc.Arbitrary<Answer> = fc.oneof(
      fc.constantFrom<Answer>('refused', 'never'),
      fc.record({ status: fc.constantFrom(200, 301, 404, 410, 500), afterMs: fc.nat(4_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 4, maxLength: 4 }), async (answers) => {
        const bench = new RunnerBench((_request, attempt) => answers[attempt - 1] ?? 'refused');
        bench.meet('a');
        bench.deliver('a');
        await bench.time.pass(60_000);
        const attempts = bench.results.map(({ attempt }) => attempt);
        expect(bench.seen.length).toBeLessThanOrEqual(4);
        expect(attempts).toHaveLength(bench.seen.length);
        for (const [at, attempt] of attempts.entries()) {
          const next = attempts[at + 1];
          if (next === undefined || next === null || attempt === null) continue;
          expect(next.startedAtMs - attempt.startedAtMs - attempt.durationMs).toBe(2_000 * 2 ** at);
        }
        expect(bench.ends()).toHaveLength(1);
        expect(bench.ends()[0]?.elapsedMs).toBeLessThanOrEqual(19_000);
        expect(bench.runner.stats()).toMatchObject({ held: 0, attemptsInFlight: 0 });
      }),
      { numRuns: 100, seed: 7 },
    );
  });
});

describe('concurrency limits of the runner', () => {
  test('An endpoint starts with a few concurrent attempts and gets more with every success', async () => {
    const bench = new RunnerBench(() => ({ status: 200, afterMs: 10 }));
    bench.meet('a');
    bench.deliver('a', 64);
    expect(bench.inFlight).toBe(ENDPOINT_ATTEMPTS_START);
    await bench.time.pass(1_000);
    expect(bench.inFlightMost).toBe(ENDPOINT_ATTEMPTS_MAX);
    expect(bench.ends()).toHaveLength(64);
  });

  test('A hanging endpoint is reduced to its minimum of concurrent attempts', async () => {
    const bench = new RunnerBench(() => 'never');
    bench.meet('a');
    bench.deliver('a', 64);
    await bench.time.pass(5_001);
    expect(bench.inFlight).toBe(ENDPOINT_ATTEMPTS_MIN);
  });

  test('Retries are sent before new deliveries', async () => {
    const bench = new RunnerBench(({ headers }, attempt) =>
      headers['webhook-id'] === 'a/0' && attempt === 1 ? 'refused' : { status: 200, afterMs: 400 },
    );
    bench.meet('a');
    bench.deliver('a', 64);
    await bench.time.pass(2_400);
    const [, second] = bench.attemptsOf('a/0');
    expect(second).toBeLessThanOrEqual(2_400);
  });

  test('One host has a maximum of concurrent attempts for all its endpoints, and each endpoint is served', async () => {
    const bench = new RunnerBench(() => ({ status: 200, afterMs: 100 }));
    const ids = Array.from({ length: 40 }, (_none, at) => `e${at}`);
    for (const id of ids) bench.meetAt(id, `http://shared.test:81/${id}`);
    for (const id of ids) bench.deliver(id, 8);
    await bench.time.pass(10_000);
    expect(bench.inFlightMost).toBe(HOST_ATTEMPTS_MAX);
    expect(bench.ends()).toHaveLength(320);
    // Every endpoint was served before half of the work was done.
    const firstHalf = new Set(bench.seen.slice(0, 160).map(({ deliveryId }) => deliveryId.split('/')[0]));
    expect(firstHalf.size).toBe(40);
  });

  test('An endpoint that is skipped while it waits for its host leaves the host to others', async () => {
    const bench = new RunnerBench(() => ({ status: 200, afterMs: 100 }));
    // Half of them fill the host with their first attempts.
    const count = (2 * HOST_ATTEMPTS_MAX) / ENDPOINT_ATTEMPTS_START;
    const ids = Array.from({ length: count }, (_none, at) => `e${at}`);
    for (const id of ids) bench.meetAt(id, `http://shared.test:81/${id}`);
    for (const id of ids) bench.deliver(id, 8);
    const skipped = ids.slice(-3);
    for (const endpointId of skipped) bench.runner.order({ kind: 'skip', endpointId, error: 'gone', all: true });
    await bench.time.pass(10_000);
    expect(bench.ends().filter(({ outcome }) => outcome.kind === 'succeeded')).toHaveLength(8 * (count - 3));
    expect(bench.ends().filter(({ outcome }) => outcome.kind === 'skipped')).toHaveLength(24);
  });

  test('Endpoints that start to hang free their host for a healthy one before their attempts have ended', async () => {
    let down = false;
    const bench = new RunnerBench(({ url }) =>
      down && url.includes('/hangs') ? 'never' : { status: 200, afterMs: 1 },
    );
    const hanging = Array.from({ length: 100 }, (_none, at) => `hangs${at}`);
    for (const id of [...hanging, 'well']) bench.meetAt(id, `http://shared.test:81/${id}`);
    // All of them have answered before.
    for (const id of [...hanging, 'well']) bench.deliver(id, 2);
    await bench.time.pass(1_000);
    down = true;
    for (const id of hanging) bench.deliver(id, 2);
    // An attempt is slow after 200 ms; by then two rounds of the host's maximum have passed.
    await bench.time.pass(1_000);
    const before = bench.ends().filter(({ endpointId }) => endpointId === 'well').length;
    bench.deliver('well', 20);
    await bench.time.pass(100);
    expect(bench.ends().filter(({ endpointId }) => endpointId === 'well')).toHaveLength(before + 20);
    expect(bench.inFlight).toBeLessThanOrEqual(HOST_ATTEMPTS_MAX + HOST_LATE_ATTEMPTS_MAX);
    expect(bench.inFlight).toBeGreaterThan(HOST_LATE_ATTEMPTS_MAX);
  });

  test('An endpoint whose attempts are slow but succeed keeps its full allowance', async () => {
    const bench = new RunnerBench(() => ({ status: 200, afterMs: 1_000 }));
    bench.meet('a');
    bench.deliver('a', 64);
    await bench.time.pass(5_900);
    // 4 at once, then more with each success up to 16: 4, 8, 16, 16, 16.
    expect(bench.ends()).toHaveLength(60);
  });

  test("The runner never exceeds the worker's maximum of concurrent attempts", async () => {
    const bench = new RunnerBench(() => ({ status: 200, afterMs: 50 }), 20);
    const ids = Array.from({ length: 30 }, (_none, at) => `e${at}`);
    bench.meet(...ids);
    for (const id of ids) bench.deliver(id, 4);
    await bench.time.pass(10_000);
    expect(bench.inFlightMost).toBeLessThanOrEqual(20);
    expect(bench.ends()).toHaveLength(120);
  });
});

describe('fairness of the runner', () => {
  test('One hanging endpoint does not delay nine others', async () => {
    const bench = new RunnerBench(({ url }) => (url.includes('dead') ? 'never' : { status: 200, afterMs: 5 }), 32);
    const others = Array.from({ length: 9 }, (_none, at) => `e${at}`);
    bench.meet('dead', ...others);
    bench.deliver('dead', 64);
    for (const id of others) bench.deliver(id, 20);
    await bench.time.pass(200);
    expect(bench.ends()).toHaveLength(180);
  });

  test('500 hanging endpoints leave slots for one that has answered', async () => {
    const bench = new RunnerBench(({ url }) => (url.includes('dead') ? 'never' : { status: 200, afterMs: 5 }), 64);
    const dead = Array.from({ length: 500 }, (_none, at) => `dead${at}`);
    bench.meet('good', ...dead);
    bench.deliver('good');
    await bench.time.pass(10);
    for (const id of dead) bench.deliver(id, 8);
    for (let round = 0; round < 20; round++) {
      await bench.time.pass(500);
      const sinceMs = bench.time.nowMs;
      const tasks = [
        { deliveryId: `good/${round + 1}`, endpointId: 'good', trigger: 'decision' as const, body: Buffer.alloc(2) },
      ];
      bench.runner.order({
        kind: 'deliver',
        tasks: tasks.map((task) => ({ ...task, attemptsMade: 0, elapsedMs: 0, notBeforeMs: 0 })),
      });
      await bench.time.pass(20);
      const end = bench.ends().find(({ deliveryId }) => deliveryId === `good/${round + 1}`);
      expect(end?.completedAtMs).toBe(sinceMs + 5);
    }
  });

  test('A test bypasses the queue of its endpoint', async () => {
    const bench = new RunnerBench(() => 'never');
    bench.meet('a');
    bench.deliver('a', 64);
    await bench.time.pass(100);
    const trigger: DeliveryTrigger = 'test';
    bench.runner.order({
      kind: 'deliver',
      tasks: [
        {
          deliveryId: 't',
          endpointId: 'a',
          trigger,
          body: Buffer.alloc(2),
          attemptsMade: 0,
          elapsedMs: 0,
          notBeforeMs: 0,
        },
      ],
    });
    expect(bench.attemptsOf('t')).toEqual([100]);
  });
});

/** Sequences of a receiver's responses. */
const CONDUCTS: Readonly<Record<string, readonly Answer[]>> = {
  fast: [{ status: 200, afterMs: 10 }],
  slow: [{ status: 200, afterMs: 4_500 }],
  late: [{ status: 200, afterMs: 300 }],
  hangs: ['never'],
  /** Succeeds until it has the maximum allowance, then hangs. */
  turns: [
    ...Array.from({ length: 20 }, () => ({ status: 200, afterMs: 1 })),
    ...Array.from({ length: 40 }, () => 'never' as const),
  ],
  alternates: [{ status: 200, afterMs: 1 }, 'never'],
  alternates_slowly: [
    { status: 200, afterMs: 190 },
    { status: 200, afterMs: 4_900 },
  ],
  refuses: ['refused'],
  fails_late: [{ status: 500, afterMs: 2_000 }],
};

describe('slots for an endpoint that answers within 50 ms', () => {
  const SLOTS = 64;
  const conduct = fc.constantFrom(...Object.keys(CONDUCTS));

  /** Returns the longest wait of its deliveries for an attempt, ms, beside others with this behaviour. */
  async function waitedMost(conducts: readonly string[]): Promise<number> {
    const asked = new Map<string, number>();
    const bench = new RunnerBench(({ url }) => {
      const name = new URL(url).hostname.split('.')[0] ?? '';
      if (name === 'good') return { status: 200, afterMs: 50 };
      const answers = CONDUCTS[conducts[Number(name.slice(1))] ?? ''] ?? [];
      const count = asked.get(name) ?? 0;
      asked.set(name, count + 1);
      return answers[count % answers.length] ?? 'never';
    }, SLOTS);
    const others = conducts.map((_conduct, at) => `e${at}`);
    bench.meet('good', ...others);
    bench.deliver('good');
    await bench.time.pass(100);
    let most = 0;
    for (let round = 1; round < 30; round++) {
      for (const id of others) {
        const missing = 24 - (bench.runner.stats().held > 2_000 ? 24 : 0);
        const tasks = Array.from({ length: missing }, (_none, at) => task(id, `${id}/${round}/${at}`));
        bench.runner.order({ kind: 'deliver', tasks });
      }
      await bench.time.pass(500);
      const sinceMs = bench.elapsedMs;
      bench.runner.order({ kind: 'deliver', tasks: [task('good', `good/${round}`)] });
      for (let passed = 0; bench.attemptsOf(`good/${round}`).length === 0 && passed < 20_000; passed += 50)
        await bench.time.pass(50);
      most = Math.max(most, (bench.attemptsOf(`good/${round}`)[0] ?? Number.POSITIVE_INFINITY) - sinceMs);
      await bench.time.pass(50);
    }
    return most;
  }

  test('A fast endpoint gets a slot at once while the other endpoints are fewer than a quarter of the slots, whatever they do', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(conduct, { minLength: 8, maxLength: SLOTS / 4 - 1 }), async (conducts) => {
        expect(await waitedMost(conducts)).toBe(0);
      }),
      { numRuns: 12, seed: 3 },
    );
  });

  test.each(Object.keys(CONDUCTS))(
    'A fast endpoint gets a slot at once if all of the others behave as %s',
    async (name) => {
      expect(await waitedMost(Array.from({ length: SLOTS / 4 - 1 }, () => name))).toBe(0);
    },
  );

  test('A fast endpoint gets a slot within the time limit of an attempt plus 250 ms, however many others there are', async () => {
    expect(await waitedMost(Array.from({ length: SLOTS }, () => 'turns'))).toBeLessThanOrEqual(5_250);
  });
});

test('A fast endpoint overtakes slow endpoints of its own host', async () => {
  const bench = new RunnerBench(({ url }) => ({ status: 200, afterMs: url.includes('/slow') ? 4_500 : 10 }));
  const slow = Array.from({ length: 40 }, (_none, at) => `slow${at}`);
  for (const id of [...slow, 'well']) bench.meetAt(id, `http://shared.test:81/${id}`);
  for (const id of slow) bench.deliver(id, 64);
  for (let round = 0; round < 10; round++) {
    await bench.time.pass(2_000);
    const sinceMs = bench.elapsedMs;
    bench.runner.order({ kind: 'deliver', tasks: [task('well', `well/${round}`)] });
    await bench.time.pass(20);
    expect(bench.attemptsOf(`well/${round}`)).toEqual([sinceMs]);
  }
  // They continue meanwhile, in their host's slow lane.
  expect(bench.ends().filter(({ endpointId }) => endpointId !== 'well').length).toBeGreaterThan(4 * 90);
});

test('Slow endpoints of a host share its slow lane', async () => {
  const bench = new RunnerBench(({ url }) => ({ status: 200, afterMs: url.includes('/slow') ? 4_500 : 300 }));
  const slow = Array.from({ length: 10 }, (_none, at) => `slow${at}`);
  for (const id of [...slow, 'late']) bench.meetAt(id, `http://shared.test:81/${id}`);
  for (const id of slow) bench.deliver(id, 200);
  await bench.time.pass(20_000);
  const sinceMs = bench.elapsedMs;
  bench.deliver('late', 40);
  await bench.time.pass(4_000);
  // It rises from four concurrent attempts to its maximum.
  expect(bench.ends().filter(({ endpointId }) => endpointId === 'late')).toHaveLength(40);
  expect(bench.attemptsOf('late/0')).toEqual([sinceMs]);
});

test("Attempts that become slow count against new attempts in the host's slow lane", async () => {
  let down = false;
  const bench = new RunnerBench(() => (down ? 'never' : { status: 200, afterMs: 1 }));
  const ids = Array.from({ length: 200 }, (_none, at) => `e${at}`);
  for (const id of ids) bench.meetAt(id, `http://shared.test:81/${id}`);
  for (const id of ids) bench.deliver(id);
  await bench.time.pass(1_000);
  down = true;
  const tasks = [1, 2, 3].flatMap((at) => ids.map((id) => task(id, `${id}/${at}`)));
  bench.runner.order({ kind: 'deliver', tasks });
  await bench.time.pass(1_000);
  expect(bench.inFlight).toBe(HOST_ATTEMPTS_MAX + HOST_LATE_ATTEMPTS_MAX);
  const before = new Set(bench.seen.filter(({ atMs }) => atMs > 900).map(({ url }) => url));
  expect(before.size).toBeGreaterThan(HOST_LATE_ATTEMPTS_MAX);
  // The first of them have ended; the slow attempts still fill their lane, so other endpoints are served.
  await bench.time.pass(4_100);
  const next = bench.seen.filter(({ atMs }) => atMs > 5_900).map(({ url }) => url);
  expect(next.length).toBeGreaterThan(HOST_ATTEMPTS_MAX - 10);
  expect(next.filter((url) => before.has(url))).toEqual([]);
});

describe('an attempt that this machine lacks the resources for', () => {
  const lack: Answer = { lack: 'EMFILE' };

  test('An attempt that lacks resources is not recorded or counted, and its time does not count against the deadline', async () => {
    let lacks = true;
    const bench = new RunnerBench((_request, attempt) => (lacks ? lack : attempt % 2 === 0 ? 'refused' : 'never'));
    bench.meet('a');
    bench.deliver('a', 3);
    await bench.time.pass(50_000);
    expect(bench.results).toEqual([]);
    expect(bench.runner.stats()).toMatchObject({ held: 3, attemptsInFlight: 0 });
    expect(bench.faults.map(String)).toEqual([expect.stringContaining('EMFILE')]);
    lacks = false;
    await bench.time.pass(60_000);
    expect(bench.ends().map(({ outcome }) => outcome.kind)).toEqual(['failed', 'failed', 'failed']);
    for (const { attempt, elapsedMs } of bench.ends()) {
      expect(attempt?.attempt).toBeGreaterThanOrEqual(3);
      expect(elapsedMs).toBeLessThanOrEqual(19_000);
    }
  });

  test("Attempts that lack resources stop the delivery's clock, so that all of its retries are made", async () => {
    const bench = new RunnerBench((_request, attempt) => (attempt > 1 && attempt < 30 ? lack : 'refused'));
    bench.meet('a');
    bench.deliver('a');
    await bench.time.pass(120_000);
    expect(bench.results.map(({ attempt }) => attempt?.attempt)).toEqual([1, 2, 3, 4]);
    expect(bench.ends().map(({ outcome, elapsedMs }) => [outcome.kind, elapsedMs])).toEqual([['failed', 14_000]]);
  });

  test('A test ends with an attempt that lacks resources', async () => {
    const bench = new RunnerBench(() => lack);
    bench.meet('a');
    bench.deliver('a', 1, { trigger: 'test' });
    await bench.time.pass(100);
    expect(bench.ends().map(({ outcome }) => outcome.kind)).toEqual(['failed']);
  });

  test('Deliveries that wait for resources can be skipped and do not delay a stop', async () => {
    const bench = new RunnerBench(() => lack);
    bench.meet('a');
    bench.deliver('a', 2);
    await bench.time.pass(100);
    bench.runner.order({ kind: 'skip', endpointId: 'a', error: 'gone', all: true });
    await bench.time.pass(100);
    expect(bench.ends().map(({ outcome }) => outcome.kind)).toEqual(['skipped', 'skipped']);
    bench.deliver('a', 2);
    await bench.time.pass(100);
    bench.runner.order({ kind: 'stop', graceMs: 2_000 });
    expect(bench.stopped).toBe(1);
  });
});

describe('skipping an endpoint', () => {
  test('When an endpoint is skipped, waiting deliveries end at once, and those in flight after their attempt', async () => {
    const bench = new RunnerBench(() => 'never');
    bench.meet('a');
    bench.deliver('a', 10);
    await bench.time.pass(1_000);
    bench.runner.order({ kind: 'skip', endpointId: 'a', error: 'unhealthy', all: false });
    await bench.time.pass(0);
    expect(bench.ends()).toHaveLength(6);
    await bench.time.pass(60_000);
    expect(bench.ends().map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 10 }, () => ({ kind: 'skipped', error: 'unhealthy' })),
    );
    expect(bench.seen).toHaveLength(4);
    expect(bench.runner.stats().held).toBe(0);
  });

  test('An unhealthy endpoint keeps its tests, probes and manual retries unless it is gone', async () => {
    const bench = new RunnerBench(() => 'refused');
    bench.meet('a');
    const triggers: readonly DeliveryTrigger[] = ['decision', 'manual'];
    for (const trigger of triggers) {
      const task = { deliveryId: trigger, endpointId: 'a', trigger, body: Buffer.alloc(2) };
      bench.runner.order({ kind: 'deliver', tasks: [{ ...task, attemptsMade: 0, elapsedMs: 0, notBeforeMs: 0 }] });
    }
    await bench.time.pass(1_000);
    bench.runner.order({ kind: 'skip', endpointId: 'a', error: 'unhealthy', all: false });
    await bench.time.pass(0);
    expect(bench.ends().map(({ deliveryId }) => deliveryId)).toEqual(['decision']);
    bench.runner.order({ kind: 'skip', endpointId: 'a', error: 'gone', all: true });
    bench.runner.order({ kind: 'forget', endpointId: 'a' });
    await bench.time.pass(60_000);
    expect(bench.ends().map(({ deliveryId }) => deliveryId)).toEqual(['decision', 'manual']);
    expect(bench.time.timers).toBe(0);
  });
});

describe('deliveries that have not begun', () => {
  test('A delivery that is handed over twice is sent once, whether it has begun or not', async () => {
    const bench = new RunnerBench(() => ({ status: 204, afterMs: 50 }));
    bench.meet('a');
    bench.deliver('a', 12);
    bench.deliver('a', 12);
    expect(bench.runner.stats().held).toBe(12);
    await bench.time.pass(10_000);
    expect(bench.seen.map(({ deliveryId }) => deliveryId).toSorted()).toEqual(
      Array.from({ length: 12 }, (_none, at) => `a/${at}`).toSorted(),
    );
    expect(bench.runner.stats().held).toBe(0);
  });

  test('An endpoint that is forgotten while deliveries of it wait stays known until they have ended', async () => {
    const bench = new RunnerBench(() => ({ status: 204, afterMs: 50 }));
    bench.meet('a');
    bench.deliver('a', 4);
    const manual = Array.from({ length: 5 }, (_none, at) => task('a', `manual/${at}`, { trigger: 'manual' }));
    bench.runner.order({ kind: 'deliver', tasks: manual });
    bench.runner.order({ kind: 'skip', endpointId: 'a', error: 'unhealthy', all: false });
    bench.runner.order({ kind: 'forget', endpointId: 'a' });
    bench.runner.order({ kind: 'deliver', tasks: [task('a', 'last')] });
    await bench.time.pass(10_000);
    expect(bench.ends()).toHaveLength(10);
  });

  test('Dropped deliveries are never sent nor reported, the others of their message are', async () => {
    const bench = new RunnerBench(() => ({ status: 204, afterMs: 50 }));
    bench.meet('a');
    bench.deliver('a', 10);
    bench.runner.order({ kind: 'drop', deliveryIds: ['a/5', 'a/9', 'a/7'] });
    expect(bench.runner.stats().held).toBe(7);
    await bench.time.pass(10_000);
    const sent = [0, 1, 2, 3, 4, 6, 8].map((at) => `a/${at}`);
    expect(bench.seen.map(({ deliveryId }) => deliveryId)).toEqual(sent);
    expect(bench.ends().map(({ deliveryId }) => deliveryId)).toEqual(sent);
  });
});

describe('stopping the runner', () => {
  test('A stop without attempts in flight ends at once and leaves waiting deliveries to the store', async () => {
    const bench = new RunnerBench(() => 'refused');
    bench.meet('a');
    bench.deliver('a', 3);
    await bench.time.pass(1_000);
    bench.runner.order({ kind: 'stop', graceMs: 2_000 });
    expect(bench.stopped).toBe(1);
    await bench.time.pass(60_000);
    expect(bench.seen).toHaveLength(3);
    expect(bench.ends()).toEqual([]);
    expect(bench.stopped).toBe(1);
  });

  test('A stop gives attempts in flight a grace period and then keeps their deliveries', async () => {
    const bench = new RunnerBench(({ headers }) =>
      headers['webhook-id'] === 'a/0' ? { status: 200, afterMs: 1_500 } : 'never',
    );
    bench.meet('a');
    // The clock is not at 0, as otherwise a duration and a time would be equal.
    await bench.time.pass(700);
    bench.deliver('a', 6);
    await bench.time.pass(500);
    bench.runner.order({ kind: 'stop', graceMs: 2_000 });
    await bench.time.pass(1_999);
    expect(bench.stopped).toBe(0);
    await bench.time.pass(1);
    expect(bench.stopped).toBe(1);
    expect(bench.ends().map(({ outcome }) => outcome.kind)).toEqual(['succeeded', 'kept', 'kept', 'kept']);
    expect(bench.ends().at(-1)?.attempt).toMatchObject({ attempt: 1, error: 'shutdown', durationMs: 2_500 });
    await bench.time.pass(60_000);
    expect(bench.seen).toHaveLength(4);
    expect(bench.ends()).toHaveLength(4);
  });
});

test('Results are reported in batches, and none is left behind', async () => {
  const bench = new RunnerBench(() => ({ status: 200, afterMs: 10 }));
  const ids = Array.from({ length: 100 }, (_none, at) => `e${at}`);
  bench.meet(...ids);
  for (const id of ids) bench.deliver(id, 4);
  await bench.time.pass(1_000);
  expect(bench.results).toHaveLength(400);
  expect(bench.batches.length).toBeLessThan(200);
  expect(bench.runner.stats()).toMatchObject({ held: 0, attemptsInFlight: 0 });
  for (const id of ids) bench.runner.order({ kind: 'forget', endpointId: id });
  expect(() => bench.deliver('e1')).toThrow(/before its endpoint/);
});

describe('the lease of a node of a cluster', () => {
  const leased = (receiver: Answer, untilMs: number): RunnerBench => {
    const bench = new RunnerBench(() => receiver, 512, true);
    bench.meet('a');
    bench.runner.order({ kind: 'lease', untilMs: bench.time.nowMs + untilMs });
    bench.deliver('a');
    return bench;
  };

  test('Without a lease no attempt begins; with one it begins at once', async () => {
    const bench = leased({ status: 204 }, 0);
    await bench.time.pass(10_000);
    expect(bench.seen).toEqual([]);
    bench.runner.order({ kind: 'lease', untilMs: bench.time.nowMs + 1_000 });
    await bench.time.pass(1);
    expect(bench.attemptsOf('a/0')).toEqual([10_000]);
  });

  test('Retries wait for the next lease, and the time without one does not count against the deadline', async () => {
    const bench = leased('refused', 1_000);
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toEqual([0]);
    bench.runner.order({ kind: 'lease', untilMs: bench.time.nowMs + 60_000 });
    await bench.time.pass(60_000);
    expect(bench.attemptsOf('a/0')).toHaveLength(4);
    expect(bench.ends()).toMatchObject([{ outcome: { kind: 'failed', error: 'connection_refused' } }]);
  });

  test('A delivery that another node has gets no further attempt, in flight or waiting', async () => {
    const bench = leased('refused', 600_000);
    bench.deliver('a', 2);
    await bench.time.pass(1_000);
    const ids = bench.seen.map(({ deliveryId }) => deliveryId);
    bench.runner.order({ kind: 'drop', deliveryIds: ids });
    await bench.time.pass(60_000);
    expect(bench.seen).toHaveLength(ids.length);
    expect(bench.runner.stats().held).toBe(0);
  });
});
