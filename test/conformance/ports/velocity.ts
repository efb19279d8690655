import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { OutcomeMemory, Velocity } from '../../../src/ports/velocity.ts';
import type { Outcome } from '../../../src/risk/event-outcome.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import { DAY, event, HOUR, MINUTE, networksOf, NOW_MS, SECOND, users } from '../../unit/velocity/events.ts';

/** One instance over a store, as a score worker has it. Time is that of the events. */
export type VelocitySubject = Velocity & OutcomeMemory;

export interface VelocityFactory {
  /** Opens an empty store. The function returns an instance over it at each call. */
  readonly open: () => (() => VelocitySubject) | Promise<() => VelocitySubject>;
  /** Opens a store that cannot count anything at the time of `NOW_MS`: it cannot be reached, or others use all of it. */
  readonly openUnavailable: () => VelocitySubject | Promise<VelocitySubject>;
}

/** Up to this number of events in a window are counted exactly. */
const EXACT_EVENTS = 12;

async function see(velocity: Velocity, fields: Partial<HistoryEvent> = {}): Promise<HistoryFacts> {
  const [facts] = await velocity.observe([event(fields)]);
  if (facts === null || facts === undefined) throw new Error('the event was lost');
  return facts;
}

function entityOf({ entities }: HistoryFacts) {
  const [entity] = entities;
  if (entity === undefined) throw new Error('the event has no entity');
  return entity;
}

/** What rules read. The trace is opaque, and valid only until the next batch. */
function readable(facts: readonly (HistoryFacts | null)[]): unknown[] {
  return facts.map((one) => {
    if (one === null) return null;
    const { trace: _trace, ...read } = one;
    return structuredClone(read);
  });
}

/** Tests what `src/ports/velocity.ts` and `src/risk/history.ts` promise. */
export function describeVelocity(adapter: string, factory: VelocityFactory): void {
  const open = async (): Promise<VelocitySubject> => (await factory.open())();
  describe(`the velocity store, ${adapter}`, () => {
    testBatches(open);
    testCounts(open);
    testDistinct(open);
    testScopes(open);
    testSessions(open);
    testOutcomes(open);
    testInstances(factory);
    testUnavailable(factory);
  });
}

type Open = () => Promise<VelocitySubject>;

const anyEvent = fc
  .record({
    eventType: fc.constantFrom('search', 'login', 'signup', 'payment', 'checkout'),
    session: fc.nat(4),
    host: fc.nat(5),
    user: fc.nat(4),
    device: fc.integer({ min: -1, max: 3 }),
    customer: fc.constantFrom(7, 7, 8),
    publicKey: fc.constantFrom(false, false, true),
    country: fc.constantFrom(null, 'DE', 'FR', 'PT'),
    outcome: fc.constantFrom<Outcome | null>(null, null, 'failed', 'succeeded'),
    waitsMs: fc.constantFrom(0, 0, 100, SECOND, 20 * SECOND, MINUTE, 10 * MINUTE, HOUR),
  })
  .map(({ session, host, user, device, customer, ...fields }) => ({
    ...fields,
    sessionId: `session-${session}`,
    networks: networksOf(`81.${host % 2}.${host}.7`),
    entities: users(`user-${user}`),
    device: device < 0 ? null : `device-${device}`,
    customer: customer as CustomerNumber,
  }));

function testBatches(open: Open): void {
  test('A batch gets one history for each event, in the same order, and each counts the events before it', async () => {
    const velocity = await open();
    const sessions = ['a', 'b', 'a', 'a', 'b'];
    const facts = await velocity.observe(sessions.map((sessionId) => event({ sessionId })));
    expect(facts.map((one) => one?.session.decisions1m)).toEqual([1, 1, 2, 3, 2]);
    expect(facts.map((one) => one?.ip?.decisions1m)).toEqual([1, 2, 3, 4, 5]);
    expect(await velocity.observe([])).toEqual([]);
  });

  test('Histories are the same in whatever batches the events come', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 32 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 60 }), sizes, async (all, split) => {
        const [single, batched] = [await open(), await open()];
        let nowMs = NOW_MS;
        const events = all.map(({ waitsMs, ...fields }) => {
          nowMs += waitsMs;
          return event({ ...fields, nowMs });
        });
        const expected: unknown[] = [];
        for (const one of events) expected.push(...readable(await single.observe([one])));
        const given: unknown[] = [];
        let from = 0;
        for (const size of [...split, events.length]) {
          given.push(...readable(await batched.observe(events.slice(from, from + size))));
          from += size;
        }
        expect(given).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
}

interface Counted {
  readonly name: string;
  readonly windowMs: number;
  readonly fields: Partial<HistoryEvent>;
  readonly read: (facts: HistoryFacts) => number | undefined;
}

const COUNTED: readonly Counted[] = [
  { name: 'decisions of a session', windowMs: MINUTE, fields: {}, read: ({ session }) => session.decisions1m },
  {
    name: 'payments of a session',
    windowMs: HOUR,
    fields: { eventType: 'payment' },
    read: ({ session }) => session.payments1h,
  },
  { name: 'decisions of an address', windowMs: MINUTE, fields: {}, read: ({ ip }) => ip?.decisions1m },
  { name: 'sign-ups of an address', windowMs: DAY, fields: { eventType: 'signup' }, read: ({ ip }) => ip?.signups24h },
  { name: 'decisions of an entity', windowMs: MINUTE, fields: {}, read: (facts) => entityOf(facts).decisions1m },
  {
    name: 'payments of an entity',
    windowMs: HOUR,
    fields: { eventType: 'payment' },
    read: (facts) => entityOf(facts).payments1h,
  },
];

function testCounts(open: Open): void {
  test.each(COUNTED)(
    'The $name are counted exactly in a sliding window, this one included',
    async ({ windowMs, fields, read }) => {
      // In hundredths of the window, so that the oldest event leaves it at various moments.
      const gaps = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(gaps, async (hundredths) => {
          const velocity = await open();
          const times: number[] = [];
          let nowMs = NOW_MS;
          for (const gap of hundredths) {
            nowMs += (gap * windowMs) / 100;
            times.push(nowMs);
            const expected = times.filter((time) => nowMs - time < windowMs).length;
            if (expected > EXACT_EVENTS) break;
            expect(read(await see(velocity, { ...fields, nowMs }))).toBe(expected);
          }
        }),
        { numRuns: 30 },
      );
    },
  );

  test('An event counts until its window has passed and not longer', async () => {
    const velocity = await open();
    await see(velocity);
    expect((await see(velocity, { nowMs: NOW_MS + MINUTE - 10 })).session.decisions1m).toBe(2);
    expect((await see(velocity, { nowMs: NOW_MS + MINUTE })).session.decisions1m).toBe(2);
    expect((await see(velocity, { nowMs: NOW_MS + 3 * MINUTE })).session.decisions1m).toBe(1);
  });

  test('More events than are counted exactly are never counted as fewer than in eight ninths of the window', async () => {
    const velocity = await open();
    const times: number[] = [];
    for (let n = 0; n < 300; n++) {
      const nowMs = NOW_MS + n * 700;
      times.push(nowMs);
      const within = (ms: number): number => times.filter((time) => nowMs - time < ms).length;
      const { decisions1m } = (await see(velocity, { nowMs })).session;
      expect(decisions1m).toBeGreaterThanOrEqual(within((MINUTE * 8) / 9));
      expect(decisions1m).toBeLessThanOrEqual(within((MINUTE * 10) / 9));
    }
  });
}

interface Distinct {
  readonly name: string;
  readonly windowMs: number;
  readonly fieldsOf: (member: number) => Partial<HistoryEvent>;
  readonly read: (facts: HistoryFacts) => number | undefined;
}

const DISTINCT: readonly Distinct[] = [
  {
    name: 'networks of an entity',
    windowMs: HOUR,
    fieldsOf: (n) => ({ networks: networksOf(`81.2.${n}.7`) }),
    read: (facts) => entityOf(facts).networks1h,
  },
  {
    name: 'devices of an entity',
    windowMs: DAY,
    fieldsOf: (n) => ({ device: `device-${n}` }),
    read: (facts) => entityOf(facts).devices24h,
  },
  {
    name: 'entities of a device',
    windowMs: DAY,
    fieldsOf: (n) => ({ entities: users(`user-${n}`) }),
    read: ({ device }) => device?.entities24h,
  },
  {
    name: 'networks of a session in /16',
    windowMs: HOUR,
    fieldsOf: (n) => ({ networks: networksOf(`81.${n}.2.7`) }),
    read: ({ session }) => session.regions1h,
  },
];

function testDistinct(open: Open): void {
  test.each(DISTINCT)(
    'The distinct $name are counted exactly while there are few, however often each occurs',
    async ({ windowMs, fieldsOf, read }) => {
      const step = fc.record({ member: fc.nat(9), percent: fc.integer({ min: 0, max: 30 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
          const velocity = await open();
          const seen: { readonly member: number; readonly atMs: number }[] = [];
          let nowMs = NOW_MS;
          for (const { member, percent } of steps) {
            nowMs += (percent * windowMs) / 100;
            seen.push({ member, atMs: nowMs });
            const within = (ms: number): number =>
              new Set(seen.filter(({ atMs }) => nowMs - atMs < ms).map((one) => one.member)).size;
            const given = read(await see(velocity, { ...fieldsOf(member), nowMs }));
            // A window may end early by up to 45 s.
            expect(given).toBeGreaterThanOrEqual(within(windowMs - 45 * SECOND));
            expect(given).toBeLessThanOrEqual(within(windowMs));
          }
        }),
        { numRuns: 30 },
      );
    },
  );
}

function testScopes(open: Open): void {
  test('Customers, and public and secret keys of one customer, are counted separately', async () => {
    const velocity = await open();
    const scopes = [
      { customer: 7 as CustomerNumber, publicKey: false },
      { customer: 7 as CustomerNumber, publicKey: true },
      { customer: 8 as CustomerNumber, publicKey: false },
    ];
    for (let n = 1; n <= 4; n++) {
      for (const scope of scopes) {
        const facts = await see(velocity, { ...scope, eventType: 'login' });
        expect([facts.session.decisions1m, facts.ip?.decisions1m, entityOf(facts).decisions1m]).toEqual([n, n, n]);
        expect([facts.device?.entities24h, entityOf(facts).networks1h]).toEqual([1, 1]);
      }
    }
  });

  test('An event without an address, an entity or a fingerprint has no history of them, and the others count', async () => {
    const velocity = await open();
    await see(velocity);
    const facts = await see(velocity, { networks: null, entities: [], device: null });
    expect([facts.ip, facts.entities, facts.device]).toEqual([null, [], null]);
    expect(facts.session.decisions1m).toBe(2);
    expect((await see(velocity)).ip?.decisions1m).toBe(2);
  });

  test('Entities have their histories in the order of the event', async () => {
    const velocity = await open();
    const entities = ['u1', 'u2', 'u3'].map((value, n) => ({ name: `key${n}`, value }));
    await see(velocity, { entities: entities.slice(1, 2) });
    const facts = await see(velocity, { entities });
    expect(facts.entities.map(({ name, decisions1m }) => [name, decisions1m])).toEqual([
      ['key0', 1],
      ['key1', 2],
      ['key2', 1],
    ]);
  });
}

function testSessions(open: Open): void {
  test('A session knows its age, its previous country and whether its network changed', async () => {
    const velocity = await open();
    const first = await see(velocity);
    expect(first.session).toMatchObject({ isFirstEvent: true, ageMs: 0, previousCountry: null, networkChanged: false });
    const nowMs = NOW_MS + 10 * SECOND;
    const second = await see(velocity, { nowMs, networks: networksOf('82.7.7.7'), country: 'PT' });
    expect(second.session).toMatchObject({ isFirstEvent: false, previousCountry: 'DE', networkChanged: true });
    expect(second.session.previousCountryAgeSeconds).toBe(10);
    expect(Math.abs(second.session.ageMs - 10 * SECOND)).toBeLessThanOrEqual(SECOND);
    const other = await see(velocity, { nowMs, sessionId: 'another' });
    expect(other.session.isFirstEvent).toBe(true);
  });
}

/** A decision that an outcome can be reported for. */
async function decide(velocity: VelocitySubject, fields: Partial<HistoryEvent> = {}) {
  const facts = await see(velocity, { eventType: 'login', ...fields });
  const { trace } = facts;
  if (trace === null) throw new Error('the event has no trace');
  const copy = Uint8Array.from(trace.bytes.subarray(0, trace.length));
  const { customer, publicKey, nowMs: occurredAtMs } = event(fields);
  return {
    facts,
    settle(outcome: Outcome, before: Outcome | null = null, nowMs = occurredAtMs): void {
      void velocity.settle({ customer, publicKey, trace: copy, occurredAtMs, nowMs, before, outcome });
    },
  };
}

const logins = (facts: HistoryFacts): readonly unknown[] => [
  entityOf(facts).loginsFailed1h,
  facts.ip?.loginsFailed24h,
  facts.ip?.accountsSucceeded24h,
];

function testOutcomes(open: Open): void {
  test('An outcome in the event counts at once; one that is reported later counts from the next event on', async () => {
    const velocity = await open();
    expect(logins((await decide(velocity, { outcome: 'failed' })).facts)).toEqual([1, 1, 0]);
    const later = await decide(velocity);
    expect(logins(later.facts)).toEqual([1, 1, 0]);
    later.settle('failed');
    expect(logins((await decide(velocity)).facts)).toEqual([2, 2, 0]);
  });

  test('The last outcome of a decision replaces the previous one, and a repeated one counts once', async () => {
    const velocity = await open();
    const login = await decide(velocity);
    login.settle('failed');
    login.settle('failed', 'failed');
    expect(logins((await decide(velocity)).facts)).toEqual([1, 1, 0]);
    login.settle('succeeded', 'failed');
    expect(logins((await decide(velocity)).facts)).toEqual([0, 0, 1]);
    login.settle('failed', 'succeeded');
    expect(logins((await decide(velocity)).facts)).toEqual([1, 1, 0]);
  });

  test('An outcome counts at the time of its decision, however late it is reported', async () => {
    const velocity = await open();
    const login = await decide(velocity);
    const nowMs = NOW_MS + 2 * HOUR;
    login.settle('failed', null, nowMs);
    expect(logins((await decide(velocity, { nowMs })).facts)).toEqual([0, 1, 0]);
  });

  test('Outcomes of other customers and of public keys are counted separately', async () => {
    const velocity = await open();
    (await decide(velocity)).settle('failed');
    for (const scope of [{ customer: 8 as CustomerNumber }, { publicKey: true }])
      expect(logins((await decide(velocity, scope)).facts)).toEqual([0, 0, 0]);
  });

  test('Declined payments count for the session, the account and the address', async () => {
    const velocity = await open();
    for (const eventType of ['payment', 'checkout']) (await decide(velocity, { eventType })).settle('declined');
    (await decide(velocity, { eventType: 'payment' })).settle('succeeded');
    const { session, ip, ...facts } = (await decide(velocity, { eventType: 'payment' })).facts;
    expect([session.declined1h, session.paid1h, ip?.declined1h, ip?.paid1h]).toEqual([2, 1, 2, 1]);
    expect(facts.entities[0]?.declined1h).toBe(2);
  });

  test('An outcome with a trace that the store does not know changes nothing', async () => {
    const velocity = await open();
    await decide(velocity);
    for (const trace of [new Uint8Array(0), new Uint8Array(50), Uint8Array.of(0x11, 200)]) {
      void velocity.settle({
        customer: 7 as CustomerNumber,
        publicKey: false,
        trace,
        occurredAtMs: NOW_MS,
        nowMs: NOW_MS,
        before: null,
        outcome: 'failed',
      });
    }
    expect(logins((await decide(velocity)).facts)).toEqual([0, 0, 0]);
  });
}

function testInstances({ open }: VelocityFactory): void {
  test('Instances over one store count together, and an outcome that one receives shows at the others', async () => {
    const instance = await open();
    const [first, second] = [instance(), instance()];
    expect((await see(first)).session.decisions1m).toBe(1);
    expect((await see(second)).session.decisions1m).toBe(2);
    const login = await decide(first);
    expect(logins((await decide(second)).facts)).toEqual([0, 0, 0]);
    login.settle('failed');
    expect(logins((await decide(second)).facts)).toEqual([1, 1, 0]);
  });

  test.each<readonly [Outcome | null, readonly Outcome[], 'known' | 'new']>([
    [null, ['succeeded', 'challenge_passed'], 'known'],
    ['succeeded', ['challenge_passed'], 'known'],
    ['failed', ['challenge_passed'], 'known'],
    [null, ['challenge_passed', 'succeeded'], 'new'],
    ['challenge_passed', ['failed'], 'new'],
  ])('After outcome %s in the event and then %j a device is %s at all instances', async (told, reported, device) => {
    const instance = await open();
    const [first, second] = [instance(), instance()];
    const own = { eventType: 'login', sessionId: 'home' };
    await see(first, { ...own, nowMs: NOW_MS - DAY });
    const away = { networks: networksOf('91.7.7.7'), place: null, agentHash: 20, exactAgentHash: 20, device: 'other' };
    const login = await decide(first, { ...own, ...away, sessionId: 'away', outcome: told });
    let before = told;
    for (const outcome of reported) {
      login.settle(outcome, before);
      before = outcome;
    }
    for (const velocity of [second, first]) {
      const { context } = await see(velocity, { ...own, ...away, sessionId: 'again', nowMs: NOW_MS + HOUR });
      expect(context?.device).toBe(device);
    }
  });
}

function testUnavailable({ openUnavailable }: VelocityFactory): void {
  test('A store that cannot count returns null for each event, and does not fail', async () => {
    const velocity = await openUnavailable();
    const events = Array.from({ length: 20 }, (_, n) => event({ sessionId: `s${n}` }));
    expect(await velocity.observe(events)).toEqual(events.map(() => null));
  });
}
