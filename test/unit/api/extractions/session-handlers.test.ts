import { describe, expect, test } from 'vitest';
import { NOW_MS, setUp, STORE_FAULT } from './support.ts';

const GOOD = { host: 'shop.example', cookies: [{ name: 'sid', value: 'cookie-secret' }] };
const LATER = NOW_MS / 1000 + 60;
const OLD = { ...GOOD.cookies[0], expires_at: NOW_MS / 1000 };
const PLATFORM = { host: 'amazonaws.com', cookies: [{ ...GOOD.cookies[0], domain: 's3.amazonaws.com' }] };

describe('POST /v1/sessions', () => {
  test('creating a session responds with 201, four fields and the Location, and never with its content', async () => {
    const { ask, madeSessions } = setUp();
    const body = { ...GOOD, headers: { Authorization: 'Bearer header-secret' }, expires_at: LATER };
    const made = await ask('POST', '/v1/sessions', body);
    expect(made.status).toBe(201);
    const id = String(made.json['id']);
    expect(id).toMatch(/^ses_[0-9A-Z]{26}$/);
    const expected = { id, host: 'shop.example', created_at: NOW_MS / 1000, expires_at: LATER };
    expect(made.text).toBe(JSON.stringify(expected));
    expect(made.fields).toContain(`\r\nLocation: /v1/sessions/${id}`);
    const shown = [await ask('GET', `/v1/sessions/${id}`), await ask('GET', '/v1/sessions')];
    expect(shown[0]?.text).toBe(made.text);
    for (const { text } of shown) expect(text).not.toMatch(/secret|sid|authorization/i);
    expect(madeSessions).toEqual([
      {
        customer: 7,
        expiresAtMs: LATER * 1000,
        session: {
          host: 'shop.example',
          cookies: [
            {
              name: 'sid',
              value: 'cookie-secret',
              domain: null,
              path: '/',
              secure: false,
              httpOnly: false,
              expiresAtMs: null,
            },
          ],
          headers: { authorization: 'Bearer header-secret' },
        },
      },
    ]);
  });

  test('hosts are accepted in common spellings', async () => {
    const { ask } = setUp();
    const hosts = [
      ['Shop.Example', 'shop.example'],
      ['bücher.example', 'xn--bcher-kva.example'],
      ['www.shop.co.uk', 'www.shop.co.uk'],
      ['shop.example.', 'shop.example'],
      ['81.2.69.160', '81.2.69.160'],
      ['2606:4700:4700::1111', '2606:4700:4700::1111'],
    ];
    for (const [host, spelt] of hosts)
      expect((await ask('POST', '/v1/sessions', { ...GOOD, host })).json['host']).toBe(spelt);
  });

  test('the attributes of a cookie are kept', async () => {
    const { ask, madeSessions } = setUp();
    const cookie = { name: 'a', value: '', domain: '.API.shop.example', path: '/x', secure: true, http_only: true };
    await ask('POST', '/v1/sessions', { ...GOOD, cookies: [{ ...cookie, expires_at: LATER }] });
    expect(madeSessions[0]?.session.cookies).toEqual([
      {
        name: 'a',
        value: '',
        domain: 'api.shop.example',
        path: '/x',
        secure: true,
        httpOnly: true,
        expiresAtMs: LATER * 1000,
      },
    ]);
  });

  test('a session with headers only is accepted', async () => {
    const { ask } = setUp();
    const body = { host: 'shop.example', headers: { 'X-Token': ' t ' } };
    expect((await ask('POST', '/v1/sessions', body)).status).toBe(201);
  });

  test.each([
    ['no host', { host: undefined }, '/host', 'required'],
    ['a number as host', { host: 7 }, '/host', 'wrong_type'],
    ['an empty host', { host: '' }, '/host', 'invalid_value'],
    ['a host with a port', { host: 'shop.example:443' }, '/host', 'invalid_value'],
    ['an IP address with a port', { host: '81.2.69.160:80' }, '/host', 'invalid_value'],
    ['a host with a path', { host: 'shop.example/a' }, '/host', 'invalid_value'],
    ['a URL', { host: 'https://shop.example' }, '/host', 'invalid_value'],
    ['a user', { host: 'a@shop.example' }, '/host', 'invalid_value'],
    ['a blank', { host: ' shop.example' }, '/host', 'invalid_value'],
    ['a single word', { host: 'localhost' }, '/host', 'invalid_value'],
    ['a public suffix', { host: 'co.uk' }, '/host', 'invalid_value'],
    ['a shared hosting platform', { host: 'github.io' }, '/host', 'invalid_value'],
    ['brackets', { host: '[::1]' }, '/host', 'invalid_value'],
    ['a wildcard', { host: '*.shop.example' }, '/host', 'invalid_value'],
    ['no content', { cookies: [] }, '/cookies', 'required'],
    ['cookies that are not a list', { cookies: 'sid=1' }, '/cookies', 'wrong_type'],
    ['a cookie without a name', { cookies: [{ value: 'x' }] }, '/cookies/0/name', 'required'],
    ['a cookie without a value', { cookies: [{ name: 'x' }] }, '/cookies/0/value', 'required'],
    ['a name with a blank', { cookies: [{ name: 'a b', value: 'x' }] }, '/cookies/0/name', 'invalid_value'],
    ['a value with a semicolon', { cookies: [{ name: 'a', value: 'x;y' }] }, '/cookies/0/value', 'invalid_value'],
    ['a value with a line feed', { cookies: [{ name: 'a', value: 'x\ny' }] }, '/cookies/0/value', 'invalid_value'],
    ['another domain', { cookies: [cookie('else.example')] }, '/cookies/0/domain', 'invalid_value'],
    ['a parent domain', { cookies: [cookie('example')] }, '/cookies/0/domain', 'invalid_value'],
    ['a shared hosting platform below the host', PLATFORM, '/cookies/0/domain', 'invalid_value'],
    ['an expired cookie', { cookies: [OLD] }, '/cookies/0/expires_at', 'invalid_value'],
    ['a domain with the same ending', { cookies: [cookie('ashop.example')] }, '/cookies/0/domain', 'invalid_value'],
    ['181 cookies', { cookies: Array.from({ length: 181 }, () => cookie(null)) }, '/cookies', 'too_many'],
    ['a long value', { cookies: [{ name: 'a', value: 'x'.repeat(4_097) }] }, '/cookies/0/value', 'too_long'],
    ['headers that are not an object', { headers: [] }, '/headers', 'wrong_type'],
    ['a header that is not a string', { headers: { a: 1 } }, '/headers/a', 'wrong_type'],
    ['a header with a line feed', { headers: { a: 'x\r\ny: z' } }, '/headers/a', 'invalid_value'],
    ['an empty header', { headers: { a: '' } }, '/headers/a', 'invalid_value'],
    ['an invalid header name', { headers: { 'a b': 'x' } }, '/headers/a b', 'invalid_value'],
    ['a Host header', { headers: { Host: 'else.example' } }, '/headers/Host', 'invalid_value'],
    ['cookies as a header', { headers: { Cookie: 'a=b' } }, '/headers/Cookie', 'invalid_value'],
    ['a repeated header', { headers: { 'X-A': '1', 'x-a': '2' } }, '/headers/x-a', 'invalid_value'],
    ['a long header', { headers: { a: 'x'.repeat(4_097) } }, '/headers/a', 'too_long'],
    ['33 headers', { headers: many(33) }, '/headers', 'invalid_value'],
    ['an expiry in the past', { expires_at: NOW_MS / 1000 }, '/expires_at', 'invalid_value'],
    ['an expiry in milliseconds', { expires_at: 253_402_300_800 }, '/expires_at', 'too_large'],
    ['an expiry as text', { expires_at: 'soon' }, '/expires_at', 'wrong_type'],
  ])('a session with %s is 422', async (_what, changes, pointer, code) => {
    const { ask, madeSessions } = setUp();
    const refused = await ask('POST', '/v1/sessions', { ...GOOD, ...changes });
    expect(refused.json).toMatchObject({ status: 422, code: 'validation_failed' });
    expect(refused.json['errors']).toMatchObject([{ pointer, code }]);
    expect(refused.text).not.toContain('cookie-secret');
    expect(madeSessions).toEqual([]);
  });

  test('a session larger than can be sent is 422', async () => {
    const { ask } = setUp();
    const cookies = Array.from({ length: 5 }, (_, n) => ({ name: `c${n}`, value: 'x'.repeat(4_000) }));
    expect((await ask('POST', '/v1/sessions', { ...GOOD, cookies })).json['errors']).toMatchObject([
      { pointer: '', code: 'too_large' },
    ]);
  });

  test.each(['127.0.0.1', '10.0.0.1', '::1', '169.254.169.254', '2130706433', '0x7f.1'])(
    'a session for the blocked address %s is 422 blocked_url',
    async (host) => {
      const { ask } = setUp();
      const refused = await ask('POST', '/v1/sessions', { ...GOOD, host });
      expect(refused.json).toMatchObject({ status: 422, code: 'blocked_url', errors: [{ pointer: '/host' }] });
    },
  );

  test('a session for an address that the operator allows is accepted', async () => {
    const { ask } = setUp(undefined, ['127.0.0.0/8']);
    expect((await ask('POST', '/v1/sessions', { ...GOOD, host: '127.0.0.1' })).status).toBe(201);
  });

  test('a session beyond the maximum number is 409, and a store failure is 500', async () => {
    const { ask, control } = setUp();
    Object.assign(control.sessions, { create: () => Promise.resolve({ kind: 'limit_reached' }) });
    expect((await ask('POST', '/v1/sessions', GOOD)).json).toMatchObject({ status: 409, code: 'limit_reached' });
    Object.assign(control.sessions, { create: () => Promise.resolve(STORE_FAULT) });
    expect((await ask('POST', '/v1/sessions', GOOD)).json).toMatchObject({ status: 500, code: 'internal_error' });
  });
});

describe('GET /v1/sessions', () => {
  test('sessions are listed newest first, in pages', async () => {
    const { ask, sessions } = setUp();
    for (const host of ['a.example', 'b.example', 'c.example']) await ask('POST', '/v1/sessions', { ...GOOD, host });
    const first = await ask('GET', '/v1/sessions?limit=2');
    const second = await ask('GET', `/v1/sessions?limit=2&cursor=${String(first.json['next_cursor'])}`);
    const rows = [...(first.json['data'] as { id: string }[]), ...(second.json['data'] as { id: string }[])];
    expect(rows.map(({ id }) => id)).toEqual(sessions.map(({ id }) => id));
    expect(second.json).toMatchObject({ has_more: false, next_cursor: null });
  });
});

function cookie(domain: string | null): object {
  return { name: 'a', value: 'x', domain };
}

function many(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'v']));
}
