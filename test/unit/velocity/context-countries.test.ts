import { describe, expect, it } from 'vitest';
import { addCountry, countryFamiliarity, removeCountry } from '../../../src/velocity/context-countries.ts';

const [DE, FR, JP] = [83, 148, 250];

describe('countries of an account', () => {
  const words = new Uint32Array(1);
  const known = (): boolean[] => [DE, FR, JP].map((code) => countryFamiliarity(words[0] ?? 0, code) === 'known');

  it('Countries of an account are unknown before the first one, and for an event without a country', () => {
    expect(countryFamiliarity(0, DE)).toBe('unknown');
    addCountry(words, 0, DE);
    expect(countryFamiliarity(words[0] ?? 0, 0)).toBe('unknown');
    expect(countryFamiliarity(words[0] ?? 0, FR)).toBe('new');
  });

  it('An account has two countries, and a third replaces the less used one', () => {
    for (let n = 0; n < 100; n++) addCountry(words, 0, DE);
    addCountry(words, 0, FR);
    expect(known()).toEqual([true, true, false]);
    addCountry(words, 0, JP);
    expect(known()).toEqual([true, false, true]);
  });

  it('Reverting the sessions of a country removes it and no other', () => {
    removeCountry(words, 0, FR);
    removeCountry(words, 0, JP);
    expect(known()).toEqual([true, false, false]);
    for (let n = 0; n < 62; n++) removeCountry(words, 0, DE);
    expect(known()).toEqual([true, false, false]);
    removeCountry(words, 0, DE);
    expect(words[0]).toBe(0);
  });
});
