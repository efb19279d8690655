import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { OutcomeMemory, SettledEvent, Velocity } from '../../src/ports/velocity.ts';
import type { Outcome } from '../../src/risk/event-outcome.ts';
import { COUNTER_KINDS, type HistoryEvent, type HistoryFacts } from '../../src/risk/history.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { HAS_REDIS } from '../support/redis.ts';
import { useStoreLink } from '../support/store-links.ts';
import { emptySpaceOf, openVelocityNode } from '../support/velocity-nodes.ts';
import { BERLIN, event, HASH_KEY, HOUR, LISBON, MINUTE, networksOf, NOW_MS, SECOND } from '../unit/velocity/events.ts';

const store = useStoreLink();

const anyEvent: fc.Arbitrary<Partial<HistoryEvent>> = fc
  .record({
    eventType: fc.constantFrom('search', 'login', 'login', 'signup', 'payment', 'checkout'),
    session: fc.nat(5),
    host: fc.nat(5),
    user: fc.nat(5),
    device: fc.integer({ min: -1, max: 3 }),
    browser: fc.integer({ min: -1, max: 3 }),
    customer: fc.constantFrom(7, 7, 8, 71),
    publicKey: fc.constantFrom(false, false, true),
    country: fc.constantFrom(null, 'DE', 'FR', 'PT'),
    place: fc.constantFrom(null, BERLIN, LISBON),
    outcome: fc.constantFrom<Outcome | null>(null, null, null, 'failed', 'succeeded', 'declined'),
    seq: fc.integer({ min: -1, max: 4 }),
    mailed: fc.boolean(),
  })
  .map(({ session, host, user, device, browser, customer, seq, mailed, ...fields }) => ({
    ...fields,
    sessionId: `session-${session}`,
    networks: networksOf(`81.${host % 2}.${host}.7`),
    entities: [
      { name: 'user_id', value: `user-${user}` },
      { name: 'email', value: `user-${user}@mail.example` },
    ],
    mail: mailed
      ? { spelling: `User-${user}@mail.example`, canonical: `user-${user}@mail.example`, registrable: 'mail.example' }
      : null,
    device: device < 0 ? null : `device-${device}`,
    browser: device < 0 || browser < 0 ? null : `browser-${browser}`,
    customer: customer as CustomerNumber,
    grant: seq < 0 ? null : { nonceLow: session, nonceHigh: 7, seq },
    counters: COUNTER_KINDS.map((kind, id) => ({
      id,
      kind,
      window: '24h' as const,
      subject: `user-${user}`,
      counts: session > 0,
      member: kind === 'distinct' ? `session-${session}` : '',
      value: kind === 'sum' ? session / 4 : 0,
    })),
  }));

/** One call at one of several instances. */
const anyStep = fc.record({
  at: fc.nat(3),
  events: fc.array(anyEvent, { minLength: 1, maxLength: 8 }),
  waitsMs: fc.constantFrom(0, 0, 100, SECOND, 20 * SECOND, MINUTE, 10 * MINUTE, HOUR),
  /** Reports this outcome for one of the decisions so far. */
  settles: fc.option(fc.record({ decision: fc.nat(), outcome: fc.constantFrom<Outcome>('failed', 'succeeded') })),
});

type Subject = Velocity & OutcomeMemory;

/** What rules read, and a copy of the trace. */
async function observed(velocity: Subject, events: readonly HistoryEvent[]) {
  const facts: readonly (HistoryFacts | null)[] = await velocity.observe(events);
  return facts.map((one) => {
    if (one === null) return null;
    const { trace, ...read } = one;
    return {
      ...structuredClone(read),
      trace: trace === null ? null : Buffer.from(trace.bytes.subarray(0, trace.length)),
    };
  });
}

describe.runIf(HAS_REDIS)('several nodes', () => {
  test('Facts are exactly those of one table that gets all events and outcomes in the order of the streams', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
        const space = emptySpaceOf(store.link);
        const nodes = [openVelocityNode(space), openVelocityNode(space), openVelocityNode(space)];
        const subjects = [...nodes, nodes[0]].map((node) => node?.worker());
        const single = new LocalVelocity(createVelocityMemory(2 ** 20, HASH_KEY));
        const decisions: SettledEvent[] = [];
        let nowMs = NOW_MS;
        for (const { at, events: fields, waitsMs, settles } of steps) {
          const subject = subjects[at];
          if (subject === undefined) throw new Error('no instance');
          nowMs += waitsMs;
          const events = fields.map((one) => event({ ...one, nowMs }));
          const expected = await observed(single, events);
          expect(await observed(subject, events)).toEqual(expected);
          for (const [n, facts] of expected.entries()) {
            const of = events[n];
            if (facts === null || facts.trace === null || of === undefined) continue;
            const { customer, publicKey, outcome: before } = of;
            decisions.push({
              customer,
              publicKey,
              trace: facts.trace,
              occurredAtMs: nowMs,
              nowMs,
              before,
              outcome: 'failed',
            });
          }
          if (settles === null || decisions.length === 0) continue;
          const index = settles.decision % decisions.length;
          const decision = decisions[index];
          if (decision === undefined || decision.before === settles.outcome) continue;
          const settled = { ...decision, nowMs, outcome: settles.outcome };
          // A node counts an outcome at once, whatever its background reader has not read yet: up to 50 ms of other nodes' events.
          await (nodes[at] ?? nodes[0])?.reader().catchUp(5_000);
          single.settle(settled);
          await subject.settle(settled);
          decisions[index] = { ...decision, before: settles.outcome };
        }
        expect(
          nodes.map(({ marks }) => [marks.count('alone'), marks.count('gaps'), marks.count('unreadable')]),
        ).toEqual(nodes.map(() => [0, 0, 0]));
      }),
      { numRuns: 60 },
    );
  });

  test('Clocks that differ by up to 5 s change no count: events of the node ahead count as events of this moment', async () => {
    const skews = fc.tuple(fc.integer({ min: -5_000, max: 5_000 }), fc.integer({ min: 0, max: 5_000 }));
    const gaps = fc.array(fc.record({ at: fc.nat(1), gapMs: fc.nat(4_000) }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(skews, gaps, async ([skew, spread], steps) => {
        const space = emptySpaceOf(store.link);
        const workers = [openVelocityNode(space).worker(), openVelocityNode(space).worker()];
        // The clocks differ by 5 s at most.
        const aheadMs = [skew / 2, skew < 0 ? skew / 2 + Math.min(spread, -skew) : skew / 2 - Math.min(spread, skew)];
        let nowMs = NOW_MS;
        for (const [n, { at, gapMs }] of steps.entries()) {
          nowMs += gapMs;
          const ownMs = Math.floor(nowMs + (aheadMs[at] ?? 0));
          const [facts] = (await workers[at]?.observe([event({ nowMs: ownMs, eventType: 'payment' })])) ?? [];
          const entity = facts?.entities[0];
          expect([facts?.session.decisions1m, facts?.ip?.decisions1m, entity?.decisions1m]).toEqual([
            n + 1,
            n + 1,
            n + 1,
          ]);
          expect([facts?.session.payments1h, entity?.payments1h, entity?.networks1h]).toEqual([n + 1, n + 1, 1]);
        }
      }),
      { numRuns: 60 },
    );
  });
});
