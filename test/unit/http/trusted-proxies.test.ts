import { describe, expect, test } from 'vitest';
import { TrustedProxies } from '../../../src/http/trusted-proxies.ts';

describe('trusted proxies', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32']);

  test('Without trusted proxies X-Forwarded-For is ignored', () => {
    const none = new TrustedProxies([]);
    expect([none.isEmpty, none.has('127.0.0.1')]).toEqual([true, false]);
    expect(none.clientOf('127.0.0.1', '203.0.113.9')).toBe('127.0.0.1');
  });

  test.each([
    ['198.51.100.1', '203.0.113.9', '198.51.100.1', 'a peer that is not a trusted proxy is the client itself'],
    ['10.1.1.1', '', '10.1.1.1', 'the proxy names no client'],
    ['10.1.1.1', '203.0.113.9', '203.0.113.9', 'the client that a trusted proxy names is used'],
    ['::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9', 'the same applies to an IPv4-mapped peer address'],
    ['2001:db8::1', '2001:470::1', '2001:470::1', 'the same applies to IPv6'],
    ['10.1.1.1', '1.1.1.1, 203.0.113.9', '203.0.113.9', 'an entry written by the client itself is ignored'],
    ['10.1.1.1', '1.1.1.1, 203.0.113.9 ,192.0.2.7', '203.0.113.9', 'two proxies are skipped'],
    ['10.1.1.1', '127.0.0.1, 198.51.100.1', '198.51.100.1', 'a client cannot claim a loopback address'],
    ['10.1.1.1', '10.2.2.2, 10.3.3.3', '10.2.2.2', 'all entries are proxies: the first is used'],
    ['10.1.1.1', '203.0.113.9, unknown', '10.1.1.1', 'an unreadable entry ends the chain'],
    ['10.1.1.1', '203.0.113.9, unknown, 192.0.2.7', '192.0.2.7', 'the result is then the proxy that passed it on'],
    ['10.1.1.1', '203.0.113.9:4711', '203.0.113.9', 'a port is not part of the address'],
    ['10.1.1.1', '203.0.113.9:4711, 192.0.2.7:80', '203.0.113.9', 'a proxy with a port is skipped too'],
    ['10.1.1.1', '203.0.113.9:_hidden', '203.0.113.9', 'nor is an obfuscated port'],
    ['10.1.1.1', '[2001:470::7]:443', '2001:470::7', 'IPv6 has a port behind brackets'],
    ['10.1.1.1', '[2001:470::7]', '2001:470::7', 'brackets may have no port'],
    ['10.1.1.1', '"[2001:470::7]:443"', '2001:470::7', 'an entry may be quoted'],
    ['10.1.1.1', 'for="[2001:470::7]:443"', '2001:470::7', 'an entry may be one of Forwarded'],
    ['10.1.1.1', 'proto=https;For=203.0.113.9;by=10.1.1.1', '203.0.113.9', 'such an entry may have other parts'],
    ['10.1.1.1', 'fe80::7%eth0', 'fe80::7', 'the zone names an interface of the proxy'],
    ['10.1.1.1', '[fe80::7%25eth0]:443', 'fe80::7', 'the same applies in brackets'],
    ['10.1.1.1', '::ffff:203.0.113.9:4711', '::ffff:203.0.113.9', 'a mapped address with a port'],
    ['10.1.1.1', '203.0.113.9, , 192.0.2.7,', '203.0.113.9', 'empty entries say nothing'],
    ['10.1.1.1', '203.0.113.9, _hidden', '10.1.1.1', 'an obfuscated node has no address'],
    ['10.1.1.1', '203.0.113.9, for="_hidden"', '10.1.1.1', 'nor has a quoted one'],
    ['10.1.1.1', '203.0.113.9, unknown:443', '10.1.1.1', 'nor has an unknown one with a port'],
    ['10.1.1.1', '203.0.113.9, 198.51.100.7:port', '10.1.1.1', 'what follows the colon is no port'],
    ['10.1.1.1', '203.0.113.9, 2001:470::7]:443', '10.1.1.1', 'a bracket is missing'],
    ['10.1.1.1', `203.0.113.9, ${'"'.repeat(5_000)}`, '10.1.1.1', 'an entry is very long'],
    ['10.1.1.1', ','.repeat(4_000), '10.1.1.1', 'the list has only empty entries'],
    ['10.1.1.1', '10.9.9.9,'.repeat(500) + '10.8.8.8', '10.9.9.9', 'the list is very long'],
  ])('The client of peer %s with X-Forwarded-For "%s" is %s: %s', (peer, forwardedFor, client) => {
    expect(proxies.clientOf(peer, forwardedFor)).toBe(client);
  });
});
