import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/manage.ts';
import { type Answer, CALM, decide, newCustomer } from '../support/requests.ts';
import { type SharedServer, sharedServer } from '../support/shared-server.ts';

/** Contract, 7.6: named lists and the rules that read them, with a customer of its own for each test. */

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

interface Named {
  readonly send: (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => Promise<Answer>;
  /** Makes a list with items. */
  readonly make: (name: string, kind: string, add?: readonly unknown[]) => Promise<Answer>;
  /** Enforces a rule that reviews. */
  readonly review: (when: string, code?: string) => Promise<Answer>;
  readonly ask: (changes?: object) => Promise<Readonly<Record<string, unknown>>>;
}

let sessions = 0;

async function customerOf(): Promise<Named> {
  const { secretKey: key } = await newCustomer(server.url, server.dataDir);
  const send: Named['send'] = (method, path, body) => call(server.url, key, method, path, body);
  return {
    send,
    async make(name, kind, add = []) {
      expect((await send('PUT', `/v1/named-lists/${name}`, { kind })).status).toBe(201);
      return send('POST', `/v1/named-lists/${name}/items`, { add });
    },
    review: (when, code = 'own_listed') =>
      send('PUT', `/v1/rules/${code}`, { when, decision: 'BLOCK', mode: 'enforce' }),
    async ask(changes = {}) {
      const body = { ...CALM, session_token: `named-${++sessions}`, ...changes };
      return (await decide(server.url, key, body)).json;
    },
  };
}

const SUBJECT = {
  ip: '203.0.113.7',
  user_agent: 'AcmeBot/1.5 (Linux; x86_64)',
  entity_keys: { email: 'Anna.Schmidt+x@gmail.com', card: '4711' },
  event_type: 'payment',
  attributes: { plan: 'trial', card_country: 'FR' },
};

describe('contract, 7.6: named lists', () => {
  test.each([
    ['email.domain', 'email_domain', 'gmail.com'],
    ['email.domain', 'email_domain', 'com'],
    ['email.domain', 'text', 'gmail.com'],
    ['email.address', 'email', 'anna.schmidt@gmail.com'],
    ['entity.card.value', 'entity.card', '4711'],
    ['entity.email.value', 'email', 'annaschmidt@gmail.com'],
    ['ip.address', 'ip', '203.0.113.7'],
    ['ip.address', 'network', '203.0.112.0/20'],
    ['agent.text', 'user_agent', 'AcmeBot/1.*'],
    ['attributes.plan', 'text', 'trial'],
    ['attributes.card_country', 'country', 'fr'],
  ])('A rule that reads %s in a list of the kind %s counts for the next decision', async (fact, kind, value) => {
    const { send, make, review, ask } = await customerOf();
    await make('watched', kind);
    expect((await review(`${fact} in list.watched`)).status).toBe(201);
    expect((await ask(SUBJECT))['reasons']).not.toContain('own_listed');
    const added = await send('POST', '/v1/named-lists/watched/items', { add: [value] });
    expect(added).toMatchObject({ status: 200, json: { added: 1, removed: 0, rejected: [] } });
    expect(await ask(SUBJECT)).toMatchObject({ decision: 'BLOCK' });
    const removed = await send('POST', '/v1/named-lists/watched/items', { remove: [value] });
    expect(removed.json).toMatchObject({ added: 0, removed: 1 });
    expect((await ask(SUBJECT))['reasons']).not.toContain('own_listed');
  });

  test('A list is made once, shows its items and the rules that name it, and cannot be deleted while one does', async () => {
    const { send, make, review } = await customerOf();
    await make('partners', 'email_domain', ['partner.example', { value: 'Fair.Example', expires_at: 4_000_000_000 }]);
    const again = await send('PUT', '/v1/named-lists/partners', { kind: 'email_domain', note: 'of the shop' });
    expect(again).toMatchObject({ status: 200, json: { note: 'of the shop', items: 2 } });
    await review('!(email.domain in list.partners)');
    const { json } = await send('GET', '/v1/named-lists');
    expect(json['data']).toMatchObject([
      { name: 'partners', kind: 'email_domain', note: 'of the shop', items: 2, used_by: ['own_listed'] },
    ]);
    expect(json).toMatchObject({ items: 2, items_max: 1_000_000 });
    expect(await send('DELETE', '/v1/named-lists/partners')).toMatchObject({ status: 409, json: { code: 'in_use' } });
    expect((await send('DELETE', '/v1/rules/own_listed')).status).toBe(204);
    expect((await send('DELETE', '/v1/named-lists/partners')).status).toBe(204);
    expect((await send('DELETE', '/v1/named-lists/partners')).status).toBe(404);
    expect((await send('GET', '/v1/named-lists/partners/items')).status).toBe(404);
    expect((await send('POST', '/v1/named-lists/partners/items', { add: ['a.example'] })).status).toBe(404);
  });

  test('Items that the kind does not have are rejected at their place, and the others are written', async () => {
    const { send, make } = await customerOf();
    const { json } = await make('networks', 'network', ['203.0.113.0/24', '203.0.113.7/24', 'x', '198.51.100.0/24']);
    expect(json).toMatchObject({ added: 2, removed: 0 });
    expect(json['rejected']).toEqual([
      {
        index: 1,
        code: 'invalid_value',
        pointer: '/add/1',
        message: 'The address has bits beyond /24: write 203.0.113.0/24.',
      },
      expect.objectContaining({ index: 2, pointer: '/add/2' }),
    ]);
    const past = await send('POST', '/v1/named-lists/networks/items', {
      add: [{ value: '192.0.2.0/24', expires_at: 1 }],
      remove: ['203.0.113.0/24', '192.0.2.0/24'],
    });
    expect(past.json).toMatchObject({ added: 0, removed: 1, rejected: [{ index: 0, pointer: '/add/0' }] });
  });

  test('Items are shown page by page, identities as the hash by which they are removed', async () => {
    const { send, make } = await customerOf();
    await make('words', 'text', ['a', 'b', 'c']);
    const first = await send('GET', '/v1/named-lists/words/items?limit=2');
    const cursor = String(first.json['next_cursor']);
    const second = await send('GET', `/v1/named-lists/words/items?limit=2&cursor=${cursor}`);
    const rows = [first, second].flatMap(({ json }) => json['data'] as { value: string; expires_at: null }[]);
    expect(rows.map(({ value }) => value).sort()).toEqual(['a', 'b', 'c']);
    await make('others', 'text', ['x']);
    expect((await send('GET', `/v1/named-lists/others/items?cursor=${cursor}`)).status).toBe(400);
    await make('cards', 'entity.card', ['4711']);
    const cards = await send('GET', '/v1/named-lists/cards/items');
    const [{ value = '' } = {}] = cards.json['data'] as { value?: string }[];
    expect(value).toMatch(/^hash:[0-9a-f]{32}$/);
    const removed = await send('POST', '/v1/named-lists/cards/items', { remove: [value] });
    expect(removed.json).toMatchObject({ removed: 1 });
  });

  test('A call of 10,000 items is written as a whole, one of more is refused', async () => {
    const { send, make, review, ask } = await customerOf();
    const add = Array.from({ length: 10_000 }, (_none, n) => `word ${n}`);
    expect((await make('words', 'text', add)).json).toEqual({ added: 10_000, removed: 0, rejected: [] });
    await review('attributes.plan in list.words');
    expect(await ask({ ...SUBJECT, attributes: { plan: 'word 9999' } })).toMatchObject({ decision: 'BLOCK' });
    const more = await send('POST', '/v1/named-lists/words/items', { add, remove: ['x'] });
    expect(more).toMatchObject({ status: 422, json: { errors: [{ pointer: '/add' }] } });
  });

  test.each<readonly [string, string, object, string]>([
    ['a malformed name', 'Partners', { kind: 'text' }, '/name'],
    ['an unknown kind', 'partners', { kind: 'planet' }, '/kind'],
    ['no kind', 'partners', {}, '/kind'],
    ['another kind than it has', 'known', { kind: 'email' }, '/kind'],
  ])('A list with %s is 422', async (_what, name, body, pointer) => {
    const { send, make } = await customerOf();
    await make('known', 'text');
    const { status, json } = await send('PUT', `/v1/named-lists/${name}`, body);
    expect([status, json['errors']]).toMatchObject([422, [{ pointer }]]);
  });

  test('A rule about a missing list is 422 with the nearest name, and one about a list of another kind', async () => {
    const { make, review, send } = await customerOf();
    await make('partners', 'email_domain');
    const missing = await review('email.domain in list.partner');
    expect(missing.status).toBe(422);
    expect(missing.json['errors']).toMatchObject([
      { pointer: '/when', code: 'unknown_fact', line: 1, column: 17, did_you_mean: 'list.partners' },
    ]);
    const other = await send('POST', '/v1/rules/check', { when: 'ip.address in list.partners' });
    expect(other.json['errors']).toMatchObject([{ code: 'type_error' }]);
    const facts = await send('GET', '/v1/rules/facts');
    expect(facts.json['data']).toContainEqual(expect.objectContaining({ name: 'list.partners', type: 'list' }));
  });

  test('Lists are those of their customer', async () => {
    const [mine, theirs] = [await customerOf(), await customerOf()];
    await mine.make('partners', 'text', ['trial']);
    expect((await theirs.send('GET', '/v1/named-lists')).json['data']).toEqual([]);
    expect((await theirs.review('attributes.plan in list.partners')).status).toBe(422);
    expect((await theirs.send('GET', '/v1/named-lists/partners/items')).status).toBe(404);
  });

  test('A list comes back as it was before a write, an import of several calls as one, for the next decision', async () => {
    const { send, make, review, ask } = await customerOf();
    await make('words', 'text', ['trial']);
    await review('attributes.plan in list.words');
    const path = '/v1/named-lists/words';
    for (const add of [['a'], ['b', 'trial']]) await send('POST', `${path}/items`, { add, import: 'feed-7' });
    await send('POST', `${path}/items`, { remove: ['trial', 'a'] });
    expect((await ask(SUBJECT))['reasons']).not.toContain('own_listed');
    const { json } = await send('GET', `${path}/versions`);
    const by = { replaced_by: expect.stringMatching(/^key:sk_/), restorable: true, reason: null };
    expect(json['data']).toEqual([
      { version: 3, added: 0, removed: 2, replaced_at: expect.any(Number), ...by },
      { version: 2, added: 2, removed: 0, replaced_at: expect.any(Number), ...by },
      { version: 1, added: 1, removed: 0, replaced_at: expect.any(Number), ...by },
    ]);
    const back = await send('POST', `${path}/restore`, { version: 2 });
    expect(back).toMatchObject({ status: 200, json: { name: 'words', items: 1, used_by: ['own_listed'] } });
    expect(await ask(SUBJECT)).toMatchObject({ decision: 'BLOCK' });
    const audit = await send('GET', '/v1/audit?kind=named_list.items');
    expect((audit.json['data'] as readonly object[])[0]).toMatchObject({ after: { restored_version: 2, items: 1 } });
    const versions = (await send('GET', `${path}/versions`)).json['data'] as { version: number }[];
    expect(versions.map(({ version }) => version)).toEqual([4, 3, 2]);
    expect((await send('POST', `${path}/restore`, { version: 9 })).status).toBe(404);
    expect((await send('POST', `${path}/restore`, { version: 'x' })).status).toBe(422);
    const nameless = await send('POST', `${path}/items`, { add: ['a'], import: 'of today' });
    expect(nameless).toMatchObject({ status: 422, json: { errors: [{ pointer: '/import' }] } });
  });
});
