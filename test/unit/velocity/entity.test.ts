import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { EntityHistory, HistoryEvent } from '../../../src/risk/history.ts';
import {
  BERLIN,
  DAY,
  event,
  HOUR,
  LISBON,
  MINUTE,
  MUNICH,
  networksOf,
  POTSDAM,
  SECOND,
  users,
  World,
} from './events.ts';

function entityOf(world: World, fields: Partial<HistoryEvent> = {}): EntityHistory {
  const [entity] = world.see(fields).entities;
  if (entity === undefined) throw new Error('no entity');
  return entity;
}

describe('the entity', () => {
  test('The age of an entity counts from when it was first seen', () => {
    const world = new World();
    expect(entityOf(world)).toMatchObject({
      name: 'user_id',
      knownForSeconds: 0,
      decisions1m: 1,
      placeIsFamiliar: false,
    });
    expect(entityOf(world.wait(90 * SECOND)).knownForSeconds).toBe(90);
    expect(entityOf(world.wait(29 * DAY)).knownForSeconds).toBe(29 * 86_400 + 90);
    expect(entityOf(world.wait(31 * DAY)).knownForSeconds).toBe(0);
  });

  test('The entity counts decisions of one minute, up to and beyond the threshold of 20', () => {
    const world = new World();
    for (let n = 1; n <= 21; n++) expect(entityOf(world.wait(2 * SECOND)).decisions1m).toBe(n);
    expect(entityOf(world.wait(MINUTE + 7 * SECOND)).decisions1m).toBe(1);
  });

  test('The entity counts payments of one hour over all its sessions', () => {
    const world = new World();
    for (let n = 1; n <= 12; n++) {
      expect(entityOf(world.wait(4 * MINUTE), { sessionId: `s${n}`, eventType: 'payment' }).payments1h).toBe(n);
    }
    expect(entityOf(world).payments1h).toBe(12);
    expect(entityOf(world.wait(17 * MINUTE)).payments1h).toBe(11);
  });

  test('The entity counts devices of a day and detects those that are new to it', () => {
    const world = new World();
    for (let n = 1; n <= 20; n++) {
      expect(entityOf(world.wait(MINUTE), { device: `d${n}` })).toMatchObject({ devices24h: n, deviceIsNew: true });
    }
    expect(entityOf(world, { device: 'd1' })).toMatchObject({ devices24h: 20, deviceIsNew: false });
    expect(entityOf(world, { device: null })).toMatchObject({ devices24h: 20, deviceIsNew: false });
    world.wait(DAY);
    expect(entityOf(world, { device: 'd20' })).toMatchObject({ devices24h: 1, deviceIsNew: false });
    expect(entityOf(world.wait(28 * DAY), { device: 'd5' })).toMatchObject({ deviceIsNew: false });
    expect(entityOf(world.wait(3 * DAY), { device: 'd7' })).toMatchObject({ deviceIsNew: true });
  });

  test('The entity counts networks of one hour', () => {
    const world = new World();
    for (let n = 1; n <= 20; n++) {
      expect(entityOf(world.wait(MINUTE), { networks: networksOf(`81.2.${n}.1`) }).networks1h).toBe(n);
    }
    expect(entityOf(world, { networks: null }).networks1h).toBe(20);
    expect(entityOf(world.wait(HOUR), { networks: networksOf('81.2.1.1') }).networks1h).toBe(1);
  });

  test('The entity counts countries of a day, also without locations', () => {
    const world = new World();
    const countries = ['DE', 'PT', 'FR', 'ES', 'IT'];
    countries.forEach((country, n) => {
      expect(entityOf(world.wait(HOUR), { country, place: null }).countries24h).toBe(n + 1);
    });
    expect(entityOf(world, { country: null, place: null }).countries24h).toBe(5);
    expect(entityOf(world, { country: 'DE', place: null }).countries24h).toBe(5);
    // All except Germany were seen a day ago.
    expect(entityOf(world.wait(23 * HOUR), { country: null, place: null }).countries24h).toBe(2);
    expect(entityOf(world.wait(HOUR), { country: 'PT', place: null }).countries24h).toBe(1);
    expect(entityOf(world, { country: 'DE', place: null }).countries24h).toBe(2);
  });

  test('Each of the first 8 entities of a request is counted once', () => {
    const entities = Array.from({ length: 12 }, (_, n) => ({ name: `name_${n}`, value: 'v' }));
    expect(new World().see({ entities }).entities.map(({ name }) => name)).toEqual(
      entities.slice(0, 8).map(({ name }) => name),
    );
  });

  test('The same value under another key name is another entity', () => {
    const world = new World();
    world.see({ entities: [{ name: 'user_id', value: 'x' }] });
    expect(entityOf(world, { entities: [{ name: 'email', value: 'x' }] }).decisions1m).toBe(1);
  });
});

describe('locations', () => {
  test('The history lists the other locations of an entity, newest first, with their details', () => {
    const world = new World();
    expect(entityOf(world, { sessionId: 'a' }).places).toEqual([]);
    world.wait(2 * HOUR);
    const [berlin] = entityOf(world, { sessionId: 'b', place: LISBON, country: 'PT' }).places;
    expect(berlin).toMatchObject({ accuracyKm: 20, country: 'DE', ageSeconds: 7_200, sameSession: false });
    expect(berlin?.latitude).toBeCloseTo(BERLIN.latitude, 1.9);
    expect(berlin?.longitude).toBeCloseTo(BERLIN.longitude, 1.9);
    world.wait(HOUR);
    const facts = entityOf(world, { sessionId: 'b', place: MUNICH });
    expect(facts.places.map(({ country, sameSession, ageSeconds }) => [country, sameSession, ageSeconds])).toEqual([
      ['PT', true, 3_600],
      ['DE', false, 10_800],
    ]);
  });

  test('Locations within 50 km are one, which is refreshed', () => {
    const world = new World();
    world.see({ place: BERLIN });
    expect(entityOf(world.wait(HOUR), { place: POTSDAM }).places).toEqual([]);
    expect(entityOf(world.wait(HOUR), { place: LISBON }).places).toMatchObject([{ ageSeconds: 3_600 }]);
  });

  test('The history keeps at most the last five locations', () => {
    const world = new World();
    for (let n = 0; n < 8; n++) {
      world.wait(HOUR).see({ place: { latitude: n * 5, longitude: 0, accuracyKm: 1 } });
    }
    const { places } = entityOf(world, { place: { latitude: 35, longitude: 0, accuracyKm: 1 } });
    expect(places).toHaveLength(4);
    expect(Math.round(places[0]?.latitude ?? 0)).toBe(30);
  });

  test('A location is familiar a day after it was first seen, and up to 100 km around it', () => {
    const world = new World();
    world.see();
    expect(entityOf(world.wait(23 * HOUR)).placeIsFamiliar).toBe(false);
    expect(entityOf(world.wait(3 * HOUR)).placeIsFamiliar).toBe(true);
    expect(entityOf(world, { place: { ...BERLIN, latitude: BERLIN.latitude + 0.8 } }).placeIsFamiliar).toBe(true);
    expect(entityOf(world, { place: { ...BERLIN, latitude: BERLIN.latitude + 1.2 } }).placeIsFamiliar).toBe(false);
    expect(entityOf(world, { place: LISBON }).placeIsFamiliar).toBe(false);
    expect(entityOf(world, { place: null })).toMatchObject({ placeIsFamiliar: false, places: [] });
  });

  test('Locations on both sides of the date line are near each other', () => {
    const world = new World();
    world.see({ place: { latitude: 0, longitude: 179.9, accuracyKm: 1 } });
    expect(entityOf(world, { place: { latitude: 0, longitude: -179.9, accuracyKm: 1 } }).places).toEqual([]);
  });

  test('Locations are forgotten after 30 days', () => {
    const world = new World();
    world.see({ place: BERLIN });
    for (let n = 0; n < 31; n++) world.wait(DAY).see({ place: LISBON });
    expect(entityOf(world, { place: LISBON }).places).toEqual([]);
  });

  test('Invalid coordinates of a location do no harm', () => {
    const world = new World();
    for (const latitude of [Number.NaN, Infinity, -1e9]) {
      expect(() => world.see({ place: { latitude, longitude: latitude, accuracyKm: latitude } })).not.toThrow();
    }
  });
});

describe('the device', () => {
  test("The device history is null without a collector's fingerprint", () => {
    expect(new World().see({ device: null }).device).toBeNull();
  });

  test('The device counts entities of a day by key name and returns the largest number', () => {
    const world = new World();
    for (let n = 1; n <= 7; n++) {
      const entities = [...users(`u${n}`), { name: 'email', value: `e${n % 2}` }];
      expect(world.wait(HOUR).see({ entities }).device).toMatchObject({ entities24h: n });
    }
    expect(world.see({ entities: [{ name: 'email', value: 'e1' }] }).device).toMatchObject({ entities24h: 2 });
    expect(world.see({ entities: [] }).device).toMatchObject({ entities24h: 0 });
    expect(world.wait(18 * HOUR + MINUTE).see({ entities: users('u7') }).device).toMatchObject({ entities24h: 6 });
  });
});

describe('what is counted', () => {
  test.each([
    ['of another customer', { customer: 8 as CustomerNumber }],
    ['of public keys', { publicKey: true }],
  ])('The history %s is counted separately', (_name, other) => {
    const world = new World();
    const before = { eventType: 'signup', entities: users('a') };
    world.times(9, (n) => ({ ...before, sessionId: `s${n % 2}` }));
    const facts = world.see({ ...before, ...other, sessionId: 's1' });
    expect(facts).toEqual(new World().see({ ...before, ...other, sessionId: 's1' }));
    expect(facts.session.isFirstEvent).toBe(true);
    expect(facts.ip?.signups24h).toBe(1);
  });

  test('The events of a batch are counted in order', () => {
    const world = new World();
    const batch = world.velocity.observe([event(), event({ sessionId: 'session-2' }), event()]);
    expect(batch.map((facts) => facts?.session.decisions1m)).toEqual([1, 1, 2]);
    expect(world.velocity.observe([])).toEqual([]);
  });

  test('Counting continues if the clock steps back slightly', () => {
    const world = new World();
    world.times(5, () => ({}));
    world.wait(-3 * SECOND);
    expect(world.see().session).toMatchObject({ decisions1m: 6, ageMs: 0 });
    world.wait(-2 * HOUR);
    expect(world.see().session.decisions1m).toBeLessThanOrEqual(7);
    expect(world.wait(SECOND).see().entities[0]?.decisions1m).toBeLessThanOrEqual(8);
  });
});
