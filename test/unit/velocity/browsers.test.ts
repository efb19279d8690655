import { describe, expect, test } from 'vitest';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { deviceManyEntities } from '../../../src/risk/rules/device_many_entities.ts';
import { deviceNewForEntity } from '../../../src/risk/rules/device_new_for_entity.ts';
import { valuesPerActor24h } from '../../../src/risk/rules/values_per_actor_24h.ts';
import { velocityEntityDevices24h } from '../../../src/risk/rules/velocity_entity_devices_24h.ts';
import { hashBrowser } from '../../../src/risk/signals/collector-token.ts';
import { sightingsTaken } from '../../../src/risk/registry/sighting-conditions.ts';
import { FingerprintLookup } from '../../../src/velocity/fingerprint-lookup.ts';
import { facts } from '../../support/facts.ts';
import { DAY, HOUR, MINUTE, networksOf, users, World } from './events.ts';

const MODEL = 'a'.repeat(64);
const CUSTOMER = 7 as CustomerNumber;
const RULES = [deviceManyEntities, deviceNewForEntity, velocityEntityDevices24h, valuesPerActor24h];

const browserOf = (n: number | string): string => hashBrowser(`browser-number-${n}`);

/** A login of the account `user` on a phone of one model. */
function login(user: string, browser: string | null, network: number, more: Partial<HistoryEvent> = {}) {
  return {
    networks: networksOf(`82.${network >> 8}.${network & 255}.9`),
    device: MODEL,
    browser,
    sessionId: `session of ${user} in ${network}`,
    entities: users(user),
    eventType: 'login',
    ...more,
  } satisfies Partial<HistoryEvent>;
}

/** Code → level of each rule that fires. */
function firedBy(history: HistoryFacts): Readonly<Record<string, string>> {
  const hits = RULES.flatMap(({ code, evaluate, thresholds = {} }) => {
    const hit = evaluate(facts({ history, eventType: 'login' }), DEFAULT_POLICY, thresholds);
    return hit === null ? [] : [[code, hit.level ?? 'default'] as const];
  });
  return Object.fromEntries(hits);
}

/** Makes the fingerprint common: 25 owners of the model, each in an own network. */
function makeCommon(world: World): void {
  for (let n = 0; n < 25; n++) world.see(login(`owner-${n}`, browserOf(`owner-${n}`), 1_000 + n));
  expect(world.see(login('owner-1', browserOf('owner-1'), 1_001)).device?.isCommon).toBe(true);
}

describe('one browser, recognised by its own id', () => {
  test('12 accounts in one browser are caught, whatever their networks, also with a common fingerprint', () => {
    const world = new World();
    makeCommon(world);
    for (let n = 1; n <= 12; n++) {
      const fired = firedBy(world.wait(MINUTE).see(login(`victim-${n}`, browserOf('thief'), n)));
      expect([n, fired]).toEqual([n, n > 5 ? { device_many_entities: 'default' } : {}]);
    }
  });

  test('A browser in one network is a shared computer, and weighs less', () => {
    const world = new World();
    let fired = {};
    for (let n = 1; n <= 12; n++) fired = firedBy(world.wait(MINUTE).see(login(`pupil-${n}`, browserOf('class'), 1)));
    expect(fired).toEqual({ device_many_entities: 'shared' });
  });

  test('The accounts of a browser whose fingerprint changes with each version count together', () => {
    const world = new World();
    let fired = {};
    for (let n = 1; n <= 12; n++) {
      fired = firedBy(world.see(login(`victim-${n}`, browserOf('thief'), n, { device: String(n).repeat(32) })));
    }
    expect(fired).toEqual({ device_many_entities: 'default' });
  });

  test('Four cards in one browser fire, also with a fingerprint of many networks', () => {
    const world = new World();
    makeCommon(world);
    let fired = {};
    for (let n = 1; n <= 4; n++) {
      const entities = [...users(`buyer-${n}`), { name: 'card', value: `card-${n}` }];
      fired = firedBy(world.see(login('', browserOf('tester'), n, { entities, eventType: 'payment' })));
    }
    expect(fired).toHaveProperty('values_per_actor_24h');
  });

  test('An id of over 100 networks identifies nobody: an app gave all of its users the same one', () => {
    const world = new World(16 * 2 ** 20);
    let history = world.see(login('user-0', browserOf('app'), 0, { device: 'f'.repeat(64) }));
    for (let n = 1; n <= 130; n++)
      history = world.see(login(`user-${n}`, browserOf('app'), n, { device: 'f'.repeat(64) }));
    expect(history.device?.browser).toBeNull();
    expect(firedBy(history)).toEqual({});
  });
});

describe('an id that is new in each request', () => {
  test('New ids silence no rule about the accounts of a fingerprint', () => {
    const withIds = new World();
    const without = new World();
    for (let n = 1; n <= 30; n++) {
      // Ten accounts in each of three networks.
      const network = n % 3;
      const fired = firedBy(withIds.wait(MINUTE).see(login(`victim-${n}`, browserOf(n), network)));
      expect([n, fired]).toEqual([n, firedBy(without.wait(MINUTE).see(login(`victim-${n}`, null, network)))]);
    }
    expect(firedBy(withIds.see(login('victim-31', browserOf(31), 1)))).toEqual({ device_many_entities: 'default' });
  });

  test('New ids make one device of one fingerprint, not many, unless the fingerprint is common', () => {
    const world = new World();
    let history = world.see(login('anna', browserOf(0), 1));
    for (let n = 1; n <= 8; n++) history = world.wait(HOUR).see(login('anna', browserOf(n), 1));
    expect(history.entities[0]).toMatchObject({ devices24h: 1, deviceIsNew: false });
    makeCommon(world);
    for (let n = 9; n <= 18; n++) history = world.wait(MINUTE).see(login('anna', browserOf(n), 1));
    expect(history.entities[0]?.devices24h).toBeGreaterThan(8);
  });

  test('Only an account that knows the browser silences the count of its fingerprint', () => {
    const world = new World();
    // An office of 80 with identical computers in two networks: 40 with a browser that their account knows since yesterday.
    for (let n = 0; n < 40; n++) world.see(login(`staff-${n}`, browserOf(`staff-${n}`), 1));
    world.wait(25 * HOUR);
    const fired: Record<string, unknown> = {};
    for (let n = 0; n < 80; n++) {
      const history = world.wait(MINUTE).see(login(`staff-${n}`, browserOf(`staff-${n}`), n % 3));
      fired[n] = firedBy(history)['device_many_entities'];
    }
    for (let n = 6; n < 40; n++) expect([n, fired[n]]).toEqual([n, undefined]);
    for (let n = 45; n < 80; n++) expect([n, fired[n]]).not.toEqual([n, undefined]);
  });
});

describe('the devices of an account', () => {
  test('A browser of the same model is new to an account that knows another one, also with a common fingerprint', () => {
    const world = new World();
    makeCommon(world);
    world.see(login('anna', browserOf('anna'), 1));
    world.wait(25 * HOUR);
    makeCommon(world);
    expect(firedBy(world.see(login('anna', browserOf('anna'), 1)))).toEqual({});
    expect(firedBy(world.see(login('anna', browserOf('thief'), 2)))).toEqual({ device_new_for_entity: 'default' });
    // A private window at home.
    expect(firedBy(world.see(login('anna', browserOf('private'), 1)))).toEqual({});
  });

  test('A fingerprint that changes in a known browser is no new device', () => {
    const world = new World();
    world.see(login('anna', browserOf('anna'), 1));
    const history = world.wait(2 * DAY).see(login('anna', browserOf('anna'), 2, { device: 'c'.repeat(64) }));
    expect(history.entities[0]).toMatchObject({ deviceIsNew: false, devices24h: 1 });
  });

  test('A browser that gets an id during the day is the same device while its fingerprint is not common', () => {
    const world = new World();
    world.see(login('anna', null, 1));
    // The visitor now permits storage.
    const history = world.wait(HOUR).see(login('anna', browserOf('anna'), 1));
    expect(history.entities[0]).toMatchObject({ deviceIsNew: false, devices24h: 1 });
  });

  test('The context of an account knows the browser, not the owners of its model', () => {
    const world = new World();
    makeCommon(world);
    world.see(login('anna', browserOf('anna'), 1));
    world.wait(2 * DAY);
    makeCommon(world);
    expect(world.see(login('anna', browserOf('anna'), 2)).context?.device).toBe('known');
    expect(world.see(login('anna', browserOf('thief'), 3)).context?.device).toBe('new');
  });

  test('An outcome reported later removes the browser of a failed login', () => {
    const world = new World();
    world.see(login('anna', browserOf('anna'), 1));
    world.wait(2 * DAY);
    const { trace } = world.see(login('anna', browserOf('thief'), 2, { device: 'd'.repeat(64) }));
    if (trace === null) throw new Error('a login has a trace');
    world.velocity.settle({
      customer: CUSTOMER,
      publicKey: false,
      trace: trace.bytes.slice(0, trace.length),
      occurredAtMs: world.nowMs,
      nowMs: world.nowMs,
      before: null,
      outcome: 'failed',
    });
    const again = world.wait(HOUR).see(login('anna', browserOf('thief'), 2, { device: 'd'.repeat(64) }));
    expect(again.entities[0]?.deviceIsNew).toBe(true);
  });
});

describe('the id of a browser outside of decisions', () => {
  test('The hash of a browser id is known as such, and a block of it is not reported to the registry', () => {
    const world = new World();
    const lookup = new FingerprintLookup(world.memory);
    const browser = browserOf('thief') as FingerprintHash;
    world.see(login('anna', browser, 1));
    expect(lookup.find(CUSTOMER, browser, world.nowMs)).toMatchObject({ isSeen: true, isBrowser: true });
    expect(lookup.find(CUSTOMER, MODEL as FingerprintHash, world.nowMs)).toMatchObject({
      isSeen: true,
      isBrowser: false,
    });
    const isTaken = sightingsTaken(lookup);
    expect(isTaken(CUSTOMER, browser, 'list', world.nowMs / 1_000)).toBe(false);
    expect(isTaken(CUSTOMER, MODEL as FingerprintHash, 'list', world.nowMs / 1_000)).toBe(true);
  });
});
