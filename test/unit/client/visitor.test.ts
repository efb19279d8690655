import { describe, expect, test } from 'vitest';
import { visitorOf, type VisitorOptions } from '../../../src/client/visitor.ts';

/** Returns the address that is found, or the code of the refusal. */
function addressOf(connection: string | undefined, forwarded: string | undefined, options: VisitorOptions): string {
  const header = options.forwardedHeader ?? 'x-forwarded-for';
  try {
    const headers = forwarded === undefined ? {} : { [header]: forwarded };
    return visitorOf({ headers, socket: { remoteAddress: connection } }, options).ip ?? '';
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

const PUBLIC = '81.2.69.160';
const FORGED = '9.9.9.9';

describe('the visitor’s address', () => {
  test.each<[string, string | undefined, string | undefined, VisitorOptions, string]>([
    ['is that of the connection without proxies', PUBLIC, FORGED, {}, PUBLIC],
    ['is that of the connection with an empty list', PUBLIC, FORGED, { trustProxy: [] }, PUBLIC],
    ['is IPv4 where it is IPv4-mapped', `::ffff:${PUBLIC}`, undefined, {}, PUBLIC],
    ['is IPv4 where it is IPv4-mapped in hex', '::ffff:5102:45a0', undefined, {}, PUBLIC],
    ['is IPv6 in its short form', '2a02:0:0:0:0:0:0:1', undefined, {}, '2a02::1'],
    ['is the last entry behind one proxy', '10.0.0.2', `${FORGED}, ${PUBLIC}`, { trustProxy: 1 }, PUBLIC],
    ['is the last but one behind two', '10.0.0.2', `${FORGED}, ${PUBLIC}, 10.0.0.3`, { trustProxy: 2 }, PUBLIC],
    ['needs no connection behind a known number', undefined, `${FORGED}, ${PUBLIC}`, { trustProxy: 1 }, PUBLIC],
    [
      'is the first outside trusted networks',
      '10.0.0.2',
      `${FORGED}, ${PUBLIC}, 10.0.0.3`,
      { trustProxy: ['10.0.0.0/8'] },
      PUBLIC,
    ],
    ['is that of a connection from outside', PUBLIC, FORGED, { trustProxy: ['private'] }, PUBLIC],
    ['knows networks by their names', '127.0.0.1', PUBLIC, { trustProxy: ['loopback'] }, PUBLIC],
    ['knows IPv4-mapped proxies', '::ffff:10.0.0.2', PUBLIC, { trustProxy: ['10.0.0.0/8'] }, PUBLIC],
    ['knows proxies with IPv6', 'fd00::1', PUBLIC, { trustProxy: ['fc00::/7'] }, PUBLIC],
    ['loses its port', '10.0.0.2', `${PUBLIC}:51000`, { trustProxy: 1 }, PUBLIC],
    ['loses brackets and port', '10.0.0.2', '[2a02::1]:51000', { trustProxy: 1 }, '2a02::1'],
    [
      'is that of Forwarded',
      '10.0.0.2',
      `for=${FORGED}, for="[2a02::1]:4711";proto=https`,
      { trustProxy: 1, forwardedHeader: 'forwarded' },
      '2a02::1',
    ],
    [
      'is that of a header of one’s own',
      '10.0.0.2',
      PUBLIC,
      { trustProxy: 1, forwardedHeader: 'cf-connecting-ip' },
      PUBLIC,
    ],
    ['is refused if it is private', '10.0.0.2', undefined, {}, 'address_refused'],
    ['is refused if it is loopback', '::1', undefined, {}, 'address_refused'],
    ['is refused if it is link-local', 'fe80::1%eth0', undefined, {}, 'address_refused'],
    ['is refused if it is IPv4-mapped and private', '::ffff:192.168.1.1', undefined, {}, 'address_refused'],
    ['is refused if a proxy is left out', '10.0.0.2', `${PUBLIC}, 10.0.0.3`, { trustProxy: 1 }, 'address_refused'],
    [
      'is refused if it is obfuscated',
      '10.0.0.2',
      'for=_hidden',
      { trustProxy: 1, forwardedHeader: 'forwarded' },
      'address_unknown',
    ],
    ['is refused if nothing is known', undefined, undefined, {}, 'address_unknown'],
    ['is refused if it is not one', '10.0.0.2', '1.2.3', { trustProxy: 1 }, 'address_unknown'],
    ['is refused if the header is empty', '10.0.0.2', '', { trustProxy: 1 }, 'address_refused'],
    ['may be private in development', '127.0.0.1', undefined, { allowPrivateAddresses: true }, '127.0.0.1'],
    ['refuses networks that are not ones', PUBLIC, undefined, { trustProxy: ['10.0.0.0/33'] }, 'invalid_option'],
    ['refuses numbers that are not ones', PUBLIC, undefined, { trustProxy: -1 }, 'invalid_option'],
  ])('The address %s', (_name, connection, forwarded, options, expected) => {
    expect(addressOf(connection, forwarded, options)).toBe(expected);
  });

  test('The refusal of a private address names the setting', () => {
    const request = { headers: {}, socket: { remoteAddress: '10.1.2.3' } };
    expect(() => visitorOf(request)).toThrow(/10\.1\.2\.3.*private.*trustProxy/);
  });
});

test('Headers are passed on by an allow-list: no cookie, no authorization, nothing unknown', () => {
  const facts = visitorOf({
    headers: {
      host: 'shop.example',
      'user-agent': 'Browser/1',
      accept: '*/*',
      'accept-language': 'de',
      cookie: 'session=secret',
      authorization: 'Bearer secret',
      'x-api-key': 'secret',
      'x-svc-ja4': 'forged',
      referer: 'https://shop.example/login?token=secret',
    },
    url: '/login?code=secret',
    socket: { remoteAddress: PUBLIC },
  });
  expect(facts).toEqual({
    ip: PUBLIC,
    user_agent: 'Browser/1',
    url: 'http://shop.example/login',
    referrer: 'https://shop.example/login',
    headers: { accept: '*/*', 'accept-language': 'de', 'user-agent': 'Browser/1' },
  });
});

test('Behind a proxy the page has the scheme and the host that the visitor used, and TLS fingerprints of the proxy are passed on', () => {
  const facts = visitorOf(
    {
      headers: {
        host: '10.0.0.9:3000',
        'x-forwarded-host': 'shop.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': PUBLIC,
        'x-svc-ja4': 't13d1516h2_8daaf6152771_02713d6af862',
      },
      url: '/',
      originalUrl: '/login',
      socket: { remoteAddress: '10.0.0.2' },
    },
    { trustProxy: 1 },
  );
  expect(facts).toMatchObject({
    url: 'https://shop.example/login',
    headers: { 'x-svc-ja4': 't13d1516h2_8daaf6152771_02713d6af862' },
  });
});

test('A Request of fetch is read like one of node:http', () => {
  const request = new Request('https://shop.example/login?x=1', {
    headers: { 'user-agent': 'Browser/1', 'x-forwarded-for': PUBLIC },
  });
  expect(visitorOf(request, { trustProxy: 1 })).toEqual({
    ip: PUBLIC,
    user_agent: 'Browser/1',
    url: 'https://shop.example/login',
    headers: { 'user-agent': 'Browser/1' },
  });
});
