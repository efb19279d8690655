import { describe, expect, test } from 'vitest';
import {
  afterSighting,
  effectiveEntry,
  isLive,
  consensusRisk,
  consensusOf,
  type Consensus,
  type Sighting,
} from '../../../../src/risk/registry/consensus.ts';

const DAY = 86_400;
const NOW = 1_000 * DAY;

function by(customer: number, lastSeenSeconds = NOW, firstSeenSeconds = lastSeenSeconds): Sighting {
  return { customer, firstSeenSeconds, lastSeenSeconds, isConfirmed: true };
}

describe('promotion', () => {
  test.each([
    [0, 0],
    [1, 0],
    [2, 0],
    [3, 90],
    [4, 90],
    [5, 94],
    [9, 94],
    [10, 98],
    [5_000, 98],
  ])('The reports of %i customers give risk %i', (customers, risk) => {
    expect(consensusRisk({ customers, confirmed: customers })).toBe(risk);
    const sightings = Array.from({ length: customers }, (_, i) => by(i + 1));
    expect(consensusOf(sightings, NOW)?.customers ?? 0).toBe(risk === 0 ? 0 : customers);
  });

  test('A consensus needs three customers within 30 days, both ends included', () => {
    const old = by(3, NOW - 30 * DAY);
    expect(consensusOf([by(1), by(2), old], NOW)?.customers).toBe(3);
    expect(consensusOf([by(1), by(2), old], NOW + 1)).toBeNull();
    expect([isLive(NOW, NOW), isLive(NOW + 5, NOW)]).toEqual([true, true]);
  });

  test('A consensus of customers without confirmed evidence is only suspicious', () => {
    expect(consensusRisk({ customers: 12, confirmed: 2 })).toBe(60);
    expect(consensusRisk({ customers: 12, confirmed: 3 })).toBe(90);
    const weak = [by(1), by(2), { ...by(3), isConfirmed: false }];
    expect(consensusOf(weak, NOW)).toMatchObject({ customers: 3, confirmed: 2 });
  });

  test('A consensus counts a customer once', () => {
    expect(consensusOf([by(1), by(1, NOW - DAY), by(1, NOW - 2 * DAY), by(2)], NOW)).toBeNull();
  });

  test('A consensus has the first and last report of the customers that count', () => {
    const sightings = [by(1, NOW - 5, NOW - 60 * DAY), by(2, NOW - 2 * DAY), by(3, NOW - 9, NOW - 10), by(4, 1, 1)];
    expect(consensusOf(sightings, NOW)).toEqual({
      customers: 3,
      confirmed: 3,
      firstSeenSeconds: NOW - 60 * DAY,
      lastSeenSeconds: NOW - 5,
    });
  });

  test('A new consensus replaces the previous one, but keeps the time it was first seen', () => {
    const before: Consensus = { customers: 6, confirmed: 6, firstSeenSeconds: 10, lastSeenSeconds: 20 };
    const fresh: Consensus = { customers: 3, confirmed: 2, firstSeenSeconds: 70, lastSeenSeconds: 90 };
    expect(afterSighting(before, fresh)).toEqual({ ...fresh, firstSeenSeconds: 10 });
    expect(afterSighting(null, fresh)).toEqual(fresh);
    expect(afterSighting(before, null)).toEqual(before);
    expect(afterSighting(null, null)).toBeNull();
  });

  test('An entry with two parts has the higher of their present risks', () => {
    const imported = { risk: 95, customers: 2, firstSeenSeconds: 100, lastSeenSeconds: NOW - 35 * DAY };
    const promotion = { customers: 3, confirmed: 3, firstSeenSeconds: 90, lastSeenSeconds: NOW - 21 * DAY };
    expect(effectiveEntry(imported, promotion, NOW)).toEqual({
      risk: 45,
      customers: 3,
      firstSeenSeconds: 90,
      lastSeenSeconds: NOW - 21 * DAY,
    });
    expect(effectiveEntry(imported, null, NOW)?.risk).toBeCloseTo(95 / 4, 9);
    expect(effectiveEntry(null, promotion, NOW)?.risk).toBe(45);
    expect(effectiveEntry(null, null, NOW)).toBeNull();
  });
});
