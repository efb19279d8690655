import { describe, expect, it } from 'vitest';
import { HOSTING_NETWORKS } from '../../../../src/risk/data/hosting-network-table.ts';
import {
  builtInHostingTable,
  leadingBits,
  parseNetwork,
  readHostingTable,
} from '../../../../src/risk/signals/hosting-networks.ts';
import type { HostingTable } from '../../../../src/risk/signals/hosting-networks.ts';
import { readIp } from '../../../../src/risk/signals/ip.ts';
import { DEFAULT_POLICY } from '../../../../src/risk/policy/policy.ts';

const SMALL = `gatehouse-hosting-networks 1 2026-11-22 4
AS64500 One
192.0.2.0/25 203.0.113.0/24
2001:db8::/32
AS64501 Two Ltd
192.0.2.128/32`;

function read(text: string): HostingTable {
  const outcome = readHostingTable(text);
  if (outcome.kind === 'fault') throw new Error(outcome.detail);
  return outcome.table;
}

function detailOf(text: string): string {
  const outcome = readHostingTable(text);
  return outcome.kind === 'fault' ? outcome.detail : 'ok';
}

describe('a look-up', () => {
  const table = read(SMALL);
  it.each([
    ['192.0.1.255', null],
    ['192.0.2.0', 64_500],
    ['192.0.2.127', 64_500],
    ['192.0.2.128', 64_501],
    ['192.0.2.129', null],
    ['203.0.112.255', null],
    ['203.0.113.0', 64_500],
    ['203.0.113.255', 64_500],
    ['203.0.114.0', null],
    ['0.0.0.0', null],
    ['255.255.255.255', null],
  ])('A look-up of the IPv4 address %s at the edge of a range returns %s', (ip, asn) => {
    expect(table.find(ip, 4)?.asn ?? null).toBe(asn);
  });

  it.each([
    ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', null],
    ['2001:db8::', 64_500],
    ['2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 64_500],
    ['2001:db9::', null],
    ['::1', null],
    ['2001::db8', null],
  ])('A look-up of the IPv6 address %s at the edge of a range returns %s', (ip, asn) => {
    expect(table.find(ip, 6)?.asn ?? null).toBe(asn);
  });

  it('A look-up compares the first three groups of an IPv6 address, however its zeros are written', () => {
    for (const [text, groups] of [
      ['2001:db8:5::', [0x2001, 0xdb8, 5]],
      ['2001:db8::5', [0x2001, 0xdb8, 0]],
      ['2001::db8:5:1:2:3', [0x2001, 0, 0]],
      ['2001:0:5:1:2:3:4:5', [0x2001, 0, 5]],
      ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', [0xffff, 0xffff, 0xffff]],
    ] as const) {
      const ip = readIp(text);
      expect(leadingBits(ip.kind === 'valid' ? ip.text : '')).toBe(
        (groups[0] * 65_536 + groups[1]) * 65_536 + groups[2],
      );
    }
  });
});

describe('a table that is not right', () => {
  it.each([
    ['is empty', '', 'header'],
    ['is of another version', SMALL.replace('networks 1', 'networks 2'), 'header'],
    ['has no date', SMALL.replace('2026-11-22', '2026-13-45'), 'header'],
    ['is cut between two networks', SMALL.slice(0, SMALL.indexOf(' 203')), 'it has 1 networks and announces 4'],
    ['is cut at its end', SMALL.slice(0, SMALL.lastIndexOf('\n')), 'it has 3 networks and announces 4'],
    ['is cut within a network', SMALL.slice(0, -3), '"192.0.2.128" is not a network'],
    ['holds a network that begins too late', SMALL.replace('203.0.113.0/24', '203.0.113.1/24'), 'is not a network'],
    ['holds a network that is too small', SMALL.replace('2001:db8::/32', '2001:db8::/64'), 'is not a network'],
    ['holds networks that overlap', SMALL.replace('192.0.2.128/32', '192.0.2.127/32'), 'overlap'],
    ['begins without a company', SMALL.replace('AS64500 One\n', ''), 'networks before a company'],
    ['names an impossible number', SMALL.replace('AS64500', 'AS4294967296'), 'no AS number'],
  ])('A table is rejected when it %s', (_what, text, detail) => {
    expect(detailOf(text)).toContain(detail);
  });

  it('A table is rejected if truncated at any character', () => {
    for (let length = 0; length < SMALL.length; length++) {
      const outcome = readHostingTable(SMALL.slice(0, length));
      // If truncated within the last prefix length, `/3` is a network that does not begin there.
      expect(outcome.kind).toBe('fault');
    }
  });

  it.each([
    '',
    '/',
    '1.2.3.4',
    '1.2.3.4/33',
    '1.2.3.0/-1',
    '1.2.3/24',
    'x::/32',
    '2001:db8::1/48',
    '::ffff:1.2.3.4/48',
  ])('parseNetwork rejects "%s"', (text) => {
    expect(parseNetwork(text)).toBeNull();
  });
});

describe('the built-in table', () => {
  const table = read(HOSTING_NETWORKS);

  it('The built-in table contains only networks of the lists of hosting and relay networks', () => {
    const named = [...HOSTING_NETWORKS.matchAll(/^AS(\d+)/gm)].map(([, asn]) => Number(asn));
    expect(named.length).toBeGreaterThan(15);
    for (const asn of named) {
      expect([DEFAULT_POLICY.hostingAsns.has(asn), DEFAULT_POLICY.relayAsns.has(asn)]).toContain(true);
      expect(DEFAULT_POLICY.hostingAsns.has(asn) && DEFAULT_POLICY.relayAsns.has(asn)).toBe(false);
    }
  });

  it.each([
    ['52.95.110.1', 16_509],
    ['20.50.1.1', 8_075],
    ['34.100.1.1', 396_982],
    ['167.99.1.1', 14_061],
    ['95.216.1.1', 24_940],
    ['51.68.1.1', 16_276],
    ['172.232.0.1', 63_949],
    // A relay next to a hosting network.
    ['172.231.255.255', 36_183],
    ['104.28.0.1', 13_335],
    // Access networks: Comcast, Vodafone, BT, Deutsche Telekom.
    ['24.5.6.7', null],
    ['91.64.1.1', null],
    ['86.128.1.1', null],
    ['84.128.1.1', null],
    // Documentation addresses.
    ['203.0.113.1', null],
  ])('The built-in table maps %s to %s', (ip, asn) => {
    expect(table.find(ip, 4)?.asn ?? null).toBe(asn);
  });

  it('The built-in table contains IPv6 networks', () => {
    expect(table.find('2a01:4f8:1:2::3', 6)).toEqual({ asn: 24_940, organisation: 'Hetzner' });
    expect(table.find('2a09:bac5::1', 6)?.asn).toBe(13_335);
    expect(table.find('2003:e5::1', 6)).toBeNull();
  });

  it('The built-in table is parsed once', () => {
    expect(builtInHostingTable()).toBe(builtInHostingTable());
  });
});
