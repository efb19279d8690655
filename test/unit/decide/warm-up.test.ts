import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/kernel/clock.ts';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';
import type { DecideObserver } from '../../../src/decide/observer.ts';
import { CellDecider } from '../../../src/decide/cell-decider.ts';
import { WARM_UP_IDS, warmUp, warmUpCell } from '../../../src/decide/warm-up.ts';
import { WARM_UP_BODIES } from '../../../src/decide/warm-up-bodies.ts';
import { LocalAdmission } from '../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import { listenNode } from '../../../src/http/node.ts';
import { parseDecideRequest } from '../../../src/risk/decide-request.ts';
import { AnswerWriter, createBatchBuffer, BatchReader, REQUEST_WARM_UP } from '../../../src/frames/batch-buffer.ts';
import type { ScorePool } from '../../../src/frames/score-pool.ts';
import { NOW_SECONDS } from './support.ts';

/** Requests bypass the transport. */
const NOWHERE = (): Promise<null> => Promise.resolve(null);

const FRAMES = Array.from({ length: 40 }, createBatchBuffer);

function setUp() {
  const memory = FRAMES.map((frame) => ({ requests: new BatchReader(frame), answers: new AnswerWriter(frame) }));
  const seen: { customer: number; flags: number }[] = [];
  const outcomes = { decided: 0, refused: [] as string[], failed: 0 };
  const pool: ScorePool = {
    frames: FRAMES,
    inFlightMax: 2,
    inFlightRequestsMax: 64,
    attend: () => {},
    run({ frame, from, count }) {
      const shared = memory[frame];
      if (shared === undefined) throw new Error('no frame');
      shared.answers.reset();
      for (let at = from; at < from + count; at++) {
        const { customerNumber, flags } = shared.requests.meta(at);
        seen.push({ customer: customerNumber, flags });
        const empty = { decision: 0, flags: 0, score: 0, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) };
        shared.answers.write(at, { ...empty, status: 200, text: '{"latency_ms":' });
      }
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
  const observer: DecideObserver = {
    refused: (code) => outcomes.refused.push(code),
    batchLeft: () => {},
    batchFailed: () => outcomes.failed++,
    decided: () => outcomes.decided++,
    scoreRefused: (code) => outcomes.refused.push(code),
  };
  const observed: number[] = [];
  const clock: Clock = {
    nowMs: () => NOW_SECONDS * 1_000,
    observe: (seconds) => observed.push(seconds),
    followsTimestamps: true,
  };
  const admission = new LocalAdmission(new ReplayGuard(WARM_UP_IDS, Buffer.alloc(16)), { stage: () => {} });
  return { admission, pool, observer, clock, seen, outcomes, observed };
}

describe('warmUp', () => {
  test('The warm-up uses no batch buffer that real requests use at the same time', async () => {
    const { admission, pool, observer, clock } = setUp();
    const used: number[] = [];
    const recorded: ScorePool = {
      ...pool,
      warmUpBatches: 6,
      run(task) {
        used.push(task.frame);
        return pool.run(task);
      },
    };
    await warmUp({ pool: recorded, observer, clock, admission, listen: NOWHERE });
    expect(used.length).toBeGreaterThan(0);
    expect(Math.min(...used)).toBeGreaterThanOrEqual(FRAMES.length - 6);
  });

  test('The warm-up sends verified requests of no customer, each marked, and answers all of them', async () => {
    const { admission, pool, observer, clock, seen, outcomes } = setUp();
    const { requests, connections } = await warmUp({ pool, observer, clock, admission, listen: NOWHERE });
    expect(requests).toBeGreaterThan(0);
    expect(connections).toBe(0);
    expect(outcomes).toEqual({ decided: requests, refused: [], failed: 0 });
    expect(seen).toHaveLength(requests);
    expect(new Set(seen.map(({ customer, flags }) => `${customer} ${flags}`))).toEqual(
      new Set([`0 ${REQUEST_WARM_UP}`]),
    );
  });

  test('The warm-up sends its requests over connections if it can listen', async () => {
    const { admission, pool, observer, clock, outcomes } = setUp();
    let closed = 0;
    let arrived = 0;
    const { requests, connections } = await warmUp({
      admission,
      pool,
      observer,
      clock,
      async listen(onRequest) {
        const listening = await listenNode({
          host: '127.0.0.1',
          port: 0,
          tls: null,
          trustedProxies: new TrustedProxies([]),
          onRequest: (head, exchange) => {
            arrived++;
            onRequest(head, exchange);
          },
          onCrash: (error) => {
            throw error;
          },
        });
        const close = (): void => {
          closed++;
          listening.drain();
        };
        return { port: listening.port, close };
      },
    });
    expect(requests).toBeGreaterThan(0);
    expect(arrived).toBeGreaterThanOrEqual(requests);
    expect(connections).toBeGreaterThan(1);
    // Requests not answered in time are abandoned.
    expect(outcomes).toMatchObject({ refused: [], failed: 0 });
    expect(outcomes.decided).toBeGreaterThanOrEqual(requests);
    expect(closed).toBe(1);
  });

  test('The warm-up does not advance a clock that follows timestamps', async () => {
    const { admission, pool, observer, clock, observed } = setUp();
    await warmUp({ pool, observer, clock, admission, listen: NOWHERE });
    expect(observed).toEqual([]);
  });

  test('The service accepts the warm-up bodies, which cover every kind of event and session', () => {
    const parsed = WARM_UP_BODIES.map((body) => parseDecideRequest(Buffer.from(body)));
    const requests = parsed.flatMap((one) => (one.kind === 'fault' ? [] : [one.request]));
    expect(requests).toHaveLength(WARM_UP_BODIES.length);
    expect(new Set(requests.map(({ eventType }) => eventType)).size).toBe(5);
    expect(new Set(requests.map(({ sessionToken }) => sessionToken.startsWith('st1.')))).toEqual(
      new Set([true, false]),
    );
  });
});

test('A cell decides the same requests, marked and of no customer, and records none', async () => {
  const { pool, admission, seen, outcomes, observed } = setUp();
  const stray: unknown[] = [];
  const answered = await warmUpCell(
    NOW_SECONDS * 1_000,
    (own) =>
      new CellDecider({
        admission,
        frames: FRAMES.slice(0, 2),
        score: (task) => pool.run(task),
        outputOf: () => new Uint8Array(0),
        refreshKeys: () => {},
        hasModel: () => false,
        isBehind: () => false,
        report: (error) => stray.push(error),
        ...own,
      }),
  );
  expect(answered).toBeGreaterThan(WARM_UP_BODIES.length);
  expect(seen).toHaveLength(answered);
  expect(new Set(seen.map(({ customer, flags }) => `${customer} ${flags}`))).toEqual(new Set([`0 ${REQUEST_WARM_UP}`]));
  expect([outcomes.decided, observed, stray]).toEqual([0, [], []]);
});
