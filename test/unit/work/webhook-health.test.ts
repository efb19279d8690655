import { describe, expect, test } from 'vitest';
import type { DeliveryTrigger, WebhookHealth } from '../../../src/work/webhook.ts';
import {
  applyDelivery,
  decideRoute,
  HEALTHY,
  mergeHealth,
  probeLost,
  probeSent,
  type HealthSignal,
} from '../../../src/work/webhook-health.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const COUNTED = ['decision', 'manual'] as const;

const fail = (health: WebhookHealth, nowMs = NOW_MS, trigger: DeliveryTrigger = 'decision') =>
  applyDelivery(health, { result: 'failed', trigger }, nowMs);
const succeed = (health: WebhookHealth, nowMs = NOW_MS, trigger: DeliveryTrigger = 'decision') =>
  applyDelivery(health, { result: 'succeeded', trigger }, nowMs);

function failing(times: number, trigger: DeliveryTrigger = 'decision'): WebhookHealth {
  let health = HEALTHY;
  for (let i = 0; i < times; i++) health = fail(health, NOW_MS, trigger).health;
  return health;
}

const UNHEALTHY = failing(10);
const PROBING = probeSent(UNHEALTHY);

describe('a healthy endpoint', () => {
  test('A healthy endpoint gets every matching decision', () => {
    expect(decideRoute({ health: HEALTHY }, NOW_MS)).toBe('deliver');
    expect(decideRoute({ health: failing(9) }, NOW_MS)).toBe('deliver');
    expect(probeSent(HEALTHY)).toBe(HEALTHY);
  });

  test.each(COUNTED)(
    'A healthy endpoint warns at 5, 7 and 9 failures and is unhealthy at 10, by deliveries of trigger %s',
    (trigger) => {
      let health = HEALTHY;
      const seen: (readonly HealthSignal[])[] = [];
      for (let i = 0; i < 10; i++) {
        const change = fail(health, NOW_MS + i, trigger);
        health = change.health;
        seen.push(change.signals);
      }
      const warning = (consecutiveFailures: number) => [{ kind: 'warning', consecutiveFailures }];
      const down = [{ kind: 'unhealthy', cooldownMs: 15_000 }];
      expect(seen).toEqual([[], [], [], [], warning(5), [], warning(7), [], warning(9), down]);
      expect(health).toEqual({
        status: 'unhealthy',
        consecutiveFailures: 10,
        unhealthySinceMs: NOW_MS + 9,
        cooldownMs: 15_000,
        nextProbeAtMs: NOW_MS + 15_009,
        lastSuccessAtMs: null,
        lastFailureAtMs: NOW_MS + 9,
      });
    },
  );

  test('A healthy endpoint restarts its count after a success, without a signal', () => {
    const { health, signals } = succeed(failing(9), NOW_MS + 5);
    expect(signals).toEqual([]);
    expect(health).toEqual({ ...HEALTHY, lastSuccessAtMs: NOW_MS + 5, lastFailureAtMs: NOW_MS });
    expect(fail(health).health).toMatchObject({ status: 'healthy', consecutiveFailures: 1 });
  });

  test('A healthy endpoint counts a probe that fails after another delivery has healed it', () => {
    const healed = succeed(PROBING).health;
    expect(fail(healed, NOW_MS, 'probe').health).toMatchObject({ status: 'healthy', consecutiveFailures: 1 });
  });
});

describe('an unhealthy endpoint', () => {
  test('An unhealthy endpoint is skipped until its cool-down is over; then the next decision is a probe', () => {
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS)).toBe('skip');
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS + 14_999)).toBe('skip');
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS + 15_000)).toBe('probe');
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS + 86_400_000)).toBe('probe');
  });

  test('An unhealthy endpoint is skipped while its probe is out, however long that takes', () => {
    expect(PROBING).toEqual({ ...UNHEALTHY, nextProbeAtMs: null });
    expect(decideRoute({ health: PROBING }, NOW_MS + 86_400_000)).toBe('skip');
  });

  test('An unhealthy endpoint waits 15, 30, 60 and then always 60 s, from the end of the failed probe', () => {
    let health = UNHEALTHY;
    let nowMs = NOW_MS;
    for (const [i, cooldownMs] of [30_000, 60_000, 60_000, 60_000].entries()) {
      nowMs += 100_000;
      const change = fail(probeSent(health), nowMs, 'probe');
      health = change.health;
      expect(change.signals).toEqual([{ kind: 'probe_failed', cooldownMs }]);
      expect(health).toEqual({
        ...UNHEALTHY,
        consecutiveFailures: 11 + i,
        cooldownMs,
        nextProbeAtMs: nowMs + cooldownMs,
        lastFailureAtMs: nowMs,
      });
    }
  });

  test.each(['probe', 'test', 'decision', 'manual'] as const)(
    'An unhealthy endpoint is healed by a successful %s',
    (trigger) => {
      for (const health of [UNHEALTHY, PROBING]) {
        expect(succeed(health, NOW_MS + 20_000, trigger)).toEqual({
          health: { ...HEALTHY, lastSuccessAtMs: NOW_MS + 20_000, lastFailureAtMs: NOW_MS },
          signals: [{ kind: 'healed' }],
        });
      }
    },
  );

  test('An endpoint that becomes unhealthy again starts with 15 s again', () => {
    const long = fail(PROBING, NOW_MS, 'probe').health;
    let health = succeed(long).health;
    for (let i = 0; i < 10; i++) health = fail(health).health;
    expect(health).toMatchObject({ cooldownMs: 15_000, consecutiveFailures: 10 });
  });

  test.each(COUNTED)(
    'A late failure of trigger %s only updates the last failure of an unhealthy endpoint',
    (trigger) => {
      for (const health of [UNHEALTHY, PROBING]) {
        expect(fail(health, NOW_MS + 7, trigger)).toEqual({
          health: { ...health, lastFailureAtMs: NOW_MS + 7 },
          signals: [],
        });
      }
    },
  );

  test('A probe whose failure is reported twice lengthens the cool-down once', () => {
    const once = fail(PROBING, NOW_MS + 20_000, 'probe').health;
    expect(fail(once, NOW_MS + 20_001, 'probe')).toEqual({
      health: { ...once, lastFailureAtMs: NOW_MS + 20_001 },
      signals: [],
    });
  });

  test('An unhealthy endpoint is probed within minutes after the clock was set back by days', () => {
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS - 86_400_000)).toBe('probe');
    // A step of one second, for example by a time server, does not cause an early probe.
    expect(decideRoute({ health: UNHEALTHY }, NOW_MS - 1_000)).toBe('skip');
  });
});

describe('a test that fails', () => {
  test('A failed test changes nothing', () => {
    for (const health of [HEALTHY, failing(9), UNHEALTHY, PROBING]) {
      const change = fail(health, NOW_MS + 1, 'test');
      expect(change.health).toBe(health);
      expect(change.signals).toEqual([]);
    }
  });
});

describe("a delivery to an extraction job's own endpoint", () => {
  test("A delivery to an extraction job's own endpoint changes nothing, because that has no health", () => {
    expect(fail(UNHEALTHY, NOW_MS, 'extraction')).toEqual({ health: UNHEALTHY, signals: [] });
    expect(succeed(UNHEALTHY, NOW_MS, 'extraction')).toEqual({ health: UNHEALTHY, signals: [] });
  });
});

describe('a probe that was lost', () => {
  test('After a probe was lost, the next matching decision is sent as a probe, and the cool-down stays the same', () => {
    const health = probeLost(PROBING, NOW_MS + 60_000);
    expect(health).toEqual({ ...PROBING, nextProbeAtMs: NOW_MS + 60_000 });
    expect(decideRoute({ health: health }, NOW_MS + 60_000)).toBe('probe');
  });

  test('A lost probe changes nothing if no probe is out', () => {
    for (const health of [HEALTHY, failing(9), UNHEALTHY]) expect(probeLost(health, NOW_MS)).toBe(health);
  });
});

describe('mergeHealth', () => {
  const failingAt = (...times: readonly number[]): WebhookHealth => ({
    ...HEALTHY,
    consecutiveFailures: times.length,
    lastFailureAtMs: times.at(-1) ?? null,
  });
  const NONE = { own: [], theirs: [] };

  test('Failures that two nodes saw since the last success add up, also if both save at the same time', () => {
    const [one, other] = [
      [10, 12, 14, 16],
      [11, 13, 15, 17, 19],
    ];
    for (const [own, theirs] of [
      [one, other],
      [other, one],
    ] as const)
      expect(mergeHealth(failingAt(...own), failingAt(...theirs), { own, theirs })).toMatchObject({
        consecutiveFailures: 9,
        lastFailureAtMs: 19,
      });
  });

  test('Five failures on each of two nodes are ten in a row', () => {
    const [own, theirs] = [
      [10, 12, 14, 16, 18],
      [11, 13, 15, 17, 19],
    ];
    const merged = mergeHealth(failingAt(...own), failingAt(...theirs), { own, theirs });
    expect(merged).toMatchObject({ status: 'unhealthy', consecutiveFailures: 10, nextProbeAtMs: 15_019 });
    // A late save of failures before does not heal it.
    expect(mergeHealth(merged, failingAt(...theirs), { own: [], theirs })).toEqual(merged);
  });

  test('A success on one node ends the failures before it on all, and not those after it', () => {
    const healed: WebhookHealth = { ...failingAt(15), consecutiveFailures: 0, lastSuccessAtMs: 18 };
    const failing = failingAt(10, 12, 14, 20);
    const times = [10, 12, 14, 20];
    expect(mergeHealth(failing, healed, { own: times, theirs: [] })).toMatchObject({ consecutiveFailures: 1 });
    expect(mergeHealth(healed, failing, { own: [], theirs: times })).toMatchObject({ consecutiveFailures: 1 });
  });

  test('A webhook that is unhealthy on one node is so on all, and a success heals it on all', () => {
    const unhealthy: WebhookHealth = {
      ...failingAt(60),
      consecutiveFailures: 10,
      status: 'unhealthy',
      unhealthySinceMs: 60,
      cooldownMs: 15_000,
      nextProbeAtMs: 15_060,
    };
    expect(mergeHealth(failingAt(20), unhealthy, NONE)).toEqual(unhealthy);
    const healed: WebhookHealth = { ...HEALTHY, lastSuccessAtMs: 70 };
    expect(mergeHealth(unhealthy, healed, NONE)).toEqual({ ...healed, lastFailureAtMs: 60 });
    expect(mergeHealth(healed, unhealthy, NONE)).toEqual({ ...healed, lastFailureAtMs: 60 });
  });
});
