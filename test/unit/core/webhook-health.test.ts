import { describe, expect, test } from 'vitest';
import type { DeliveryTrigger, WebhookHealth } from '../../../src/core/webhook.ts';
import {
  applyDelivery,
  decideRoute,
  HEALTHY,
  probeLost,
  probeSent,
  type HealthSignal,
} from '../../../src/core/webhook-health.ts';

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
  test('gets every matching decision', () => {
    expect(decideRoute(HEALTHY, NOW_MS)).toBe('deliver');
    expect(decideRoute(failing(9), NOW_MS)).toBe('deliver');
    expect(probeSent(HEALTHY)).toBe(HEALTHY);
  });

  test.each(COUNTED)('warns at 5, 7 and 9 failures and is unhealthy at 10, by deliveries of trigger %s', (trigger) => {
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
  });

  test('starts counting anew after a success, without a signal', () => {
    const { health, signals } = succeed(failing(9), NOW_MS + 5);
    expect(signals).toEqual([]);
    expect(health).toEqual({ ...HEALTHY, lastSuccessAtMs: NOW_MS + 5, lastFailureAtMs: NOW_MS });
    expect(fail(health).health).toMatchObject({ status: 'healthy', consecutiveFailures: 1 });
  });

  test('counts a probe that fails after something else has healed it', () => {
    const healed = succeed(PROBING).health;
    expect(fail(healed, NOW_MS, 'probe').health).toMatchObject({ status: 'healthy', consecutiveFailures: 1 });
  });
});

describe('an unhealthy endpoint', () => {
  test('is skipped until its cool-down is over; then the next decision is a probe', () => {
    expect(decideRoute(UNHEALTHY, NOW_MS)).toBe('skip');
    expect(decideRoute(UNHEALTHY, NOW_MS + 14_999)).toBe('skip');
    expect(decideRoute(UNHEALTHY, NOW_MS + 15_000)).toBe('probe');
    expect(decideRoute(UNHEALTHY, NOW_MS + 86_400_000)).toBe('probe');
  });

  test('is skipped while its probe is out, however long that takes', () => {
    expect(PROBING).toEqual({ ...UNHEALTHY, nextProbeAtMs: null });
    expect(decideRoute(PROBING, NOW_MS + 86_400_000)).toBe('skip');
  });

  test('waits 15, 30, 60 and then always 60 s, from the end of the probe that failed', () => {
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

  test.each(['probe', 'test', 'decision', 'manual'] as const)('is healed by a %s that succeeds', (trigger) => {
    for (const health of [UNHEALTHY, PROBING]) {
      expect(succeed(health, NOW_MS + 20_000, trigger)).toEqual({
        health: { ...HEALTHY, lastSuccessAtMs: NOW_MS + 20_000, lastFailureAtMs: NOW_MS },
        signals: [{ kind: 'healed' }],
      });
    }
  });

  test('begins with 15 s again when it becomes unhealthy another time', () => {
    const long = fail(PROBING, NOW_MS, 'probe').health;
    let health = succeed(long).health;
    for (let i = 0; i < 10; i++) health = fail(health).health;
    expect(health).toMatchObject({ cooldownMs: 15_000, consecutiveFailures: 10 });
  });

  test.each(COUNTED)('has but its last failure moved by a late failure of trigger %s', (trigger) => {
    for (const health of [UNHEALTHY, PROBING]) {
      expect(fail(health, NOW_MS + 7, trigger)).toEqual({
        health: { ...health, lastFailureAtMs: NOW_MS + 7 },
        signals: [],
      });
    }
  });

  test('has its cool-down lengthened once by a probe whose failure is told twice', () => {
    const once = fail(PROBING, NOW_MS + 20_000, 'probe').health;
    expect(fail(once, NOW_MS + 20_001, 'probe')).toEqual({
      health: { ...once, lastFailureAtMs: NOW_MS + 20_001 },
      signals: [],
    });
  });

  test('is probed within minutes when the clock was put back by days', () => {
    expect(decideRoute(UNHEALTHY, NOW_MS - 86_400_000)).toBe('probe');
    // A step of a second, as of a time server, gives no probe away.
    expect(decideRoute(UNHEALTHY, NOW_MS - 1_000)).toBe('skip');
  });
});

describe('a test that fails', () => {
  test('changes nothing', () => {
    for (const health of [HEALTHY, failing(9), UNHEALTHY, PROBING]) {
      const change = fail(health, NOW_MS + 1, 'test');
      expect(change.health).toBe(health);
      expect(change.signals).toEqual([]);
    }
  });
});

describe("a delivery to an extraction job's own endpoint", () => {
  test('changes nothing, as that has no health', () => {
    expect(fail(UNHEALTHY, NOW_MS, 'extraction')).toEqual({ health: UNHEALTHY, signals: [] });
    expect(succeed(UNHEALTHY, NOW_MS, 'extraction')).toEqual({ health: UNHEALTHY, signals: [] });
  });
});

describe('a probe that was lost', () => {
  test('lets the next matching decision be the next one, with the same cool-down', () => {
    const health = probeLost(PROBING, NOW_MS + 60_000);
    expect(health).toEqual({ ...PROBING, nextProbeAtMs: NOW_MS + 60_000 });
    expect(decideRoute(health, NOW_MS + 60_000)).toBe('probe');
  });

  test('is none where no probe is out', () => {
    for (const health of [HEALTHY, failing(9), UNHEALTHY]) expect(probeLost(health, NOW_MS)).toBe(health);
  });
});
