import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUsable, mergeGeoParts, parseGeoRecord } from '../../../../src/risk/signals/geo.ts';
import { timesInFull } from '../../../support/long.ts';

describe('parseGeoRecord', () => {
  it("parseGeoRecord parses MaxMind's nested shape", () => {
    expect(
      parseGeoRecord({
        country: { iso_code: 'de' },
        registered_country: { iso_code: 'US' },
        location: { latitude: 52.5, longitude: 13.4, accuracy_radius: 20 },
        traits: {
          autonomous_system_number: 64_500,
          autonomous_system_organization: ' Example ',
          is_satellite_provider: true,
        },
      }),
    ).toMatchObject({
      country: 'DE',
      latitude: 52.5,
      longitude: 13.4,
      accuracyKm: 20,
      asn: 64_500,
      organisation: 'Example',
      relay: true,
    });
  });

  it('parseGeoRecord parses a flat shape, and numbers as text', () => {
    expect(
      parseGeoRecord({ country_code: 'JP', latitude: '35.6', longitude: '-139.7', asn: 'AS64501', as_name: 'Net' }),
    ).toEqual({
      country: 'JP',
      latitude: 35.6,
      longitude: -139.7,
      asn: 64_501,
      organisation: 'Net',
    });
    expect(parseGeoRecord({ country: 'NL', asn: 64_502n })).toEqual({ country: 'NL', asn: 64_502 });
  });

  it.each([
    [{ is_tor_exit_node: true }, 'tor'],
    [{ is_public_proxy: true }, 'proxy'],
    [{ is_residential_proxy: 'true' }, 'residentialProxy'],
    [{ is_hosting_provider: 1 }, 'hosting'],
    [{ is_anonymous: true, is_anonymous_vpn: true }, 'vpn'],
    [{ traits: { is_tor_exit_node: true } }, 'tor'],
    [{ relay: true }, 'relay'],
    // Anonymous in an unnamed way: the mildest.
    [{ is_anonymous: true }, 'vpn'],
  ])('parseGeoRecord sets for %j only the flag %s', (record, flag) => {
    const facts = mergeGeoParts([parseGeoRecord(record)]);
    const set = Object.entries(facts ?? {}).flatMap(([name, value]) => (value === true ? [name] : []));
    expect(set).toEqual([flag]);
  });

  it('parseGeoRecord sets no VPN flag for an address that is anonymous as hosting', () => {
    expect(parseGeoRecord({ is_anonymous: true, is_hosting_provider: true }).vpn).not.toBe(true);
  });

  it.each([
    null,
    undefined,
    0,
    'DE',
    [],
    [{ country_code: 'DE' }],
    {},
    { country: null },
    { country: ['DE'] },
    { country: { iso_code: 49 } },
    { country_code: 'ZZ' },
    { country_code: 'DEU' },
    { country_code: '' },
    { latitude: NaN, longitude: 1 },
    { latitude: Infinity, longitude: 1 },
    { latitude: 91, longitude: 1 },
    { latitude: 1, longitude: 181 },
    { latitude: 1 },
    { latitude: '', longitude: '' },
    { latitude: '0', longitude: '0' },
    { latitude: 0, longitude: 0 },
    { location: { latitude: [], longitude: {} } },
    { asn: 0 },
    { asn: -1 },
    { asn: 1.5 },
    { asn: 4_294_967_296 },
    { asn: 'AS' },
    { organization: {} },
    { organization: '   ' },
    { is_tor_exit_node: 'perhaps', is_anonymous: 2 },
    { traits: 'none' },
  ])('parseGeoRecord finds nothing in %j', (record) => {
    expect(isUsable(parseGeoRecord(record))).toBe(false);
    expect(mergeGeoParts([parseGeoRecord(record)])).toBeNull();
  });

  it('parseGeoRecord never throws, and returns only values in range', () => {
    const key = fc.constantFrom(
      'country',
      'country_code',
      'iso_code',
      'location',
      'latitude',
      'longitude',
      'accuracy_radius',
      'asn',
      'traits',
      'is_anonymous',
      'isp',
      '__proto__',
    );
    const { record } = fc.letrec((tie) => ({
      record: fc.dictionary(
        key,
        fc.oneof({ depthSize: 'small' }, fc.anything(), fc.string(), fc.double(), fc.bigInt(), tie('record')),
      ),
    }));
    fc.assert(
      fc.property(record, (value) => {
        const facts = mergeGeoParts([parseGeoRecord(value)]);
        if (facts === null) return;
        expect(facts.country ?? 'AA').toMatch(/^[A-Z]{2}$/);
        expect(Math.abs(facts.latitude ?? 0)).toBeLessThanOrEqual(90);
        expect(Math.abs(facts.longitude ?? 0)).toBeLessThanOrEqual(180);
        expect(facts.latitude === null).toBe(facts.longitude === null);
        expect((facts.organisation ?? '').length).toBeLessThanOrEqual(128);
      }),
      { seed: 1, numRuns: timesInFull(2_000) },
    );
  });
});

describe('mergeGeoParts', () => {
  it('mergeGeoParts uses the first known value of each field, and a flag from any part', () => {
    expect(
      mergeGeoParts([
        { country: 'DE', tor: false },
        { country: 'US', latitude: 1, longitude: 2 },
        { latitude: 3, longitude: 4, accuracyKm: 5, asn: 6, organisation: 'x', tor: true },
      ]),
    ).toEqual({
      country: 'DE',
      latitude: 1,
      longitude: 2,
      // Not 5: the radius belongs to the other location.
      accuracyKm: null,
      asn: 6,
      organisation: 'x',
      tor: true,
      proxy: false,
      residentialProxy: false,
      hosting: false,
      vpn: false,
      relay: false,
    });
  });

  it('mergeGeoParts returns null without parts', () => {
    expect(mergeGeoParts([])).toBeNull();
    expect(mergeGeoParts([{}, {}])).toBeNull();
  });
});
