import { beforeAll, describe, expect, test } from 'vitest';
import { askAs, cookieOf, ownHeaders, setCookieOf, signIn } from '../../support/dashboard.ts';
import { UNSIGNED } from '../../support/manage.ts';
import { type Answer, gatehouse, newCustomer, send, TRANSPORTS } from '../../support/requests.ts';
import { eventually } from '../../support/webhooks.ts';
import { type SharedServer, sharedServer } from '../../support/shared-server.ts';

describe.each(TRANSPORTS)('POST /dashboard/session over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });
  const post = (body: unknown, cookie = ''): Promise<Answer> =>
    askAs(server.url, cookie, 'POST', '/dashboard/session', body);

  test('A secret key opens a session whose cookie scripts cannot read', async () => {
    const answer = await post({ key: server.secretKey });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(setCookieOf(answer)).toMatch(
      /^gh_dev=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    const nowSeconds = Math.floor(Date.now() / 1000);
    const { status, json } = await askAs(server.url, cookieOf(answer), 'GET', '/dashboard/api/session');
    expect([status, json]).toEqual([
      200,
      {
        customer_id: expect.stringMatching(/^cus_/) as string,
        name: 'test',
        key_prefix: server.secretKey.slice(0, 12),
        created_at: expect.any(Number) as number,
        expires_at: Number(json['created_at']) + 43_200,
        read_only: false,
        secure: false,
      },
    ]);
    expect(Math.abs(Number(json['created_at']) - nowSeconds)).toBeLessThanOrEqual(5);
  });

  test('A wrong, a revoked and a public key are told apart, and none opens a session', async () => {
    const revoked = await newCustomer(server.url, server.dataDir);
    await gatehouse(server.dataDir, 'keys', 'revoke', '--yes', revoked.secretKey);
    const wrong = `${server.secretKey.slice(0, -1)}${server.secretKey.endsWith('0') ? '1' : '0'}`;
    const answers = [wrong, 'x', revoked.secretKey, server.publicKey, revoked.publicKey].map((key) => post({ key }));
    const given = (await Promise.all(answers)).map((answer) => [
      answer.json['code'],
      answer.status,
      setCookieOf(answer),
    ]);
    expect(given).toEqual([
      ['unknown_key', 401, ''],
      ['unknown_key', 401, ''],
      ['revoked_key', 401, ''],
      ['key_not_allowed', 403, ''],
      ['key_not_allowed', 403, ''],
    ]);
  });

  test.each([
    ['{}', 422, 'validation_failed'],
    ['{"key":"a","code":"b"}', 422, 'validation_failed'],
    ['{"key":""}', 422, 'validation_failed'],
    ['{"key":7}', 422, 'validation_failed'],
    [`{"key":"${'a'.repeat(129)}"}`, 422, 'validation_failed'],
    ['[]', 400, 'invalid_request'],
    ['{"key":"a","key":"b"}', 400, 'invalid_request'],
    ['', 422, 'validation_failed'],
    ['{', 400, 'malformed_json'],
    [`{"key":"${'a'.repeat(1_024)}"}`, 413, 'body_too_large'],
  ])('The body %.40s is refused with %i', async (body, status, code) => {
    const answer = await post(body);
    expect([answer.status, answer.json['code'], setCookieOf(answer)]).toEqual([status, code, '']);
  });

  // The transport does not count sign-ins.
  test.runIf(transport === 'uws')(
    'One key signs in 120 times a minute; its newest session and other keys go on',
    async () => {
      const { secretKey: key } = await newCustomer(server.url, server.dataDir);
      // One more than two windows allow, so that the end of a window in between changes nothing.
      const answers: Answer[] = [];
      for (let n = 0; n < 241; n++) answers.push(await post({ key }));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expect(answers.filter(({ status }) => status === 204).length).toBeGreaterThanOrEqual(120);
      for (const { json, headers } of refused) {
        expect([json['code'], setCookieOf({ headers })]).toEqual(['rate_limited', '']);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      const newest = answers.findLast(({ status }) => status === 204);
      if (newest === undefined) throw new Error('no sign-in succeeded');
      expect((await askAs(server.url, cookieOf(newest), 'GET', '/dashboard/api/v1/me')).status).toBe(200);
      expect((await post({ key: server.secretKey })).status).toBe(204);
    },
  );

  test('A form, which another site could send, is refused by its media type', async () => {
    const headers = { 'content-type': 'text/plain' };
    const answer = await askAs(server.url, '', 'POST', '/dashboard/session', { key: server.secretKey }, headers);
    expect([answer.status, answer.json['code']]).toEqual([415, 'unsupported_media_type']);
  });

  test('Every sign-in has a new id, and never the one that the browser sent', async () => {
    const planted = `gh_dev=${'a'.repeat(43)}`;
    const first = await post({ key: server.secretKey }, planted);
    expect(cookieOf(first)).not.toBe(planted);
    expect((await askAs(server.url, planted, 'GET', '/dashboard/api/session')).status).toBe(401);
    const second = await post({ key: server.secretKey }, cookieOf(first));
    expect(cookieOf(second)).not.toBe(cookieOf(first));
    // The session before ended, so that nobody goes on with an id that was known earlier.
    const sessions = [first, second].map((one) => askAs(server.url, cookieOf(one), 'GET', '/dashboard/api/session'));
    expect((await Promise.all(sessions)).map(({ status }) => status)).toEqual([401, 200]);
  });

  test('A failed sign-in does not end the session that the browser has', async () => {
    const person = await signIn(server.url, { key: server.secretKey });
    expect((await post({ key: 'wrong' }, person.cookie)).status).toBe(401);
    expect((await person.ask('GET', '/dashboard/api/session')).status).toBe(200);
  });

  test('A key in a header does not sign in', async () => {
    const headers = { ...UNSIGNED, ...ownHeaders(server.url), authorization: `Bearer ${server.secretKey}` };
    const answer = await send(server.url, 'none', { path: '/dashboard/session', headers, body: '{}' });
    expect(answer.status).toBe(422);
    const read = await send(server.url, 'none', { method: 'GET', path: '/dashboard/api/session', headers });
    expect([read.status, read.json['code']]).toEqual([401, 'session_required']);
  });

  test('The key is in no line of the log', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const person = await signIn(server.url, { key: secretKey });
    await person.call('POST', '/v1/lists', { fingerprint_hash: 'ab'.repeat(32), action: 'watch' });
    const log = await eventually('the line of the call', () => {
      const text = server.stdout() + server.stderr();
      return Promise.resolve(text.includes(`"key_prefix":"${secretKey.slice(0, 12)}"`) ? text : null);
    });
    const prefix = secretKey.slice(0, 12);
    expect(log).toMatch(
      new RegExp(`"key_prefix":"${prefix}","session":"[0-9a-f]{8}","msg":"signed in to the dashboard"`),
    );
    expect(log).not.toContain(secretKey);
    expect(log).not.toContain(person.cookie.split('=')[1]);
  });
});

describe.each(TRANSPORTS)('POST /dashboard/logout over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });
  const statusOf = async (cookie: string): Promise<number> =>
    (await askAs(server.url, cookie, 'GET', '/dashboard/api/session')).status;

  test('Signing out ends this session only, and removes the cookie', async () => {
    const [one, other] = [
      await signIn(server.url, { key: server.secretKey }),
      await signIn(server.url, { key: server.secretKey }),
    ];
    const answer = await one.ask('POST', '/dashboard/logout');
    expect([answer.status, setCookieOf(answer)]).toEqual([
      204,
      'gh_dev=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    ]);
    expect([await statusOf(one.cookie), await statusOf(other.cookie)]).toEqual([401, 200]);
    const again = await one.ask('POST', '/dashboard/logout');
    expect([again.status, again.json['code']]).toEqual([401, 'session_required']);
  });

  test('Signing out everywhere ends all sessions of the key, and no others', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const people = await Promise.all([1, 2, 3].map(() => signIn(server.url, { key: secretKey })));
    const other = await signIn(server.url, { key: server.secretKey });
    expect((await people[1]?.ask('POST', '/dashboard/logout', { all: true }))?.status).toBe(204);
    expect(await Promise.all(people.map(({ cookie }) => statusOf(cookie)))).toEqual([401, 401, 401]);
    expect(await statusOf(other.cookie)).toBe(200);
    const wrong = await other.ask('POST', '/dashboard/logout', { all: 'yes' });
    expect([wrong.status, await statusOf(other.cookie)]).toEqual([422, 200]);
  });

  test('A 21st session of a key ends the oldest', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const people = [];
    for (let n = 0; n < 21; n++) people.push(await signIn(server.url, { key: secretKey }));
    const statuses = await Promise.all(people.map(({ cookie }) => statusOf(cookie)));
    expect(statuses).toEqual([401, ...Array<number>(20).fill(200)]);
  });

  test('A revoked key ends its sessions with the next request', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const person = await signIn(server.url, { key: secretKey });
    expect((await person.call('GET', '/v1/lists')).status).toBe(200);
    await gatehouse(server.dataDir, 'keys', 'revoke', '--yes', secretKey);
    const answers = [await person.call('GET', '/v1/lists'), await person.ask('GET', '/dashboard/api/session')];
    expect(answers.map(({ status, json }) => [status, json['code']])).toEqual([
      [401, 'session_required'],
      [401, 'session_required'],
    ]);
  });
});
