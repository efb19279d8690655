import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../../src/risk/event-outcome.ts';
import type { HistoryEvent, IpHistory } from '../../../src/risk/history.ts';
import { DAY, HOUR, MINUTE, networksOf, users, World } from './events.ts';

let sessions = 0;

function logIn(world: World, user: string, outcome: Outcome | null, fields: Partial<HistoryEvent> = {}): IpHistory {
  const { ip } = world.see({
    eventType: 'login',
    sessionId: `s${sessions++}`,
    entities: users(user),
    outcome,
    ...fields,
  });
  if (ip === null) throw new Error('the event has no address');
  return ip;
}

const HOME = { networks: networksOf('90.1.1.1') };
const THIRD = { networks: networksOf('90.2.1.1') };

describe('accounts at an address', () => {
  test('The successful logins of one account count once a day at an address, and again on the next day', () => {
    const world = new World();
    for (let n = 0; n < 5; n++) logIn(world.wait(MINUTE), 'a', 'succeeded');
    expect(logIn(world, 'b', null)).toMatchObject({ accountsSucceeded24h: 1, knownAccountsSucceeded24h: 0 });
    world.wait(DAY + HOUR);
    for (let n = 0; n < 5; n++) logIn(world.wait(MINUTE), 'a', 'succeeded');
    expect(logIn(world, 'b', null)).toMatchObject({ accountsSucceeded24h: 1, knownAccountsSucceeded24h: 1 });
  });

  test('An account that came from another network before counts as known, one that is new does not', () => {
    const world = new World();
    logIn(world, 'a', 'succeeded', HOME);
    logIn(world, 'a', 'succeeded');
    expect(logIn(world, 'b', 'succeeded')).toMatchObject({ accountsSucceeded24h: 2, knownAccountsSucceeded24h: 1 });
  });

  test('One account counts at two addresses a day', () => {
    const world = new World();
    logIn(world, 'a', 'succeeded', HOME);
    logIn(world, 'a', 'succeeded');
    expect(logIn(world, 'a', 'succeeded', THIRD).accountsSucceeded24h).toBe(0);
    expect(logIn(world, 'a', 'succeeded').accountsSucceeded24h).toBe(1);
  });

  test('A success ends the failure of its own account and of no other', () => {
    const world = new World();
    for (const user of ['a', 'b', 'c']) for (let n = 0; n < 3; n++) logIn(world, user, 'failed');
    expect(logIn(world, 'own', 'succeeded')).toMatchObject({ accountsFailing24h: 3, loginsFailed24h: 9 });
    for (let n = 0; n < 9; n++) logIn(world.wait(MINUTE), 'own', 'succeeded');
    expect(logIn(world, 'b', 'succeeded')).toMatchObject({ accountsFailing24h: 2, accountsSucceeded24h: 2 });
    expect(logIn(world, 'b', 'failed').accountsFailing24h).toBe(2);
    expect(logIn(world.wait(DAY + 9 * HOUR), 'd', null).accountsFailing24h).toBe(0);
  });

  test('A success ends a failure of some hours before', () => {
    const world = new World();
    logIn(world, 'a', 'failed');
    expect(logIn(world.wait(9 * HOUR), 'a', 'succeeded').accountsFailing24h).toBe(0);
  });
});

describe('the share of cold starts', () => {
  const cold = (world: World, n: number): IpHistory => logIn(world, `list-${n}`, null, { place: null });

  test('Neither empty sessions nor the logins of a new own account lower the cold share of a customer with history', () => {
    const world = new World();
    logIn(world, 'somebody', null, HOME);
    world.wait(2 * DAY);
    for (let n = 0; n < 20; n++) {
      cold(world, n);
      logIn(world, 'own', null);
      world.see({ sessionId: `empty-${n}`, eventType: 'search', entities: [] });
    }
    expect(cold(world, 99)).toMatchObject({ coldEntities1h: 22, coldShare10m: 1, coldShare1h: 1 });
  });

  test('Each account that came from the network over an hour ago lowers it, once', () => {
    const world = new World();
    for (let n = 0; n < 5; n++) logIn(world, `old-${n}`, null);
    world.wait(2 * DAY);
    for (let n = 0; n < 5; n++) cold(world, n);
    for (let n = 0; n < 20; n++) logIn(world, `old-${n % 5}`, null);
    expect(cold(world, 99).coldShare1h).toBeCloseTo(6 / 11, 6);
  });

  test('An account that has been known in the area for a week is no cold start at another address, one of six days is', () => {
    for (const [days, least] of [
      [7, 0],
      [6, 1],
    ] as const) {
      const world = new World();
      for (let n = 0; n < 12; n++) logIn(world, `staff-${n}`, null, { networks: networksOf(`90.1.${n}.1`) });
      world.wait(days * DAY + HOUR);
      let last = null;
      for (let n = 0; n < 12; n++) last = logIn(world, `staff-${n}`, null);
      expect(last?.coldLogins10m).toBe(12 * least);
    }
  });

  test('An account that has been known elsewhere for a week is a cold start far from there', () => {
    const world = new World();
    const far = { latitude: 40.4, longitude: -3.7, accuracyKm: 10 };
    for (let n = 0; n < 12; n++) logIn(world, `victim-${n}`, null, { networks: networksOf(`90.1.${n}.1`), place: far });
    world.wait(8 * DAY);
    let last = null;
    for (let n = 0; n < 12; n++) last = logIn(world, `victim-${n}`, null);
    expect(last?.coldLogins10m).toBe(12);
  });
});

describe('an account on many networks', () => {
  test('An account that was on over three networks in the hour returns to none of them', () => {
    const world = new World();
    const at = (n: number): Partial<HistoryEvent> => ({ networks: networksOf(`90.${n}.1.1`) });
    for (let n = 0; n < 4; n++) logIn(world, 'own', null, at(n));
    world.wait(2 * DAY);
    for (let n = 0; n < 4; n++)
      for (let m = 0; m < 5; m++) logIn(world, `list-${n}-${m}`, null, { ...at(n), place: null });
    for (let n = 0; n < 4; n++) {
      const { coldShare1h } = logIn(world, 'own', null, at(n));
      expect(coldShare1h).toBeCloseTo(n < 3 ? 5 / 6 : 1, 6);
    }
  });
});
