import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import type { Outcome } from '../../../src/risk/event-outcome.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { BERLIN, DAY, HOUR, LISBON, MINUTE, networksOf, SECOND, users, World } from './events.ts';

/** A decision that an outcome can be reported for. */
interface Decided {
  readonly facts: HistoryFacts;
  /** Reports an outcome that replaces the previous one. */
  settle(outcome: Outcome, before?: Outcome | null): void;
}

function decide(world: World, fields: Partial<HistoryEvent> = {}, settler = world.velocity): Decided {
  const facts = world.see({ eventType: 'login', ...fields });
  const { trace } = facts;
  if (trace === null) throw new Error('the event has no trace');
  const bytes = Uint8Array.from(trace.bytes.subarray(0, trace.length));
  const occurredAtMs = world.nowMs;
  return {
    facts,
    settle(outcome, before = null) {
      const customer = fields.customer ?? (7 as CustomerNumber);
      const { publicKey = false } = fields;
      settler.settle({ customer, publicKey, trace: bytes, occurredAtMs, nowMs: world.nowMs, before, outcome });
    },
  };
}

function entityOf({ entities }: HistoryFacts) {
  const [entity] = entities;
  if (entity === undefined) throw new Error('the event has no entity');
  return entity;
}

const failures = (facts: HistoryFacts): readonly unknown[] => [
  entityOf(facts).loginsFailed1h,
  facts.ip?.loginsFailed24h,
  facts.ip?.accountsSucceeded24h,
];

describe('outcomes of logins', () => {
  test('Outcomes of logins are counted for the account over an hour and for the address over a day', () => {
    const world = new World();
    for (let n = 0; n < 12; n++) decide(world.wait(MINUTE)).settle('failed');
    decide(world.wait(MINUTE)).settle('succeeded');
    expect(failures(decide(world).facts)).toEqual([12, 12, 1]);
    expect(failures(decide(world.wait(HOUR + 5 * MINUTE)).facts)).toEqual([0, 12, 1]);
    expect(failures(decide(world.wait(DAY + HOUR)).facts)).toEqual([0, 0, 0]);
  });

  test('An outcome reported later counts from the next event on; one in the event counts at once', () => {
    const world = new World();
    const told = decide(world, { outcome: 'failed' });
    expect(failures(told.facts)).toEqual([1, 1, 0]);
    expect(failures(decide(world).facts)).toEqual([1, 1, 0]);
  });

  test('A reported outcome is visible at once to other instances over the same table', () => {
    const world = new World();
    const other = new LocalVelocity(world.memory);
    decide(world, {}, other).settle('failed');
    expect(failures(decide(world).facts)).toEqual([1, 1, 0]);
  });

  test('An outcome counts once, and the last one of a request counts', () => {
    const world = new World();
    const login = decide(world);
    login.settle('failed');
    login.settle('failed', 'failed');
    login.settle('challenge_failed', 'failed');
    expect(failures(decide(world).facts)).toEqual([1, 1, 0]);
    login.settle('succeeded', 'challenge_failed');
    expect(failures(decide(world).facts)).toEqual([0, 0, 1]);
    login.settle('failed', 'succeeded');
    expect(failures(decide(world).facts)).toEqual([1, 1, 0]);
  });

  test('An outcome counts at the time of its login, however late it is reported', () => {
    const world = new World();
    const login = decide(world);
    world.wait(2 * HOUR);
    login.settle('failed');
    expect(failures(decide(world).facts)).toEqual([0, 1, 0]);
  });

  test('Outcomes of other customers and of public keys are counted separately', () => {
    const world = new World();
    decide(world).settle('failed');
    expect(failures(decide(world, { customer: 8 as CustomerNumber }).facts)).toEqual([0, 0, 0]);
    expect(failures(decide(world, { publicKey: true }).facts)).toEqual([0, 0, 0]);
  });

  test('An outcome whose trace has another version changes nothing', () => {
    const world = new World();
    const occurredAtMs = world.nowMs;
    for (const trace of [new Uint8Array(0), new Uint8Array(50), Uint8Array.of(0x11, 200)]) {
      world.velocity.settle({
        customer: 7 as CustomerNumber,
        publicKey: false,
        trace,
        occurredAtMs,
        nowMs: occurredAtMs,
        before: null,
        outcome: 'failed',
      });
    }
    expect(failures(decide(world).facts)).toEqual([0, 0, 0]);
  });
});

describe('outcomes of payments', () => {
  test('Outcomes of payments are counted for session, account and address; a merely failed payment does not count', () => {
    const world = new World();
    const pay = (eventType: string) => decide(world.wait(MINUTE), { eventType });
    pay('payment').settle('declined');
    pay('checkout').settle('declined');
    pay('payment').settle('failed');
    pay('payment').settle('succeeded');
    const { facts } = pay('payment');
    expect([facts.session.declined1h, facts.session.paid1h]).toEqual([2, 1]);
    expect([facts.ip?.declined1h, facts.ip?.paid1h, entityOf(facts).declined1h]).toEqual([2, 1, 2]);
    expect(entityOf(facts).loginsFailed1h).toBe(0);
    const later = decide(world.wait(HOUR + MINUTE), { eventType: 'payment' }).facts;
    expect([later.session.declined1h, later.ip?.declined1h, entityOf(later).declined1h]).toEqual([0, 0, 0]);
  });

  test('Events of other types have no trace', () => {
    for (const eventType of ['signup', 'search', '']) expect(new World().see({ eventType }).trace).toBeNull();
  });
});

const HOME = { sessionId: 'home', device: 'phone', agentHash: 10 };
const STRANGER = {
  sessionId: 'stranger',
  networks: networksOf('5.6.7.8'),
  country: 'PT',
  place: LISBON,
  device: 'other',
  agentHash: 20,
};

describe('what a failed login added', () => {
  const ways: readonly [string, (world: World) => void][] = [
    ['reported later', (world) => decide(world, STRANGER).settle('failed')],
    ['reported with the login', (world) => void decide(world, { ...STRANGER, outcome: 'failed' })],
  ];

  test.each(ways)("A failed login's network, device, agent, country and location are forgotten (%s)", (_name, fail) => {
    const world = new World();
    decide(world, HOME).settle('succeeded');
    fail(world.wait(HOUR));
    fail(world.wait(MINUTE));
    const owner = entityOf(decide(world.wait(MINUTE), HOME).facts);
    expect(owner.places).toEqual([]);
    expect([owner.countries24h, owner.networks1h, owner.devices24h]).toEqual([1, 1, 1]);
    const again = entityOf(decide(world, STRANGER).facts);
    expect([again.networkIsNew, again.deviceIsNew, again.agentIsNew, again.isNew]).toEqual([true, true, true, false]);
    expect(again.places.map(({ country }) => country)).toEqual(['DE']);
  });

  test.each(ways)('A failed login of an account that was never seen leaves nothing behind (%s)', (_name, fail) => {
    const world = new World();
    fail(world);
    const owner = entityOf(decide(world.wait(2 * DAY), HOME).facts);
    expect([owner.isNew, owner.knownForSeconds, owner.places.length]).toEqual([true, 0, 0]);
    expect(entityOf(decide(world.wait(DAY), HOME).facts)).toMatchObject({ isNew: false, knownForSeconds: 86_400 });
  });

  test("A login counts as the account's own until its outcome is known", () => {
    const world = new World();
    decide(world, HOME).settle('succeeded');
    const login = decide(world.wait(HOUR), STRANGER);
    expect(entityOf(decide(world, HOME).facts).places.map(({ country }) => country)).toEqual(['PT']);
    login.settle('failed');
    expect(entityOf(decide(world, HOME).facts).places).toEqual([]);
  });

  test('A mistyped password of the owner does not remove what the account already knew', () => {
    const world = new World();
    decide(world, HOME).settle('succeeded');
    decide(world.wait(HOUR), HOME).settle('failed');
    const owner = entityOf(decide(world.wait(MINUTE), HOME).facts);
    expect([owner.networkIsNew, owner.deviceIsNew, owner.agentIsNew]).toEqual([false, false, false]);
    expect(entityOf(decide(world, { ...STRANGER }).facts).places.map(({ country }) => country)).toEqual(['DE']);
  });

  test('A success in the same batch restores what a failed login removed', () => {
    const world = new World();
    decide(world, HOME).settle('succeeded');
    const mistyped = decide(world.wait(2 * HOUR), STRANGER);
    const right = decide(world.wait(9 * SECOND), STRANGER);
    mistyped.settle('failed');
    right.settle('succeeded');
    const traveller = entityOf(decide(world.wait(MINUTE), STRANGER).facts);
    expect([traveller.networkIsNew, traveller.deviceIsNew, traveller.agentIsNew]).toEqual([false, false, false]);
  });

  test('A failed login is reverted for every entity, even with more networks and devices than one record holds', () => {
    const world = new World();
    const entities = [...users('u1'), { name: 'email', value: 'a@b.example' }];
    for (let n = 0; n < 40; n++) {
      decide(world.wait(SECOND), { ...HOME, entities, networks: networksOf(`9.9.${n}.1`), device: `d${n}` });
    }
    decide(world, { ...STRANGER, entities }).settle('failed');
    for (const entity of decide(world, { ...STRANGER, entities, sessionId: 'again' }).facts.entities)
      expect([entity.networkIsNew, entity.deviceIsNew]).toEqual([true, true]);
  });

  test('A declined payment reverts nothing', () => {
    const world = new World();
    decide(world, { ...HOME, eventType: 'payment' }).settle('declined');
    expect(entityOf(decide(world, HOME).facts)).toMatchObject({ networkIsNew: false, isNew: false });
  });
});

describe('where logins of an account succeeded', () => {
  const isHome = (world: World, fields: Partial<HistoryEvent>) =>
    entityOf(decide(world, fields).facts).hasSucceededHere;
  const ON_FOOT = { ...HOME, networks: networksOf('7.7.7.7'), agentHash: 30, device: null };

  test('A successful login is recorded by the device and by network and agent, and nothing else is recorded', () => {
    const world = new World();
    decide(world, { ...STRANGER }).settle('failed');
    decide(world, { ...STRANGER });
    decide(world, HOME).settle('succeeded');
    expect(isHome(world, STRANGER)).toBe(false);
    expect(isHome(world, HOME)).toBe(true);
    expect(isHome(world, { ...STRANGER, device: HOME.device })).toBe(true);
    expect(isHome(world, { ...HOME, device: 'other' })).toBe(true);
    expect(isHome(world, { ...HOME, device: 'other', agentHash: 11 })).toBe(false);
    expect(isHome(world, { ...HOME, device: null, networks: null })).toBe(false);
    expect(isHome(world.wait(20 * DAY), HOME)).toBe(true);
  });

  test('The last two networks with a success are kept, and a reverted success removes its network', () => {
    const world = new World();
    const home = decide(world, HOME);
    home.settle('succeeded');
    const foot = decide(world, ON_FOOT);
    foot.settle('succeeded');
    const atHome = { ...HOME, device: null };
    expect([isHome(world, atHome), isHome(world, ON_FOOT)]).toEqual([true, true]);
    foot.settle('failed', 'succeeded');
    expect([isHome(world, atHome), isHome(world, ON_FOOT)]).toEqual([true, false]);
    for (let n = 0; n < 2; n++) decide(world, { ...ON_FOOT, agentHash: 40 + n }).settle('succeeded');
    expect(isHome(world, atHome)).toBe(false);
  });
});

describe('agents of an account', () => {
  test('An account keeps its last three agents and drops the oldest one', () => {
    const world = new World();
    const isNew = (agentHash: number) => entityOf(world.see({ agentHash })).agentIsNew;
    expect([1, 2, 3, 1, 2, 3].map(isNew)).toEqual([true, true, true, false, false, false]);
    expect([1, 4].map(isNew)).toEqual([false, true]);
    // Agent 2 is now the least recently used one, so it was dropped.
    expect([3, 1, 4].map(isNew)).toEqual([false, false, false]);
    expect(isNew(2)).toBe(true);
    expect(isNew(0)).toBe(false);
  });
});

describe('a customer’s surge', () => {
  const elsewhere = (n: number): Partial<HistoryEvent> => ({
    sessionId: `s${n}`,
    networks: networksOf(`5.${n >> 8}.${n & 255}.1`),
    entities: users(`a${n}`),
    device: null,
    place: BERLIN,
  });
  const failOn = (world: World, networks: number, from = 0): void => {
    for (let n = from; n < from + networks; n++) decide(world.wait(SECOND), elsewhere(n)).settle('failed');
  };
  const surgeOf = (world: World, eventType = 'login') => world.see({ eventType, ...elsewhere(9_999) }).surge;

  test("A customer's surge counts networks and not logins, and the share of failures", () => {
    const world = new World();
    expect(surgeOf(world)).toBeNull();
    failOn(world, 10);
    failOn(world, 10);
    for (let n = 0; n < 5; n++) decide(world, elsewhere(n)).settle('succeeded');
    expect(surgeOf(world)).toEqual({ networks10m: 10, usual: 0, badShare10m: 0.8 });
    expect(surgeOf(world, 'payment')).toBeNull();
    expect(surgeOf(world, 'search')).toBeNull();
    expect(world.see({ eventType: 'login', customer: 8 as CustomerNumber }).surge).toBeNull();
    expect(surgeOf(world.wait(11 * MINUTE))).toBeNull();
  });

  test("The usual number comes from the same time of the last days, and neither yesterday's attack nor a quiet night distorts it", () => {
    const world = new World();
    world.nowMs = Date.UTC(2026, 10, 1);
    for (let slot = 0; slot < 8 * 144; slot++) {
      world.nowMs = Date.UTC(2026, 10, 1) + slot * 10 * MINUTE;
      const hour = Math.floor(slot / 6) % 24;
      const isAttacked = Math.floor(slot / 144) === 7 && hour === 12;
      failOn(world, isAttacked ? 60 : hour >= 8 && hour < 20 ? 5 : 0);
    }
    const usualAt = (hour: number): number => {
      world.nowMs = Date.UTC(2026, 10, 9, hour, 30);
      failOn(world, 1);
      return surgeOf(world)?.usual ?? Number.NaN;
    };
    expect(usualAt(4)).toBe(0);
    // 91 slots count: of seven days the slot of 12:30 and six on either side. Seven of them have 62, the estimate of 60 networks: the six
    // of the attack, and the next one, whose ten minutes begin within it. The other 84 have 5. The mean of the lowest 86 leaves out five of
    // the seven and is 6.3.
    expect(usualAt(12)).toBeGreaterThanOrEqual(5);
    expect(usualAt(12)).toBeLessThan(7);
    expect(usualAt(16)).toBe(5);
  });

  test("Slots before the customer's first outcome count as unknown", () => {
    const world = new World();
    world.nowMs = Date.UTC(2026, 10, 8, 12, 5);
    failOn(world, 9);
    world.nowMs = Date.UTC(2026, 10, 9, 12, 5);
    failOn(world, 1);
    // The slots of 12:00 to 13:00 of one day are known: one of 9, six of 0.
    expect(surgeOf(world)?.usual).toBeCloseTo(0, 5);
    world.nowMs = Date.UTC(2026, 10, 9, 11, 5);
    failOn(world, 1);
    expect(surgeOf(world)).not.toBeNull();
  });
});
