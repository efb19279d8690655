import { describe, expect, test } from 'vitest';
import type { HistoryEvent, IpHistory } from '../../../src/risk/history.ts';
import { DAY, HOUR, MINUTE, networksOf, SECOND, users, World } from './events.ts';

/** The event of an unknown identity: a session and an entity that were never seen. */
function stranger(n: number, eventType = 'login'): Partial<HistoryEvent> {
  return { eventType, sessionId: `stranger-${n}`, entities: users(`stranger-${n}`), device: null };
}

function ipOf(world: World, fields: Partial<HistoryEvent>): IpHistory {
  const { ip } = world.see(fields);
  if (ip === null) throw new Error('no address');
  return ip;
}

describe('the address', () => {
  test('The address history is null without a public address', () => {
    expect(new World().see({ networks: null }).ip).toBeNull();
  });

  test('The address counts decisions of one minute, up to and beyond the threshold of 120', () => {
    const world = new World();
    for (let n = 1; n <= 121; n++) expect(ipOf(world.wait(400), stranger(n, 'search')).decisions1m).toBe(n);
    expect(ipOf(world.wait(MINUTE + 7 * SECOND), stranger(0)).decisions1m).toBe(1);
  });

  test('The address counts sign-ups of a day, whether they are cold starts or not', () => {
    const world = new World();
    for (let n = 1; n <= 7; n++) {
      expect(ipOf(world.wait(HOUR), { eventType: 'signup', sessionId: 'one' }).signups24h).toBe(n);
    }
    expect(ipOf(world, { eventType: 'login' }).signups24h).toBe(7);
    expect(ipOf(world, { eventType: 'search' }).signups24h).toBe(0);
    expect(ipOf(world.wait(18 * HOUR - SECOND), { eventType: 'login' }).signups24h).toBe(7);
    expect(ipOf(world.wait(5 * SECOND), { eventType: 'login' }).signups24h).toBe(6);
    expect(ipOf(world.wait(DAY), { eventType: 'login' }).signups24h).toBe(0);
  });

  test('The address counts cold-start logins of ten minutes, up to and beyond the threshold of 10', () => {
    const world = new World();
    for (let n = 1; n <= 11; n++) expect(ipOf(world.wait(10 * SECOND), stranger(n)).coldLogins10m).toBe(n);
    expect(ipOf(world.wait(10 * MINUTE - 95 * SECOND), stranger(12)).coldLogins10m).toBe(11);
    expect(ipOf(world.wait(10 * MINUTE), stranger(13)).coldLogins10m).toBe(1);
  });

  test('The address counts cold-start payments and checkouts of one hour, up to the threshold of 10', () => {
    const world = new World();
    for (let n = 1; n <= 10; n++) {
      const eventType = n % 2 === 0 ? 'payment' : 'checkout';
      expect(ipOf(world.wait(5 * MINUTE), stranger(n, eventType)).coldPayments1h).toBe(n);
    }
    expect(ipOf(world.wait(16 * MINUTE), stranger(11, 'payment')).coldPayments1h).toBe(10);
    expect(ipOf(world, stranger(12)).coldLogins10m).toBe(1);
  });

  test('The address counts entities of cold-start events by key name and returns the largest number', () => {
    const world = new World();
    for (let n = 1; n <= 12; n++) {
      const entities = [
        { name: 'user_id', value: `u${n}` },
        { name: 'email', value: `e${n % 3}-${n < 4 ? 'a' : 'b'}` },
      ];
      const expected = n;
      // Known e-mails make the events warm, from the seventh on.
      if (n <= 6) expect(ipOf(world, { ...stranger(n), entities }).coldEntities1h).toBe(expected);
      else expect(ipOf(world, { ...stranger(n), entities }).coldEntities1h).toBe(6);
    }
    expect(ipOf(world.wait(HOUR), { ...stranger(20) }).coldEntities1h).toBe(1);
  });

  test('The address counts up to 30 cold entities exactly and hundreds approximately', () => {
    const world = new World();
    for (let n = 1; n <= 30; n++) expect(ipOf(world.wait(SECOND), stranger(n)).coldEntities1h).toBe(n);
    for (let n = 31; n <= 300; n++) {
      const { coldEntities1h } = ipOf(world.wait(SECOND), stranger(n));
      expect(Math.abs(coldEntities1h / n - 1)).toBeLessThan(0.25);
    }
    expect(ipOf(world.wait(HOUR + MINUTE), stranger(1_000)).coldEntities1h).toBe(1);
  });
});

describe('a cold-start event', () => {
  const isCold = (world: World, fields: Partial<HistoryEvent>): boolean => {
    const before = ipOf(world, { ...stranger(10_000), entities: [], eventType: 'login' }).coldLogins10m;
    return ipOf(world, { eventType: 'login', ...fields }).coldLogins10m > before;
  };

  test('A cold-start event opens its session', () => {
    const world = new World();
    expect(isCold(world, { sessionId: 'a', entities: users('a') })).toBe(true);
    expect(isCold(world, { sessionId: 'a', entities: users('b') })).toBe(false);
  });

  test('An event is no cold start if its entity was seen on that network before', () => {
    const world = new World();
    world.see({ sessionId: 'a', entities: users('a'), eventType: 'search' });
    expect(isCold(world, { sessionId: 'b', entities: users('a') })).toBe(false);
    // Another address of the same network, and a different network.
    expect(isCold(world, { sessionId: 'c', entities: users('a'), networks: networksOf('81.2.69.1') })).toBe(false);
    const elsewhere = networksOf('90.1.1.1');
    world.see({ sessionId: 'z', entities: [], networks: elsewhere });
    const facts = world.see({ sessionId: 'd', entities: users('a'), networks: elsewhere, eventType: 'login' });
    expect(facts.ip?.coldLogins10m).toBe(1);
  });

  test('A cold-start event has at least one unknown entity and no known one', () => {
    const world = new World();
    world.see({ sessionId: 'a', entities: users('a') });
    expect(isCold(world, { sessionId: 'b', entities: [...users('a'), { name: 'email', value: 'new' }] })).toBe(false);
    expect(isCold(world, { sessionId: 'c', entities: [] })).toBe(false);
    expect(isCold(world, { sessionId: 'd', entities: [{ name: 'email', value: 'newer' }] })).toBe(true);
  });

  test('A network counts as known for 30 days', () => {
    const world = new World();
    world.see({ sessionId: 'a', entities: users('a') });
    world.wait(29 * DAY);
    expect(isCold(world, { sessionId: 'b', entities: users('a') })).toBe(false);
    world.wait(31 * DAY);
    expect(isCold(world, { sessionId: 'c', entities: users('a') })).toBe(true);
  });
});

describe('the cold share', () => {
  test('The cold share is 1 for a credential stuffer', () => {
    const world = new World();
    const ip = world.times(40, (n) => stranger(n)).ip;
    expect(ip).toMatchObject({ coldShare10m: 1, coldShare1h: 1 });
  });

  test('The cold share is low in an office of known people, whose sessions count once per window', () => {
    const world = new World();
    world.times(20, (n) => ({ sessionId: `yesterday-${n}`, entities: users(`colleague-${n}`) }));
    world.wait(DAY);
    const work = (n: number): Partial<HistoryEvent> => ({
      sessionId: `today-${n % 20}`,
      entities: users(`colleague-${n % 20}`),
      eventType: n < 20 ? 'login' : 'search',
    });
    world.times(400, work);
    const { ip } = world.see({ ...stranger(1) });
    expect(ip?.coldLogins10m).toBe(1);
    expect(ip?.coldShare10m).toBeCloseTo(1 / 21, 6);
    expect(ip?.coldShare1h).toBeCloseTo(1 / 21, 6);
  });

  test('The cold share counts a session again after the window', () => {
    const world = new World();
    world.see(stranger(1));
    expect(ipOf(world.wait(9 * MINUTE), stranger(1)).coldShare10m).toBe(1);
    const later = ipOf(world.wait(2 * MINUTE), stranger(1));
    expect(later.coldShare10m).toBeLessThan(0.5);
    expect(later.coldShare1h).toBe(1);
    expect(ipOf(world.wait(DAY), stranger(1)).coldShare1h).toBe(0);
  });

  test('The cold share counts a session at each of its two addresses', () => {
    const world = new World();
    const other = networksOf('90.1.1.1');
    const here = networksOf('81.2.69.160');
    world.times(10, (n) => ({ sessionId: 'a', entities: users('a'), networks: n % 2 === 0 ? other : here }));
    // One arrival at each, and an unknown identity.
    expect(world.see({ ...stranger(1), networks: other }).ip?.coldShare10m).toBe(1);
    expect(world.see({ ...stranger(2), networks: here }).ip?.coldShare10m).toBe(0.5);
  });
});
