import { describe, expect, test } from 'vitest';
import { TrustedProxies } from '../../../src/base/trusted-proxies.ts';

describe('trusted proxies', () => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32']);

  test('without any, nobody’s X-Forwarded-For counts', () => {
    const none = new TrustedProxies([]);
    expect([none.isEmpty, none.has('127.0.0.1')]).toEqual([true, false]);
    expect(none.clientOf('127.0.0.1', '203.0.113.9')).toBe('127.0.0.1');
  });

  test.each([
    ['198.51.100.1', '203.0.113.9', '198.51.100.1', 'a peer that is no proxy speaks for itself'],
    ['10.1.1.1', '', '10.1.1.1', 'a proxy that names nobody'],
    ['10.1.1.1', '203.0.113.9', '203.0.113.9', 'a proxy’s word counts'],
    ['::ffff:10.1.1.1', '203.0.113.9', '203.0.113.9', 'also on a socket for both versions'],
    ['2001:db8::1', '2001:470::1', '2001:470::1', 'over IPv6'],
    ['10.1.1.1', '1.1.1.1, 203.0.113.9', '203.0.113.9', 'what the client wrote itself does not count'],
    ['10.1.1.1', '1.1.1.1, 203.0.113.9 ,192.0.2.7', '203.0.113.9', 'through two proxies'],
    ['10.1.1.1', '127.0.0.1, 198.51.100.1', '198.51.100.1', 'nobody makes a loopback peer of itself'],
    ['10.1.1.1', '10.2.2.2, 10.3.3.3', '10.2.2.2', 'proxies alone: the first of them'],
    ['10.1.1.1', '203.0.113.9, unknown', '10.1.1.1', 'what cannot be read ends the chain'],
    ['10.1.1.1', '203.0.113.9, unknown, 192.0.2.7', '192.0.2.7', 'at the proxy that passed it on'],
    ['10.1.1.1', '203.0.113.9:4711', '10.1.1.1', 'an address with a port is none'],
    ['10.1.1.1', ','.repeat(4_000), '10.1.1.1', 'a list of nothing'],
    ['10.1.1.1', '10.9.9.9,'.repeat(500) + '10.8.8.8', '10.9.9.9', 'a list without an end'],
  ])('%s with "%s" is %s: %s', (peer, forwardedFor, client) => {
    expect(proxies.clientOf(peer, forwardedFor)).toBe(client);
  });
});
