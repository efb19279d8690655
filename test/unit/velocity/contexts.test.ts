import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/base/brand.ts';
import type { ContextHistory, HistoryEvent } from '../../../src/core/history.ts';
import type { Outcome } from '../../../src/core/outcome.ts';
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
  test('are unknown at the first session, and those of the first session are known at once', () => {
    const world = new World();
    expect(world.see(HOME).context).toBeNull();
    expect(contextOf(world.wait(MINUTE), HOME)).toMatchObject({ sessions: 1, device: 'known', network: 'known' });
  });

  test('are not judged in the first 30 min', () => {
    const world = new World();
    world.see(HOME);
    expect(contextOf(world.wait(29 * MINUTE), THIEF).ratio).toBe(0);
    expect(contextOf(world.wait(MINUTE), THIEF).ratio).toBeCloseTo(2 * Math.log10(3));
  });

  test('count a session once', () => {
    const world = owned(5);
    const one = session();
    for (let n = 0; n < 4; n++) world.see({ ...HOME, ...one });
    expect(contextOf(world, HOME).sessions).toBe(6);
  });

  test('of a stranger are unlike the account by both agent and place', () => {
    const thief = contextOf(owned(10), THIEF);
    expect(thief).toMatchObject({ device: 'new', exactAgent: 'new', agent: 'new', network: 'new', place: 'new' });
    expect(thief.ratio).toBeCloseTo(2 * Math.log10(21));
  });

  test('of a stranger with the same kind of agent weigh that agent by how common it is', () => {
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

  test('of the owner with the same phone on a journey end at .5', () => {
    const traveller = contextOf(owned(30), { ...HOME, networks: networksOf('91.7.7.7'), place: LISBON });
    expect(traveller).toMatchObject({ device: 'known', network: 'new', place: 'new' });
    expect(traveller.ratio).toBeLessThanOrEqual(0.5);
  });

  test('of a new phone at home have one new thing, and no ratio', () => {
    expect(contextOf(owned(30), { ...HOME, device: 'phone 2', agentHash: 20, exactAgentHash: 2_000 })).toMatchObject({
      device: 'new',
      network: 'known',
      place: 'known',
      ratio: 0,
    });
  });

  test('that are unlike the account are not learned by coming twice, but after a day', () => {
    const world = owned(10);
    const first = contextOf(world, THIEF).ratio;
    expect(contextOf(world.wait(HOUR), THIEF)).toMatchObject({ device: 'new', network: 'new', ratio: first });
    const other = session();
    for (let n = 0; n < 3; n++) expect(world.see({ ...THIEF, ...other }).context?.ratio).toBe(first);
    expect(contextOf(world.wait(DAY), THIEF)).toMatchObject({ device: 'known', network: 'known' });
  });

  test('become known at once by a challenge that was passed, and not by a success', () => {
    const world = owned(10);
    const one = { ...THIEF, ...session() };
    settle(world, one, 'succeeded');
    expect(contextOf(world, THIEF).device).toBe('new');
    settle(world, one, 'challenge_passed');
    expect(contextOf(world, THIEF)).toMatchObject({ device: 'known', network: 'known', place: 'known', ratio: 0 });
  });

  test('become known at once by an event that brings the challenge it passed', () => {
    const world = owned(10);
    expect(contextOf(world, { ...THIEF, outcome: 'challenge_passed' })).toMatchObject({ device: 'known', ratio: 0 });
  });

  test.each(['reported later', 'in the event'])('are not learned of a failed login, %s', (when) => {
    const world = new World();
    if (when === 'in the event') world.see({ ...THIEF, ...session(), outcome: 'failed' });
    else settle(world, { ...THIEF, ...session() }, 'failed');
    expect(world.wait(HOUR).see({ ...HOME, ...session() }).context).toBeNull();
    expect(contextOf(world.wait(HOUR), HOME)).toMatchObject({ sessions: 1, device: 'known' });
    expect(contextOf(world, THIEF)).toMatchObject({ device: 'new', agent: 'new', place: 'new' });
  });

  test('outlast a crowd of strangers', () => {
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

  test('belong to the e-mail address where there is one, whatever stands before it', () => {
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

  test('are the same for all that share the table, and apart for customers and kinds of key', () => {
    const world = owned(5);
    const other = new LocalVelocity(world.memory);
    const seen = (fields: Partial<HistoryEvent>) =>
      other.observe([
        {
          ...(HOME as HistoryEvent),
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

  test('take one record an account, whatever it is called, and none of who only looks around', () => {
    const used = (fields: Partial<HistoryEvent>): number => {
      const world = new World();
      world.see({ ...HOME, eventType: 'search', ...fields });
      const before = readVelocityStats(world.memory).used;
      world.see({ ...HOME, ...fields });
      return readVelocityStats(world.memory).used - before;
    };
    // And of the customer five of its population (the number of its sessions, and two rows for agent and place), and up to three of its
    // crowds, which are there after the first login.
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

  test('has both another browser or system and another region than at first', () => {
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

  test('is that of the first event that says', () => {
    const world = new World();
    const left = (fields: Partial<HistoryEvent>) => world.wait(MINUTE).see(fields).session.leftItsOrigin;
    expect(left({ agent: null, networks: null })).toBe(false);
    expect(left({ ...safari, ...away })).toBe(false);
    expect(left(chrome)).toBe(true);
  });
});

describe('networks of a device', () => {
  test('are counted for 24 h', () => {
    const world = new World();
    let n = 0;
    const count = (host: string) =>
      world.see({ networks: networksOf(host), entities: users(`owner-${++n}`) }).device?.networks24h;
    expect(['81.1.1.1', '81.1.1.2', '81.1.2.1', '81.1.3.1', '81.1.4.1'].map(count)).toEqual([1, 1, 2, 3, 4]);
    world.wait(DAY);
    expect(count('81.1.4.1')).toBe(1);
  });

  test('are not counted while one person alone has it', () => {
    const world = new World();
    const count = (host: string, name = 'owner') =>
      world.see({ networks: networksOf(host), entities: users(name) }).device?.networks24h;
    expect(['81.1.1.1', '81.1.2.1', '81.1.3.1'].map((host) => count(host))).toEqual([1, 1, 1]);
    expect(count('81.1.4.1', 'another')).toBe(2);
  });
});
