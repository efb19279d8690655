import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WebhookHealth } from '../../src/work/webhook.ts';
import {
  applyDelivery,
  decideRoute,
  HEALTHY,
  probeLost,
  probeSent,
  type DeliveryRoute,
} from '../../src/work/webhook-health.ts';

const START_MS = Date.UTC(2026, 10, 21, 12);

type Trigger = 'decision' | 'probe' | 'test' | 'manual';

/** An event that concerns one endpoint. */
type Happening =
  | { readonly kind: 'wait'; readonly ms: number }
  /** A matching decision; the health determines what it becomes. */
  | { readonly kind: 'decision' }
  | { readonly kind: 'send'; readonly trigger: 'test' | 'manual' }
  /** One delivery in flight ends. */
  | { readonly kind: 'end'; readonly which: number; readonly result: 'succeeded' | 'failed' }
  /** The process is killed and started again; the results of deliveries in flight are lost. */
  | { readonly kind: 'restart' };

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(fc.nat(70_000), fc.constantFrom(0, 1, 14_999, 15_000, 15_001, 30_000, 60_000)),
    }),
  },
  { weight: 12, arbitrary: fc.constant({ kind: 'decision' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('send' as const), trigger: fc.constantFrom('test', 'manual') }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(1_000),
      // Mostly failures, so that ten in a row are frequent.
      result: fc.constantFrom('failed', 'failed', 'failed', 'failed', 'failed', 'failed', 'failed', 'succeeded'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
);

/** The reference: one endpoint as a state machine with its own states, written from the contract. */
class Model {
  mode: 'up' | 'cooling' | 'probing' = 'up';
  streak = 0;
  sinceMs: number | null = null;
  /** Number of failed half-open trials since it became unhealthy. */
  probesFailed = 0;
  readyAtMs = 0;
  lastSuccessMs: number | null = null;
  lastFailureMs: number | null = null;

  get coolMs(): number {
    return [15_000, 30_000][this.probesFailed] ?? 60_000;
  }

  route(nowMs: number): DeliveryRoute {
    if (this.mode === 'up') return 'deliver';
    return this.mode === 'cooling' && nowMs >= this.readyAtMs ? 'probe' : 'skip';
  }

  /** Returns the expected signals. */
  ended(trigger: Trigger, isGood: boolean, nowMs: number): string[] {
    if (isGood) {
      const signals = this.mode === 'up' ? [] : ['healed'];
      this.mode = 'up';
      this.streak = 0;
      this.sinceMs = null;
      this.lastSuccessMs = nowMs;
      return signals;
    }
    if (trigger === 'test') return [];
    this.lastFailureMs = nowMs;
    if (this.mode === 'up') {
      this.streak += 1;
      if (this.streak < 10) return [5, 7, 9].includes(this.streak) ? ['warning'] : [];
      this.sinceMs = nowMs;
      this.probesFailed = 0;
      this.coolDown(nowMs);
      return ['unhealthy'];
    }
    if (this.mode !== 'probing' || trigger !== 'probe') return [];
    this.streak += 1;
    this.probesFailed += 1;
    this.coolDown(nowMs);
    return ['probe_failed'];
  }

  coolDown(nowMs: number): void {
    this.mode = 'cooling';
    this.readyAtMs = nowMs + this.coolMs;
  }

  /** The expected health. */
  health(): WebhookHealth {
    return {
      status: this.mode === 'up' ? 'healthy' : 'unhealthy',
      consecutiveFailures: this.streak,
      unhealthySinceMs: this.sinceMs,
      cooldownMs: this.mode === 'up' ? 0 : this.coolMs,
      nextProbeAtMs: this.mode === 'cooling' ? this.readyAtMs : null,
      lastSuccessAtMs: this.lastSuccessMs,
      lastFailureAtMs: this.lastFailureMs,
    };
  }
}

/** The tracker and the model on one virtual clock, with the deliveries in flight. */
interface Run {
  readonly model: Model;
  readonly inFlight: Trigger[];
  health: WebhookHealth;
  nowMs: number;
  probes: number;
  /** Time at which it became unhealthy, or its last trial failed; the next trial must wait for the cool-down from there. */
  coolingSinceMs: number;
}

function newRun(): Run {
  const coolingSinceMs = Number.NEGATIVE_INFINITY;
  return { model: new Model(), inFlight: [], health: HEALTHY, nowMs: START_MS, probes: 0, coolingSinceMs };
}

function step(run: Run, what: Happening): void {
  switch (what.kind) {
    case 'wait':
      run.nowMs += what.ms;
      break;
    case 'send':
      run.inFlight.push(what.trigger);
      break;
    case 'decision':
      decide(run);
      break;
    case 'end':
      end(run, what.which, what.result);
      break;
    case 'restart':
      restart(run);
  }
  expect(run.health).toEqual(run.model.health());
}

function decide(run: Run): void {
  const route = decideRoute({ health: run.health }, run.nowMs);
  expect(route).toBe(run.model.route(run.nowMs));
  if (route === 'deliver') run.inFlight.push('decision');
  if (route !== 'probe') return;
  expect(run.nowMs - run.coolingSinceMs).toBeGreaterThanOrEqual(run.health.cooldownMs);
  run.health = probeSent(run.health);
  run.model.mode = 'probing';
  run.inFlight.push('probe');
  run.probes += 1;
}

function end(run: Run, which: number, result: 'succeeded' | 'failed'): void {
  const trigger = run.inFlight.splice(which % Math.max(1, run.inFlight.length), 1)[0];
  if (trigger === undefined) return;
  const { health, signals } = applyDelivery(run.health, { result, trigger }, run.nowMs);
  run.health = health;
  const kinds = run.model.ended(trigger, result === 'succeeded', run.nowMs);
  expect(signals.map(({ kind }) => kind)).toEqual(kinds);
  if (result === 'succeeded') expect(health.status).toBe('healthy');
  if (kinds.includes('unhealthy') || kinds.includes('probe_failed')) run.coolingSinceMs = run.nowMs;
}

function restart(run: Run): void {
  run.inFlight.length = 0;
  run.health = probeLost(run.health, run.nowMs);
  if (run.model.mode !== 'probing') return;
  run.model.mode = 'cooling';
  run.model.readyAtMs = run.nowMs;
}

describe('the health of an endpoint', () => {
  test('The health of an endpoint follows the contract for all events and all orders of ended deliveries', () => {
    let unhealthyRuns = 0;
    let probes = 0;
    fc.assert(
      fc.property(fc.array(happening, { minLength: 60, maxLength: 250 }), (happenings) => {
        const run = newRun();
        for (const what of happenings) step(run, what);
        if (run.probes > 1) unhealthyRuns += 1;
        probes += run.probes;
      }),
      { numRuns: 400, seed: 20_261_121 },
    );
    // Checks that the runs reach the interesting states.
    expect(unhealthyRuns).toBeGreaterThan(50);
    expect(probes).toBeGreaterThan(300);
  });

  test('An endpoint never has two half-open trials in flight when each ends within 5 s', () => {
    let probes = 0;
    fc.assert(
      fc.property(fc.array(happening, { minLength: 60, maxLength: 250 }), (happenings) => {
        const run = newRun();
        let sentAtMs = START_MS;
        for (const what of happenings) {
          const at = run.inFlight.indexOf('probe');
          const untilMs = run.nowMs + (what.kind === 'wait' ? what.ms : 0);
          if (at !== -1 && untilMs >= sentAtMs + 5_000) step(run, { kind: 'end', which: at, result: 'failed' });
          const before = run.probes;
          step(run, what);
          if (run.probes > before) sentAtMs = run.nowMs;
          expect(run.inFlight.filter((trigger) => trigger === 'probe').length).toBeLessThanOrEqual(1);
        }
        probes += run.probes;
      }),
      { numRuns: 200, seed: 20_261_121 },
    );
    expect(probes).toBeGreaterThan(150);
  });

  test('An endpoint is unhealthy exactly when the last 10 counted deliveries have failed', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.nat(9).map((n) => n > 0),
          { maxLength: 80 },
        ),
        (failures) => {
          let health = HEALTHY;
          for (const [i, isFailed] of failures.entries()) {
            const before = failures.slice(0, i + 1);
            health = applyDelivery(
              health,
              { result: isFailed ? 'failed' : 'succeeded', trigger: 'decision' },
              START_MS + i,
            ).health;
            const inARow = before.length - 1 - before.lastIndexOf(false);
            expect(health.status).toBe(inARow >= 10 ? 'unhealthy' : 'healthy');
          }
        },
      ),
      { numRuns: 500, seed: 20_261_121 },
    );
  });
});
