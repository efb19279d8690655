import { describe, expect, test } from 'vitest';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { deviceManyEntities } from '../../../src/risk/rules/device_many_entities.ts';
import { deviceNewForEntity } from '../../../src/risk/rules/device_new_for_entity.ts';
import { FingerprintLookup } from '../../../src/velocity/fingerprint-lookup.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { facts } from '../../support/facts.ts';
import { DAY, HOUR, MINUTE, networksOf, users, World } from './events.ts';

const MODEL = 'a'.repeat(64) as FingerprintHash;
const CUSTOMER = 7 as CustomerNumber;

/** A phone of one model in the network `n`. */
function phone(n: number, fields: Partial<HistoryEvent> = {}): Partial<HistoryEvent> {
  const networks = networksOf(`82.${n >> 8}.${n & 255}.9`);
  return { networks, device: MODEL, sessionId: `s${n}`, entities: users(`u${n}`), ...fields };
}

function firedBy(history: HistoryFacts): string[] {
  return [deviceManyEntities, deviceNewForEntity]
    .filter((rule) => rule.evaluate(facts({ history }), DEFAULT_POLICY, rule.thresholds ?? {}) !== null)
    .map(({ code }) => code);
}

describe('networks of a fingerprint', () => {
  test('Networks of a fingerprint are counted for 24 h, and over 20 of them make it common', () => {
    const world = new World();
    for (let n = 1; n <= 40; n++) {
      const { device } = world.wait(MINUTE).see(phone(n));
      expect(device).toMatchObject({ isCommon: n > 20 });
      // A sketch estimates from 31 on.
      expect(Math.abs((device?.networks24h ?? 0) - n)).toBeLessThanOrEqual(n > 30 ? 5 : 0);
    }
    expect(world.see(phone(1)).device?.isCommon).toBe(true);
    expect(world.wait(25 * HOUR).see(phone(1)).device).toMatchObject({ networks24h: 1, isCommon: false });
  });

  test('Over 100 networks in 30 days make a fingerprint common, even on days with few of them', () => {
    const world = new World();
    let device: HistoryFacts['device'] = null;
    for (let day = 0; day < 12; day++) {
      for (let n = 0; n < 15; n++) device = world.wait(HOUR).see(phone(day * 15 + n)).device;
      world.wait(9 * HOUR);
    }
    expect(device?.networks24h).toBeLessThanOrEqual(16);
    expect(device?.isCommon).toBe(true);
    expect(world.wait(31 * DAY).see(phone(1)).device?.isCommon).toBe(false);
  });

  test('A device that stays in one network needs no further record', () => {
    const world = new World();
    world.see(phone(1));
    const { used } = readVelocityStats(world.memory);
    for (let n = 0; n < 10; n++) expect(world.wait(HOUR).see(phone(1)).device?.networks24h).toBe(1);
    expect(readVelocityStats(world.memory).used).toBe(used);
    expect(world.see(phone(1, { networks: null })).device?.networks24h).toBe(1);
  });

  test('The days of a fingerprint are counted', () => {
    const world = new World();
    for (const days of [1, 2, 3]) {
      expect(world.see(phone(1)).device?.days).toBe(days);
      expect(world.wait(HOUR).see(phone(2)).device?.days).toBe(days);
      world.wait(23 * HOUR);
    }
  });

  test('Networks of a fingerprint are counted per customer and kind of key', () => {
    const world = new World();
    for (let n = 1; n <= 30; n++) world.see(phone(n));
    expect(world.see(phone(1, { customer: 8 as CustomerNumber })).device?.networks24h).toBe(1);
    expect(world.see(phone(1, { publicKey: true })).device?.networks24h).toBe(1);
  });

  test('Reading the networks of a fingerprint from another thread changes nothing', () => {
    const world = new World();
    const lookup = new FingerprintLookup(world.memory);
    expect(lookup.find(CUSTOMER, MODEL, world.nowMs)).toMatchObject({ isSeen: false, networks24h: 0, isCommon: false });
    for (let n = 1; n <= 25; n++) world.see(phone(n));
    expect(lookup.find(CUSTOMER, MODEL, world.nowMs)).toMatchObject({ isSeen: true, networks24h: 25, isCommon: true });
    expect(lookup.find(8 as CustomerNumber, MODEL, world.nowMs)).toMatchObject({ isSeen: false, isCommon: false });
    for (let n = 1; n <= 22; n++) world.see(phone(n, { customer: 9 as CustomerNumber, publicKey: true }));
    expect(lookup.find(9 as CustomerNumber, MODEL, world.nowMs)).toMatchObject({ networks24h: 22, isCommon: true });
    world.wait(25 * HOUR);
    expect(lookup.find(CUSTOMER, MODEL, world.nowMs)).toMatchObject({ networks24h: 0, isCommon: false });
  });
});

describe('honest people with phones of the same model', () => {
  test('200 honest people with phones of 3 models fire no rule about devices', () => {
    const world = new World(16 * 2 ** 20);
    const fired = new Set<string>();
    for (let day = 0; day < 3; day++) {
      for (let n = 0; n < 200; n++) {
        // Half at home, half in eight networks of mobile carriers; every tenth has bought the phone today.
        const networks = networksOf(n % 2 === 0 ? `82.1.${n}.9` : `83.1.${n % 16}.${n}`);
        const device = String((n % 10 === 0 ? n + day : n) % 3).repeat(64);
        const visit = { networks, device, entities: users(`u${n}`), sessionId: `s${day}-${n}`, eventType: 'login' };
        for (const code of firedBy(world.wait(5 * MINUTE).see(visit))) fired.add(code);
      }
      world.wait(8 * HOUR);
    }
    // A phone of a model that is not common yet is new for an owner who had another one; that alone weighs .15.
    fired.delete('device_new_for_entity');
    expect([...fired]).toEqual([]);
  });

  test('A device with many accounts in one network still fires its rule', () => {
    const world = new World();
    for (let n = 1; n <= 5; n++) expect(firedBy(world.see(phone(1, { entities: users(`u${n}`) })))).toEqual([]);
    expect(firedBy(world.see(phone(1, { entities: users('u6') })))).toEqual(['device_many_entities']);
  });
});
