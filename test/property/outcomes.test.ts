import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OUTCOMES, type Outcome } from '../../src/risk/event-outcome.ts';
import type { HistoryEvent, HistoryFacts } from '../../src/risk/history.ts';
import { timesInFull } from '../support/long.ts';
import { DAY, HOUR, MINUTE, networksOf, users, World } from '../unit/velocity/events.ts';

/**
 * The last outcome of a request counts: whatever was reported before it, and whatever the request itself said, the history afterwards is
 * the same as if only the last outcome had been reported.
 */
type Fields = Partial<HistoryEvent>;

/** Accuracies that a trace stores exactly. */
const HOME: Fields = {
  device: 'phone',
  agentHash: 10,
  exactAgentHash: 1_000,
  networks: networksOf('81.2.69.160'),
  country: 'DE',
  place: { latitude: 52.52, longitude: 13.4, accuracyKm: 15 },
};
const AWAY: Fields = {
  device: 'laptop',
  agentHash: 20,
  exactAgentHash: 2_000,
  networks: networksOf('91.7.7.7'),
  country: 'PT',
  place: { latitude: 38.72, longitude: -9.14, accuracyKm: 63 },
};
const WIRE: readonly (Outcome | null)[] = [null, ...OUTCOMES];

const scenario = fc.record({
  /** Sessions of the owner, a day apart. */
  sessions: fc.constantFrom(0, 1, 2, 10),
  /** The event was preceded by an own visit in the same context, this long ago. */
  seenBefore: fc.constantFrom(0, HOUR, 30 * HOUR),
  eventType: fc.constantFrom('login', 'login', 'payment', 'checkout'),
  /** Which of its attributes differ from home. */
  away: fc.subarray(Object.keys(AWAY) as (keyof HistoryEvent)[]),
  entities: fc.constantFrom(users('u1'), [...users('u1'), { name: 'email', value: 'u1@b.example' }]),
  /** Outcome in the request, outcomes reported one after the other, and the waits before them. */
  told: fc.constantFrom(...WIRE),
  reported: fc.array(fc.constantFrom(...OUTCOMES), { minLength: 1, maxLength: 3 }),
  wait: fc.constantFrom(0, 9_000, 40 * MINUTE),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Returns what later events of the owner and of somebody elsewhere find. */
function historyAfter(one: Scenario, told: Outcome | null, reported: readonly Outcome[]): readonly unknown[] {
  const world = new World();
  const { entities, eventType } = one;
  const own = { ...HOME, ...Object.fromEntries(one.away.map((name) => [name, AWAY[name]])), entities };
  for (let n = 0; n < one.sessions; n++)
    world.wait(DAY).see({ ...HOME, entities, eventType: 'login', sessionId: `home-${n}`, outcome: 'succeeded' });
  world.wait(HOUR);
  if (one.seenBefore > 0) {
    world.see({ ...own, eventType: 'login', sessionId: 'earlier' });
    world.wait(one.seenBefore);
  }
  const { trace } = world.see({ ...own, eventType, sessionId: 'now', outcome: told });
  if (trace === null) throw new Error('the event has no trace');
  const bytes = Uint8Array.from(trace.bytes.subarray(0, trace.length));
  const occurredAtMs = world.nowMs;
  world.wait(one.wait);
  let before = told;
  for (const outcome of reported) {
    const { customer, publicKey } = world.event();
    const { nowMs } = world;
    world.velocity.settle({ customer, publicKey, trace: bytes, occurredAtMs, nowMs, before, outcome });
    before = outcome;
  }
  const probe = (fields: Fields, n: number): unknown =>
    shown(world.wait(2 * MINUTE).see({ ...fields, entities, eventType, sessionId: `later-${n}` }));
  const soon = [own, HOME, AWAY].map(probe);
  world.wait(25 * HOUR);
  return [...soon, ...[AWAY, own, HOME].map((fields, n) => probe(fields, 3 + n))];
}

/** Everything but the networks of a surge, which stay until its window is over. */
function shown({ trace, surge, crowd, ...facts }: HistoryFacts): unknown {
  return { ...facts, hasTrace: trace !== null, badShare10m: surge?.badShare10m, crowd };
}

describe('outcomes', () => {
  test.each(OUTCOMES.flatMap((first) => OUTCOMES.map((last) => [first, last] as const)))(
    'After %s and then %s the history is that of the second outcome alone',
    (first, last) => {
      const reported = first === last ? [last] : [first, last];
      for (const eventType of ['login', 'payment'] as const)
        for (const away of [[], Object.keys(AWAY) as (keyof HistoryEvent)[]])
          for (const sessions of [0, 1, 10] as const) {
            const one: Scenario = {
              sessions,
              seenBefore: 0,
              eventType,
              away,
              entities: users('u1'),
              told: null,
              reported,
              wait: 9_000,
            };
            const alone = historyAfter(one, null, [last]);
            expect(historyAfter(one, null, reported)).toEqual(alone);
            expect(historyAfter(one, first, [last])).toEqual(alone);
          }
    },
  );

  test('The last outcome alone decides what is known afterwards, whatever came before it', () => {
    fc.assert(
      fc.property(scenario, (one) => {
        const reported = one.reported.filter((outcome, n) => outcome !== (one.reported[n - 1] ?? one.told));
        const last = reported.at(-1) ?? one.told;
        expect(historyAfter(one, one.told, reported)).toEqual(historyAfter(one, null, last === null ? [] : [last]));
      }),
      { numRuns: timesInFull(300) },
    );
  });
});
