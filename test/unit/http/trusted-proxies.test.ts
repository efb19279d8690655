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
    ['10.1.1.1', '203.0.113.9:4711', '10.1.1.1', 'an address with a port is not an address'],
    ['10.1.1.1', ','.repeat(4_000), '10.1.1.1', 'the list has only empty entries'],
    ['10.1.1.1', '10.9.9.9,'.repeat(500) + '10.8.8.8', '10.9.9.9', 'the list is very long'],
  ])('The client of peer %s with X-Forwarded-For "%s" is %s: %s', (peer, forwardedFor, client) => {
    expect(proxies.clientOf(peer, forwardedFor)).toBe(client);
  });
});
