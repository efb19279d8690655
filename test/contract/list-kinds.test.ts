import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../support/manage.ts';
import { type Answer, CALM, decide, newCustomer } from '../support/requests.ts';
import { type SharedServer, sharedServer } from '../support/shared-server.ts';

/** Contract, 7.1 to 7.3: entries of every kind, with a customer of its own for each test. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

interface Lists {
  readonly put: (kind: string, value: unknown, action?: string, more?: object) => Promise<Answer>;
  readonly remove: (kind: string, value: string) => Promise<Answer>;
  readonly read: (query?: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly ask: (changes?: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly batch: (entries: readonly object[], query?: string) => Promise<Answer>;
}

let sessions = 0;

async function customerLists(): Promise<Lists> {
  const { secretKey: key } = await newCustomer(server.url, server.dataDir);
  return {
    put: (kind, value, action = 'block', more = {}) =>
      call(server.url, key, 'POST', '/v1/lists', { kind, value, action, ...more }),
    remove: (kind, value) => bearer(server.url, key, 'DELETE', `/v1/lists/${kind}/${encodeURIComponent(value)}`),
    async read(query = '') {
      const { json } = await bearer(server.url, key, 'GET', `/v1/lists${query}`);
      return json['data'] as readonly Readonly<Record<string, unknown>>[];
    },
    async ask(changes = {}) {
      const body = { ...CALM, session_token: `kinds-${++sessions}`, ...changes };
      return (await decide(server.url, key, body)).json;
    },
    batch: (entries, query = '') => call(server.url, key, 'POST', `/v1/lists/batch${query}`, { entries }),
  };
}

const SUBJECT = {
  ip: '203.0.113.7',
  user_agent: 'AcmeBot/1.5 (Linux; x86_64)',
  entity_keys: { email: 'Anna.Schmidt+x@gmail.com', card: '4711' },
  event_type: 'payment',
};

describe('contract, 7.1 and 7.2: entries of every kind', () => {
  test.each([
    ['ip', '203.0.113.7'],
    ['network', '203.0.113.0/24'],
    ['network', '203.0.0.0/16'],
    ['email', 'annaschmidt@gmail.com'],
    ['email_domain', 'gmail.com'],
    ['email_domain', 'com'],
    ['entity.card', '4711'],
    ['entity.email', 'anna.schmidt@gmail.com'],
    ['user_agent', 'AcmeBot/1.5 (Linux; x86_64)'],
    ['user_agent', 'AcmeBot/1.*'],
  ])('A block of %s %s decides the next decision, and its removal the one after', async (kind, value) => {
    const { put, remove, ask } = await customerLists();
    expect((await ask(SUBJECT))['decision']).not.toBe('BLOCK');
    const written = await put(kind, value);
    expect(written.status).toBe(201);
    expect(written.json).toMatchObject({ kind, action: 'block' });
    const blocked = await ask(SUBJECT);
    expect(blocked).toMatchObject({ decision: 'BLOCK', score: 100 });
    expect((blocked['reasons'] as string[]).filter((code) => code === 'list_block')).toHaveLength(1);
    expect((await remove(kind, value)).status).toBe(204);
    expect((await ask(SUBJECT))['decision']).not.toBe('BLOCK');
  });

  test('An IPv6 address stands for its /64, and a user agent without * for its whole text', async () => {
    const { put, ask } = await customerLists();
    expect((await put('ip', '2001:db8:1:2::7')).json['value']).toBe('2001:db8:1:2::/64');
    expect((await ask({ ip: '2001:db8:1:2:ffff::1' }))['decision']).toBe('BLOCK');
    expect((await ask({ ip: '2001:db8:1:3::1' }))['decision']).not.toBe('BLOCK');
    await put('user_agent', 'AcmeBot/2');
    expect((await ask({ user_agent: 'AcmeBot/2.1' }))['decision']).not.toBe('BLOCK');
  });

  test('Of networks the most specific decides', async () => {
    const { put, ask } = await customerLists();
    await put('network', '203.0.0.0/16');
    await put('network', '203.0.113.0/24', 'allow');
    expect((await ask(SUBJECT))['decision']).not.toBe('BLOCK');
    expect((await ask({ ...SUBJECT, ip: '203.0.114.7' }))['decision']).toBe('BLOCK');
    await put('ip', '203.0.113.7');
    expect((await ask(SUBJECT))['decision']).toBe('BLOCK');
  });

  test('An entry counts for its event types only', async () => {
    const { put, ask, read } = await customerLists();
    await put('network', '203.0.113.0/24', 'block', { event_types: ['Signup'] });
    expect((await read())[0]).toMatchObject({ kind: 'network', value: '203.0.113.0/24', event_types: ['signup'] });
    expect((await ask({ ...SUBJECT, event_type: 'signup' }))['decision']).toBe('BLOCK');
    expect((await ask(SUBJECT))['decision']).not.toBe('BLOCK');
  });

  test('An allowed person passes a payment from a blocked network, but not a login', async () => {
    const { put, ask } = await customerLists();
    await put('network', '203.0.113.0/24');
    await put('email', 'anna.schmidt@gmail.com', 'allow');
    expect(await ask(SUBJECT)).toMatchObject({ decision: 'ALLOW' });
    const bot = { ...SUBJECT, event_type: 'login', user_agent: 'HeadlessChrome/157.0' };
    const login = await ask(bot);
    expect(login['decision']).not.toBe('ALLOW');
    expect(login['reasons']).not.toContain('list_block');
    expect(login['reasons']).toContain('list_allow');
  });

  test('Identities are shown as their hash, by which they are found and removed', async () => {
    const { put, remove, read, ask } = await customerLists();
    const { json } = await put('entity.card', '4711');
    expect(json['value']).toMatch(/^hash:[0-9a-f]{32}$/);
    expect(json).not.toHaveProperty('fingerprint_hash');
    expect(await read('?kind=entity.card')).toMatchObject([{ kind: 'entity.card', value: json['value'] }]);
    expect(await read('?kind=entity.other')).toEqual([]);
    expect((await remove('entity.card', String(json['value']))).status).toBe(204);
    expect((await ask(SUBJECT))['decision']).not.toBe('BLOCK');
  });

  test('A value that cannot be read is refused at its place, with the right form', async () => {
    const { put } = await customerLists();
    const { status, json } = await put('network', '203.0.113.7/24');
    expect(status).toBe(422);
    expect(json['errors']).toEqual([
      { pointer: '/value', code: 'invalid_value', message: 'The address has bits beyond /24: write 203.0.113.0/24.' },
    ]);
    expect((await put('planet', 'x')).json).toMatchObject({ errors: [{ pointer: '/kind' }] });
  });

  test('A batch takes all kinds; a page of one kind has only these', async () => {
    const { batch, read } = await customerLists();
    const hash = 'ab'.repeat(32);
    const { json } = await batch([
      { fingerprint_hash: hash, action: 'watch' },
      { kind: 'country', value: 'fr', action: 'block' },
      { kind: 'country', value: 'France', action: 'block' },
      { kind: 'asn', value: 64_500, action: 'watch' },
    ]);
    expect(json['results']).toMatchObject([
      { fingerprint_hash: hash, status: 201 },
      { kind: 'country', value: 'FR', status: 201 },
      { kind: 'country', value: 'France', status: 422, code: 'validation_failed' },
      { kind: 'asn', value: '64500', status: 201 },
    ]);
    expect(await read()).toHaveLength(3);
    expect(await read('?kind=country')).toMatchObject([{ kind: 'country', value: 'FR' }]);
    expect(await read('?kind=fingerprint')).toMatchObject([
      { fingerprint_hash: hash, kind: 'fingerprint', value: hash },
    ]);
  });

  test('Answers to writes say how many sessions an entry would have concerned, and a broad one must be confirmed', async () => {
    const { put, ask, batch } = await customerLists();
    for (let n = 0; n < 12; n++) await ask({ ...SUBJECT, ip: `203.0.113.${n}`, entity_keys: { user_id: `u${n}` } });
    for (let n = 0; n < 4; n++) await ask({ ip: `198.51.100.${n}` });
    const held = await put('network', '203.0.113.0/24');
    expect(held.status).toBe(409);
    expect(held.json['code']).toBe('confirm_required');
    const entry = { kind: 'network', value: '203.0.113.0/24', action: 'block' };
    const dry = await batch([entry, { kind: 'entity.user_id', value: 'u3', action: 'block' }], '?dry_run=true');
    expect(dry.json['results']).toMatchObject([
      { change: 'created', usage: { sessions_24h: 12, identities_24h: 12 }, warning: 'broad_entry' },
      { change: 'created', usage: { sessions_24h: 1, identities_24h: 1 } },
    ]);
    const written = await put('network', '203.0.113.0/24', 'block', { confirm: true });
    expect(written.json).toMatchObject({ usage: { sessions_24h: 12 }, warning: 'broad_entry' });
    expect((await put('email_domain', 'mail.example')).json['usage']).toBeNull();
  });

  test('A value is removed by a query as well, and an unknown one is 404', async () => {
    const { put, remove, read } = await customerLists();
    await put('network', '203.0.113.0/24');
    expect((await remove('network', '198.51.100.0/24')).status).toBe(404);
    expect((await remove('network', '203.0.113.0/24')).status).toBe(204);
    expect(await read()).toEqual([]);
  });
});
