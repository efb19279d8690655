import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { ContextHistory, HistoryEvent } from '../../../src/risk/history.ts';
import type { Outcome } from '../../../src/risk/event-outcome.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { BERLIN, DAY, HOUR, LISBON, MINUTE, MUNICH, networksOf, users, World } from './events.ts';

const LOGIN = { eventType: 'login' };
const HOME: Partial<HistoryEvent> = {
  ...LOGIN,
  device: 'phone',
  agentHash: 10,
  exactAgentHash: 1_000,
  networks: networksOf('81.2.69.160'),
  place: BERLIN,
};
const THIEF: Partial<HistoryEvent> = {
  ...LOGIN,
  device: 'laptop',
  agentHash: 20,
  exactAgentHash: 2_000,
  networks: networksOf('91.7.7.7'),
  place: MUNICH,
};

let serial = 0;
const session = () => ({ sessionId: `session-${serial++}` });

/** Sessions of the owner, a day apart; the clock then stands at the last one. */
function owned(sessions: number): World {
  const world = new World();
  for (let n = 0; n < sessions; n++) world.wait(DAY).see({ ...HOME, ...session() });
  return world;
}

function contextOf(world: World, fields: Partial<HistoryEvent>): ContextHistory {
  const { context } = world.see({ ...session(), ...fields });
  if (context === null) throw new Error('no context is known');
  return context;
}

function settle(world: World, fields: Partial<HistoryEvent>, outcome: Outcome, by = world.velocity): void {
  const { trace } = world.see(fields);
  if (trace === null) throw new Error('the event has no trace');
  by.settle({
    customer: 7 as CustomerNumber,
    publicKey: false,
    trace: Uint8Array.from(trace.bytes.subarray(0, trace.length)),
    occurredAtMs: world.nowMs,
    nowMs: world.nowMs,
    before: null,
    outcome,
  });
}

describe('contexts of an account', () => {
  test('The context of an account is unknown in its first session, which is then known at once', () => {
    const world = new World();
    expect(world.see(HOME).context).toBeNull();
    expect(contextOf(world.wait(MINUTE), HOME)).toMatchObject({ sessions: 1, device: 'known', network: 'known' });
  });

  test('The context of an account is not rated in its first 30 min', () => {
    const world = new World();
    world.see(HOME);
    expect(contextOf(world.wait(29 * MINUTE), THIEF).ratio).toBe(0);
    expect(contextOf(world.wait(MINUTE), THIEF).ratio).toBeCloseTo(2 * Math.log10(3));
  });

  test('The contexts of an account count a session once', () => {
    const world = owned(5);
    const one = session();
    for (let n = 0; n < 4; n++) world.see({ ...HOME, ...one });
    expect(contextOf(world, HOME).sessions).toBe(6);
  });

  test('The context of a thief is unlike the account by both agent and location', () => {
    const thief = contextOf(owned(10), THIEF);
    expect(thief).toMatchObject({ device: 'new', exactAgent: 'new', agent: 'new', network: 'new', place: 'new' });
    expect(thief.ratio).toBeCloseTo(2 * Math.log10(21));
  });

  test('The context of a thief with the same kind of agent weighs that agent by how common it is', () => {
    const world = owned(10);
    for (let n = 0; n < 90; n++) {
      world.see({
        ...HOME,
        ...session(),
        agentHash: 30,
        device: null,
        entities: [{ name: 'user_id', value: `other-${n}` }],
      });
    }
    // 10 of 100 sessions have the agent: p is .1, and 10.05 of 10.5 for the account.
    const { ratio } = contextOf(world, { ...THIEF, agentHash: 10 });
    expect(ratio).toBeCloseTo(Math.log10(21) + Math.log10((0.1 * 10.5) / 10.05), 1);
  });

  test('The context ratio of a travelling owner with the same phone is at most .5', () => {
    const traveller = contextOf(owned(30), { ...HOME, networks: networksOf('91.7.7.7'), place: LISBON });
    expect(traveller).toMatchObject({ device: 'known', network: 'new', place: 'new' });
    expect(traveller.ratio).toBeLessThanOrEqual(0.5);
  });

  test('A new phone at home is one new attribute, and its ratio is 0', () => {
    expect(contextOf(owned(30), { ...HOME, device: 'phone 2', agentHash: 20, exactAgentHash: 2_000 })).toMatchObject({
      device: 'new',
      network: 'known',
      place: 'known',
      ratio: 0,
    });
  });

  test('A context unlike the account becomes known after a day, and not by a second visit', () => {
    const world = owned(10);
    const first = contextOf(world, THIEF).ratio;
    expect(contextOf(world.wait(HOUR), THIEF)).toMatchObject({ device: 'new', network: 'new', ratio: first });
    const other = session();
    for (let n = 0; n < 3; n++) expect(world.see({ ...THIEF, ...other }).context?.ratio).toBe(first);
    expect(contextOf(world.wait(DAY), THIEF)).toMatchObject({ device: 'known', network: 'known' });
  });

  test('A new context becomes known at once by a passed challenge, but not by a successful login', () => {
    const world = owned(10);
    const one = { ...THIEF, ...session() };
    settle(world, one, 'succeeded');
    expect(contextOf(world, THIEF).device).toBe('new');
    settle(world, one, 'challenge_passed');
    expect(contextOf(world, THIEF)).toMatchObject({ device: 'known', network: 'known', place: 'known', ratio: 0 });
  });

  test('A new context becomes known at once by an event that reports its own passed challenge', () => {
    const world = owned(10);
    expect(contextOf(world, { ...THIEF, outcome: 'challenge_passed' })).toMatchObject({ device: 'known', ratio: 0 });
  });

  test.each(['reported later', 'in the event'])(
    'The context of a failed login is not learned if the failure is %s',
    (when) => {
      const world = new World();
      if (when === 'in the event') world.see({ ...THIEF, ...session(), outcome: 'failed' });
      else settle(world, { ...THIEF, ...session() }, 'failed');
      expect(world.wait(HOUR).see({ ...HOME, ...session() }).context).toBeNull();
      expect(contextOf(world.wait(HOUR), HOME)).toMatchObject({ sessions: 1, device: 'known' });
      expect(contextOf(world, THIEF)).toMatchObject({ device: 'new', agent: 'new', place: 'new' });
    },
  );

  test('Known contexts survive a crowd of thieves', () => {
    const world = owned(10);
    for (let n = 0; n < 200; n++) {
      world.see({
        ...THIEF,
        ...session(),
        device: `laptop ${n}`,
        exactAgentHash: 2_000 + n,
        networks: networksOf(`91.7.${n}.7`),
      });
    }
    expect(contextOf(world.wait(DAY), HOME)).toMatchObject({
      sessions: 10,
      device: 'known',
      network: 'known',
      ratio: 0,
    });
  });

  test('Contexts belong to the e-mail address if there is one, whatever entity precedes it', () => {
    const world = new World();
    const email = { name: 'email', value: 'anna@example.com' };
    for (let n = 0; n < 5; n++) {
      world.wait(DAY).see({ ...HOME, ...session(), entities: [{ name: 'user_id', value: 'u1' }, email] });
    }
    expect(contextOf(world, { ...THIEF, entities: [email] })).toMatchObject({
      name: 'email',
      sessions: 5,
      device: 'new',
    });
  });

  test('Contexts are shared by all instances over one table, and separate for customers and kinds of key', () => {
    const world = owned(5);
    const other = new LocalVelocity(world.memory);
    const seen = (fields: Partial<HistoryEvent>) =>
      other.observe([
        {
          ...(HOME as HistoryEvent),
          browser: null,
          grant: null,
          amount: null,
          counters: [],
          customer: 7 as CustomerNumber,
          publicKey: false,
          nowMs: world.nowMs,
          country: 'DE',
          agent: null,
          mail: null,
          outcome: null,
          entities: [{ name: 'user_id', value: 'u1' }],
          ...session(),
          ...fields,
        },
      ])[0]?.context;
    expect(seen({})).toMatchObject({ sessions: 5, device: 'known' });
    expect(seen({ publicKey: true })).toBeNull();
    expect(seen({ customer: 8 as CustomerNumber })).toBeNull();
  });

  test('The contexts of an account take one record, however many names it has, and visitors without an account take none', () => {
    const used = (fields: Partial<HistoryEvent>): number => {
      const world = new World();
      world.see({ ...HOME, eventType: 'search', ...fields });
      const before = readVelocityStats(world.memory).used;
      world.see({ ...HOME, ...fields });
      return readVelocityStats(world.memory).used - before;
    };
    // The customer takes further records: five for its population (the number of its sessions, and two rows each for agent and location),
    // and up to three for its crowds, which exist after the first login.
    const two = [
      { name: 'user_id', value: 'u1' },
      { name: 'email', value: 'a@example.com' },
    ];
    for (const fields of [{}, { entities: two }]) expect(used(fields)).toBeLessThanOrEqual(1 + 5 + 3);
    expect(used({ entities: [] })).toBeLessThanOrEqual(3);
  });
});

describe('a session that leaves its origin', () => {
  const chrome = { agent: { browser: 'chromium', system: 'windows' } } as const;
  const safari = { agent: { browser: 'safari', system: 'ios' } } as const;
  const away = { networks: networksOf('91.7.7.7') };

  test('A session has left its origin if both the browser or system and the region changed', () => {
    const world = new World();
    const left = (fields: Partial<HistoryEvent>) => world.wait(MINUTE).see(fields).session.leftItsOrigin;
    expect(left(chrome)).toBe(false);
    expect(left(safari)).toBe(false);
    expect(left({ ...chrome, ...away })).toBe(false);
    expect(left({ ...safari, ...away })).toBe(true);
    expect(left(chrome)).toBe(false);
    expect(left({ ...safari, ...away })).toBe(true);
    expect(left({ ...safari, networks: null })).toBe(false);
  });

  test('The origin of a session is that of the first event with a known origin', () => {
    const world = new World();
    const left = (fields: Partial<HistoryEvent>) => world.wait(MINUTE).see(fields).session.leftItsOrigin;
    expect(left({ agent: null, networks: null })).toBe(false);
    expect(left({ ...safari, ...away })).toBe(false);
    expect(left(chrome)).toBe(true);
  });
});

describe('networks of a device', () => {
  test('Networks of a device are counted for 24 h', () => {
    const world = new World();
    let n = 0;
    const count = (host: string) =>
      world.see({ networks: networksOf(host), entities: users(`owner-${++n}`) }).device?.networks24h;
    expect(['81.1.1.1', '81.1.1.2', '81.1.2.1', '81.1.3.1', '81.1.4.1'].map(count)).toEqual([1, 1, 2, 3, 4]);
    world.wait(DAY);
    expect(count('81.1.4.1')).toBe(1);
  });

  test('Networks of a device are not counted while only one person uses it', () => {
    const world = new World();
    const count = (host: string, name = 'owner') =>
      world.see({ networks: networksOf(host), entities: users(name) }).device?.networks24h;
    expect(['81.1.1.1', '81.1.2.1', '81.1.3.1'].map((host) => count(host))).toEqual([1, 1, 1]);
    expect(count('81.1.4.1', 'another')).toBe(2);
  });
});
