import { describe, expect, test } from 'vitest';
import { areWithin, canonicalNetwork, NetworkSet } from '../../../src/kernel/network-set.ts';

describe('networks in CIDR form', () => {
  test('A network or a single address is read in its canonical form', () => {
    const read = ['10.0.0.0/8', '203.0.113.7', '2001:DB8::/32', '::1', '0.0.0.0/0', '::/0'].map(canonicalNetwork);
    expect(read).toEqual(['10.0.0.0/8', '203.0.113.7/32', '2001:db8::/32', '::1/128', '0.0.0.0/0', '::/0']);
  });

  test.each([
    '',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/8/8',
    '2001:db8::1/64',
    '::/129',
    'a',
    '10.0.0.0/',
  ])('The text "%s" is no network', (text) => {
    expect(canonicalNetwork(text)).toBeNull();
  });

  test('A set has the addresses of its networks, mapped ones too', () => {
    const set = new NetworkSet(['10.0.0.0/8', '2001:db8::/32']);
    const known = ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::5', '11.0.0.1', '2001:db9::', 'x', ''];
    expect(known.map((address) => set.has(address))).toEqual([true, true, true, false, false, false, false]);
    expect([set.isEmpty, new NetworkSet([]).isEmpty]).toEqual([false, true]);
  });

  test('A network is within one that is as wide or wider', () => {
    expect(areWithin(['10.1.0.0/16', '2001:db8::/48'], ['10.0.0.0/8', '2001:db8::/32'])).toBe(true);
    expect(areWithin(['10.0.0.0/8'], ['10.0.0.0/8'])).toBe(true);
    expect(areWithin(['0.0.0.0/0'], ['10.0.0.0/8'])).toBe(false);
    expect(areWithin(['10.0.0.0/7'], ['10.0.0.0/8'])).toBe(false);
    expect(areWithin(['::/0'], ['0.0.0.0/0'])).toBe(false);
    expect(areWithin(['10.0.0.0/8', '11.0.0.0/8'], ['10.0.0.0/8'])).toBe(false);
  });
});
