import { beforeAll, describe, expect, test } from 'vitest';
import { askAs, type Person, setCookieOf, signIn } from '../../support/dashboard.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

const ENTRY = { fingerprint_hash: 'cd'.repeat(32), action: 'block' };
const FOREIGN = 'https://evil.example';

/** What a page of another site can make a browser send; without the cookie, which SameSite keeps back, it would be even less. */
const ATTACKS: readonly (readonly [string, Readonly<Record<string, string | null>>])[] = [
  ['another Origin', { origin: FOREIGN, 'sec-fetch-site': null }],
  ['another Origin and Sec-Fetch-Site: cross-site', { origin: FOREIGN, 'sec-fetch-site': 'cross-site' }],
  ['Sec-Fetch-Site: cross-site', { 'sec-fetch-site': 'cross-site' }],
  ['Sec-Fetch-Site: same-site', { 'sec-fetch-site': 'same-site' }],
  ['the Origin of a sandboxed frame', { origin: 'null', 'sec-fetch-site': null }],
  ['no X-Gatehouse', { 'x-gatehouse': null }],
  ['neither Origin nor Sec-Fetch-Site', { origin: null, 'sec-fetch-site': null }],
  ['a rebound name', { origin: 'http://evil.example', host: 'evil.example', 'sec-fetch-site': null }],
];

describe.each(TRANSPORTS)('requests of other sites over %s', (transport) => {
  let server: SharedServer;
  let person: Person;
  beforeAll(async () => {
    server = await sharedServer(transport);
    person = await signIn(server.url, { key: server.secretKey });
  });

  test.each(ATTACKS)('With %s no write is made, and nobody is signed in or out', async (_case, headers) => {
    const write = await person.call('POST', '/v1/lists', ENTRY, headers);
    const remove = await person.call('DELETE', `/v1/lists/${ENTRY.fingerprint_hash}`, undefined, headers);
    const login = await askAs(server.url, '', 'POST', '/dashboard/session', { key: server.secretKey }, headers);
    const logout = await person.ask('POST', '/dashboard/logout', { all: true }, headers);
    for (const answer of [write, remove, login, logout]) {
      expect([answer.status, answer.json['code'], setCookieOf(answer)]).toEqual([403, 'cross_site_request', '']);
    }
    expect((await person.call('GET', '/v1/lists')).json['data']).toEqual([]);
  });

  test.each(['same-site', 'cross-site'])(
    'A page of another origin (%s) reads nothing and costs no allowance',
    async (site) => {
      const headers = { origin: null, 'x-gatehouse': null, 'sec-fetch-site': site };
      const left = async (): Promise<number> =>
        Number((await person.call('GET', '/v1/lists')).headers['x-svc-rl-remaining']);
      const before = await left();
      for (const path of ['/v1/lists', '/v1/top?by=ip', '/session', '/readyz']) {
        const answer = await person.call('GET', path, undefined, headers);
        expect([path, answer.status, answer.json['code']]).toEqual([path, 403, 'cross_site_request']);
      }
      expect(before - (await left())).toBe(1);
    },
  );

  test('Reading needs neither Origin nor X-Gatehouse, and gives no other site access', async () => {
    const headers = { origin: FOREIGN, 'x-gatehouse': null, 'sec-fetch-site': null };
    const answer = await person.call('GET', '/v1/lists', undefined, headers);
    expect(answer.status).toBe(200);
    const typed = await person.call('GET', '/v1/lists', undefined, { ...headers, 'sec-fetch-site': 'none' });
    expect(typed.status).toBe(200);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
    expect(answer.headers['cross-origin-resource-policy']).toBe('same-origin');
    const preflight = await person.call('OPTIONS', '/v1/lists', undefined, { 'x-gatehouse': null, origin: FOREIGN });
    expect([preflight.status, preflight.json['code']]).toEqual([403, 'cross_site_request']);
  });

  test('A page of the dashboard writes, with either sign of its origin', async () => {
    const paths = `/v1/lists/${ENTRY.fingerprint_hash}`;
    expect((await person.call('POST', '/v1/lists', ENTRY)).status).toBe(201);
    expect((await person.call('DELETE', paths, undefined, { 'sec-fetch-site': null })).status).toBe(204);
    expect((await person.call('POST', '/v1/lists', ENTRY, { origin: null })).status).toBe(201);
    expect((await person.call('DELETE', paths, undefined, { origin: null })).status).toBe(204);
  });
});
