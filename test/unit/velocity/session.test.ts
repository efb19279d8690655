import { describe, expect, test } from 'vitest';
import { HOUR, LISBON, MINUTE, networksOf, SECOND, World } from './events.ts';

describe('the session', () => {
  test('The session is new at its first event, and then has its age', () => {
    const world = new World();
    expect(world.see().session).toMatchObject({ isFirstEvent: true, ageMs: 0, decisions1m: 1, payments1h: 0 });
    expect(world.wait(2_345).see().session).toMatchObject({ isFirstEvent: false, ageMs: 2_345, decisions1m: 2 });
    expect(world.wait(20 * 24 * HOUR).see().session.ageMs).toBe(20 * 24 * HOUR + 2_345);
  });

  test('The session counts exactly up to 12 decisions, and closely around the threshold of 60', () => {
    const world = new World();
    for (let n = 1; n <= 12; n++) expect(world.wait(SECOND / 10).see().session.decisions1m).toBe(n);
    for (let n = 13; n <= 61; n++) expect(world.wait(SECOND / 10).see().session.decisions1m).toBe(n);
    expect(world.wait(MINUTE + 7 * SECOND).see().session.decisions1m).toBe(1);
  });

  test('The session counts payments of one hour, up to the threshold of 5', () => {
    const world = new World();
    for (let n = 1; n <= 5; n++)
      expect(world.wait(10 * MINUTE).see({ eventType: 'payment' }).session.payments1h).toBe(n);
    expect(world.see().session.payments1h).toBe(5);
    expect(world.wait(21 * MINUTE).see({ eventType: 'payment' }).session.payments1h).toBe(5);
    expect(world.wait(HOUR).see().session.payments1h).toBe(0);
  });

  test('The session has a rhythm from 8 events on', () => {
    const world = new World();
    for (let n = 1; n < 8; n++) expect(world.wait(3_000).see().session.rhythm).toBeNull();
    expect(world.wait(3_000).see().session.rhythm).toEqual({ events: 8, variation: 0 });
    expect(world.wait(30_000).see().session.rhythm?.variation).toBeGreaterThan(1);
  });

  test('The session has no rhythm if all events have the same time', () => {
    expect(new World().times(9, () => ({})).session.rhythm).toBeNull();
  });

  test('The session detects changes of network and of agent against the previous event', () => {
    const world = new World();
    const agent = { browser: 'firefox', system: 'linux' } as const;
    const seen = (fields: Parameters<World['see']>[0]): boolean[] => {
      const { networkChanged, agentChanged } = world.wait(SECOND).see(fields).session;
      return [networkChanged, agentChanged];
    };
    expect(seen({})).toEqual([false, false]);
    expect(seen({ networks: networksOf('81.2.69.9') })).toEqual([false, false]);
    expect(seen({ networks: networksOf('81.2.70.9') })).toEqual([true, false]);
    expect(seen({ networks: networksOf('81.2.70.9'), agent: { ...agent, system: 'windows' } })).toEqual([false, true]);
    expect(seen({ networks: null, agent: null })).toEqual([false, false]);
    expect(seen({})).toEqual([false, false]);
    expect(seen({ agent: { ...agent, browser: 'safari' } })).toEqual([false, true]);
  });

  test('The session returns the country before the present one, and its age', () => {
    const world = new World();
    const country = (value: string | null): unknown[] => {
      const { previousCountry, previousCountryAgeSeconds } = world.see({ country: value }).session;
      return [previousCountry, previousCountryAgeSeconds];
    };
    expect(country(null)).toEqual([null, 0]);
    expect(country('DE')).toEqual([null, 0]);
    world.wait(MINUTE);
    expect(country(null)).toEqual(['DE', 60]);
    world.wait(MINUTE);
    expect(country('PT')).toEqual(['DE', 120]);
    expect(country('PT')).toEqual(['PT', 0]);
  });

  test('The session counts regions of one hour exactly, even if they exceed the record', () => {
    const world = new World();
    const seen = (n: number): number =>
      world.see({ networks: networksOf(`81.${n}.1.1`), place: LISBON }).session.regions1h;
    for (let n = 1; n <= 20; n++) expect(seen(n)).toBe(n);
    expect(seen(1)).toBe(20);
    expect(seen(20)).toBe(20);
    world.wait(HOUR);
    expect(seen(30)).toBe(1);
  });
});
