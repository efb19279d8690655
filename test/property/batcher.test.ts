import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Batcher } from '../../src/decide/batcher.ts';
import {
  BATCH_EAGER_REQUESTS,
  BATCH_REQUESTS_MAX,
  DECIDE_BODY_BYTES_MAX,
  QUEUE_REQUESTS_MAX,
} from '../../src/kernel/limits.ts';
import { AnswerWriter, createBatchBuffer, BatchReader } from '../../src/frames/batch-buffer.ts';
import type { ScoreTask } from '../../src/frames/score-messages.ts';

const WORKERS_MAX = 3;
/** Created once: the number that the pool creates for its maximum number of workers. */
const FRAMES = Array.from(
  { length: 3 * WORKERS_MAX + Math.ceil(QUEUE_REQUESTS_MAX / BATCH_REQUESTS_MAX) + 1 },
  createBatchBuffer,
);
const POISON = 0x21;

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

interface Running {
  readonly task: ScoreTask;
  readonly worker: number;
  resolve(): void;
  reject(error: Error): void;
}

/** Workers with three slots each. A poisoned request crashes its worker, including all batches of that worker. */
class FakePool {
  readonly running: Running[] = [];
  readonly #frames = FRAMES.map((frame) => ({ requests: new BatchReader(frame), answers: new AnswerWriter(frame) }));
  readonly #suspects = new Set<string>();
  readonly #workers: number;
  runningMost = 0;
  requestsMost = 0;
  deaths = 0;

  constructor(workers: number) {
    this.#workers = workers;
  }

  run(task: ScoreTask): Promise<void> {
    const held = Array.from(
      { length: this.#workers },
      (_, worker) => this.running.filter((one) => one.worker === worker).length,
    );
    const worker = held.indexOf(Math.min(...held));
    return new Promise((resolve, reject) => {
      this.running.push({ task, worker, resolve, reject });
      this.runningMost = Math.max(this.runningMost, this.running.length);
      const requests = this.running.reduce((sum, one) => sum + one.task.count, 0);
      this.requestsMost = Math.max(this.requestsMost, requests);
    });
  }

  /** Ends one running task. With `fails` it fails with an ordinary error, unless one of its requests has failed before. */
  finish(at: number, fails: boolean): void {
    const one = this.running[at % Math.max(1, this.running.length)];
    if (one === undefined) return;
    const bodies = this.#bodies(one.task);
    if (bodies.some((body) => body[0] === POISON)) {
      this.deaths++;
      const dead = this.running.filter(({ worker }) => worker === one.worker);
      for (const gone of dead) this.#reject(gone, 'the worker died');
    } else if (fails && !bodies.some((body) => this.#suspects.has(nameOf(body)))) this.#reject(one, 'the batch failed');
    else {
      const frame = this.#frames[one.task.frame];
      frame?.answers.reset();
      for (const [i, body] of bodies.entries()) {
        const answer = {
          status: 200,
          decision: 0,
          flags: 0,
          score: 0,
          rulesLow: 0,
          rulesHigh: 0,
          text: nameOf(body),
          record: new Uint8Array(0),
        };
        frame?.answers.write(one.task.from + i, answer);
      }
      this.running.splice(this.running.indexOf(one), 1);
      one.resolve();
    }
  }

  #reject(one: Running, message: string): void {
    for (const body of this.#bodies(one.task)) this.#suspects.add(nameOf(body));
    this.running.splice(this.running.indexOf(one), 1);
    one.reject(new Error(message));
  }

  #bodies({ frame, from, count }: ScoreTask): Buffer[] {
    return Array.from({ length: count }, (_, i) => this.#frames[frame]?.requests.body(from + i) ?? Buffer.alloc(0));
  }
}

/** A body consists of a mark, its number and filling. */
function bodyOf(number: number, poisoned: boolean, bytes: number): Buffer {
  const name = `${poisoned ? '!' : '.'}${number};`;
  return Buffer.concat([Buffer.from(name), Buffer.alloc(Math.max(0, bytes - name.length), 0x78)]);
}

function nameOf(body: Buffer): string {
  return body.subarray(0, body.indexOf(0x3b)).toString('latin1');
}

interface World {
  readonly batcher: Batcher<string, string>;
  readonly pool: FakePool;
  readonly answered: Map<string, string>;
  readonly batches: number[];
  failures: number;
}

/** Refuses one request of seven, and answers later for one batch of three. */
function someAdmission(): (arrived: readonly string[]) => (string | null)[] | Promise<(string | null)[]> {
  let batches = 0;
  return (arrived) => {
    const admitted = arrived.map((name) => (isRefused(name) ? null : name));
    return batches++ % 3 === 2 ? turn().then(() => admitted) : admitted;
  };
}

function isRefused(name: string): boolean {
  return Number(name.slice(1)) % 7 === 3;
}

function world(workers: number, admit: ReturnType<typeof someAdmission> = (arrived) => [...arrived]): World {
  const pool = new FakePool(workers);
  const made: World = {
    pool,
    answered: new Map(),
    batches: [],
    failures: 0,
    batcher: new Batcher<string, string>({
      frames: FRAMES,
      inFlightMax: 3 * workers,
      inFlightRequestsMax: 2 * BATCH_REQUESTS_MAX * workers,
      attend: () => {},
      admit,
      run: (task) => pool.run(task),
      onBatch: (count) => made.batches.push(count),
      onBatchFailed: () => made.failures++,
      onAnswers(pending, { answers }, from, failed = false) {
        for (const [i, name] of pending.entries()) {
          expect(made.answered.has(name)).toBe(false);
          made.answered.set(name, failed ? 'failed' : answers.text(from + i));
        }
      },
    }),
  };
  return made;
}

/** Completes running tasks until nothing is queued. */
async function finishAll(pool: FakePool, batcher: Batcher<string, string>): Promise<void> {
  const progress = { drained: false };
  const done = batcher.drain().then(() => {
    progress.drained = true;
  });
  for (let i = 0; !progress.drained; i++) {
    if (i > 20_000) throw new Error('the batcher does not drain');
    pool.finish(0, false);
    await turn();
  }
  await done;
}

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      add: fc.integer({ min: 1, max: 90 }),
      bytes: fc.constantFrom(20, 20, 300, 20_000, DECIDE_BODY_BYTES_MAX),
      poison: fc.option(fc.nat(90), { freq: 3 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ finish: fc.nat(20), fails: fc.boolean() }) },
  { weight: 3, arbitrary: fc.constant('turn' as const) },
);

describe('the batcher', () => {
  test('The batcher answers every admitted request once with its own response; a poisoned request fails and no other request does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: WORKERS_MAX }),
        fc.array(command, { maxLength: 60 }),
        async (workers, commands) => {
          const { batcher, pool, answered, batches } = world(workers, someAdmission());
          const expected = new Map<string, string>();
          let number = 0;
          for (const one of commands) {
            if (one === 'turn') await turn();
            else if ('add' in one) {
              for (let i = 0; i < one.add && !batcher.isFull(); i++) {
                const poisoned = one.poison === i;
                const body = bodyOf(number++, poisoned, one.bytes);
                batcher.add(body, 1, 0, 0, nameOf(body));
                if (!isRefused(nameOf(body))) expected.set(nameOf(body), poisoned ? 'failed' : nameOf(body));
              }
            } else {
              pool.finish(one.finish, one.fails);
              await turn();
            }
            expect(pool.running.length).toBeLessThanOrEqual(3 * workers);
            expect(batcher.queued).toBeLessThanOrEqual(QUEUE_REQUESTS_MAX);
          }
          await finishAll(pool, batcher);
          expect(answered).toEqual(expected);
          expect(batcher.queued).toBe(0);
          expect(pool.running).toEqual([]);
          expect(pool.runningMost).toBeLessThanOrEqual(3 * workers);
          const leftWith = 2 * BATCH_REQUESTS_MAX * workers - BATCH_EAGER_REQUESTS;
          expect(pool.requestsMost).toBeLessThanOrEqual(leftWith + BATCH_REQUESTS_MAX);
          expect(batches.reduce((sum, count) => sum + count, 0)).toBe(expected.size);
          expect(Math.max(0, ...batches)).toBeLessThanOrEqual(BATCH_REQUESTS_MAX);
          expect(batcher.isFull()).toBe(false);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('The batcher accepts requests up to its limit, reports that it is full, and has room again after a batch was answered', async () => {
    for (const bytes of [10, DECIDE_BODY_BYTES_MAX]) {
      const { batcher, pool, answered, batches } = world(1);
      let number = 0;
      while (!batcher.isFull()) {
        const body = bodyOf(number++, false, bytes);
        batcher.add(body, 1, 0, 0, nameOf(body));
      }
      expect(number).toBeGreaterThan(0);
      const gone = batches.reduce((sum, count) => sum + count, 0);
      expect(batcher.queued).toBe(number - gone);
      expect(batcher.queued).toBeLessThanOrEqual(QUEUE_REQUESTS_MAX);
      expect(batcher.queued === QUEUE_REQUESTS_MAX).toBe(bytes === 10);
      await turn();
      expect(pool.running).toHaveLength(bytes === 10 ? 3 : 2);
      pool.finish(0, false);
      await turn();
      expect(batcher.isFull()).toBe(false);
      while (answered.size < number) {
        pool.finish(0, false);
        await turn();
      }
      await batcher.drain();
    }
  });

  test('Requests that arrive in one turn of the event loop form one batch', async () => {
    const { batcher, pool, batches } = world(1);
    for (let i = 0; i < 5; i++) batcher.add(bodyOf(i, false, 20), 1, 0, 0, `.${i}`);
    expect(batches).toEqual([]);
    await turn();
    expect(batches).toEqual([5]);
    pool.finish(0, false);
    await batcher.drain();
  });

  test('The batcher reports the age of the oldest batch in flight, and 0 when there is none', async () => {
    const { batcher, pool } = world(1);
    expect(batcher.oldestInFlightMs(performance.now() + 1_000)).toBe(0);
    batcher.add(bodyOf(0, false, 20), 1, 0, 0, '.0');
    await turn();
    const before = performance.now();
    expect(batcher.oldestInFlightMs(before + 5_000)).toBeGreaterThanOrEqual(5_000);
    pool.finish(0, false);
    await batcher.drain();
    expect(batcher.oldestInFlightMs(before + 5_000)).toBe(0);
  });

  test('Nothing else runs while the requests of a crashed worker’s batches are scored one by one', async () => {
    const { batcher, pool, answered } = world(1);
    batcher.add(bodyOf(0, false, 20), 1, 0, 0, '.0');
    batcher.add(bodyOf(1, true, 20), 1, 0, 0, '!1');
    await turn();
    batcher.add(bodyOf(2, false, 20), 1, 0, 0, '.2');
    await turn();
    expect(pool.running).toHaveLength(2);
    pool.finish(0, false);
    await turn();
    batcher.add(bodyOf(3, false, 20), 1, 0, 0, '.3');
    while (answered.size < 3) {
      expect(pool.running).toHaveLength(1);
      pool.finish(0, false);
      await turn();
    }
    expect([...answered]).toEqual([
      ['.0', '.0'],
      ['!1', 'failed'],
      ['.2', '.2'],
    ]);
    expect(pool.deaths).toBe(2);
    pool.finish(0, false);
    await batcher.drain();
    expect(answered.get('.3')).toBe('.3');
  });
});
