import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlaceHistory } from '../../../src/risk/history.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { distanceKm, fastestLeg, placeOf } from '../../../src/risk/travel.ts';
import { CALM_GEO } from '../../support/facts.ts';
import { place } from '../../support/history.ts';

const BERLIN = { latitude: 52.52, longitude: 13.4, accuracyKm: 0 };
const SEED = { seed: 1, numRuns: 500 };
const latitude = fc.double({ min: -90, max: 90, noNaN: true });
const longitude = fc.double({ min: -180, max: 180, noNaN: true });
const point = fc.record({ latitude, longitude });
const hostile = fc.oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, -1, 0, 1e300));

/** A location `km` north of Berlin. */
function north(km: number, overrides: Partial<PlaceHistory> = {}): PlaceHistory {
  return place({ latitude: 52.52 + km / 111.195, longitude: 13.4, accuracyKm: 0, ...overrides });
}

describe('distance', () => {
  it.each([
    ['Berlin to Paris', BERLIN, { latitude: 48.86, longitude: 2.35 }, 877],
    ['Berlin to New York', BERLIN, { latitude: 40.71, longitude: -74.01 }, 6_385],
    ['a quarter of the equator', { latitude: 0, longitude: -170 }, { latitude: 0, longitude: 100 }, 10_008],
    ['pole to pole', { latitude: 90, longitude: 0 }, { latitude: -90, longitude: 77 }, 20_015],
    ['over the date line', { latitude: 0, longitude: 179.5 }, { latitude: 0, longitude: -179.5 }, 111],
  ])('The distance is correct: %s', (_, a, b, km) => {
    expect(Math.round(distanceKm(a, b))).toBe(km);
  });

  it('The distance is symmetric, 0 to the same location, and never over half of the equator', () => {
    fc.assert(
      fc.property(point, point, (a, b) => {
        const km = distanceKm(a, b);
        expect(km).toBeCloseTo(distanceKm(b, a), 6);
        expect(km >= 0 && km <= 20_016).toBe(true);
        expect(distanceKm(a, a)).toBe(0);
      }),
      SEED,
    );
  });
});

describe('the fastest leg', () => {
  it('A leg counts only if its distance minus both radii reaches the minimum, whatever its speed', () => {
    const here = { ...BERLIN, accuracyKm: 100 };
    expect(fastestLeg(here, [north(699, { accuracyKm: 100 })], 500)).toBeNull();
    const leg = fastestLeg(here, [north(701, { accuracyKm: 100 })], 500);
    expect(leg?.km).toBeCloseTo(501, 0);
    expect(leg?.kmh).toBeCloseTo(501, 0);
  });

  it('The fastest leg is chosen, not the longest', () => {
    const near = north(600, { ageSeconds: 600 });
    expect(fastestLeg(BERLIN, [north(3_000, { ageSeconds: 36_000 }), near, north(700)], 500)?.from).toBe(near);
  });

  it('A leg within one session is ignored', () => {
    expect(fastestLeg(BERLIN, [north(3_000, { sameSession: true })], 500)).toBeNull();
  });

  it('A leg that started more than 24 h ago is ignored', () => {
    expect(fastestLeg(BERLIN, [north(3_000, { ageSeconds: 86_401 })], 500)).toBeNull();
    expect(fastestLeg(BERLIN, [north(3_000, { ageSeconds: 86_400 })], 500)?.hours).toBe(24);
  });

  it('A leg takes at least a minute', () => {
    const leg = fastestLeg(BERLIN, [north(600, { ageSeconds: 0 })], 500);
    expect(leg?.kmh).toBeCloseTo(36_000, -2);
  });

  it('The distance, duration and speed of a leg are finite for any input', () => {
    const anyPlace = fc.record({ latitude: hostile, longitude: hostile, accuracyKm: hostile });
    fc.assert(
      fc.property(anyPlace, anyPlace, hostile, hostile, (here, there, ageSeconds, kmMin) => {
        const leg = fastestLeg(here, [place({ ...there, ageSeconds })], kmMin);
        expect(leg === null || [leg.km, leg.hours, leg.kmh].every(Number.isFinite)).toBe(true);
      }),
      SEED,
    );
  });
});

describe('the location of an address', () => {
  it("The location of an address has the database's radius, or 200 km", () => {
    expect(placeOf(CALM_GEO, DEFAULT_POLICY)).toEqual({ latitude: 52.52, longitude: 13.4, accuracyKm: 20 });
    expect(placeOf({ ...CALM_GEO, accuracyKm: null }, DEFAULT_POLICY)?.accuracyKm).toBe(200);
  });

  it.each([
    ['without coordinates', { latitude: null }],
    ['with one of two coordinates', { longitude: null }],
    ['for a VPN', { vpn: true }],
    ['for a relay', { relay: true }],
    ['for a relay of the policy', { asn: 14_593 }],
  ])('The location of an address is unknown %s', (_, overrides) => {
    expect(placeOf({ ...CALM_GEO, ...overrides }, DEFAULT_POLICY)).toBeNull();
  });
});
