import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

const WHEN = 'event.type == "payment" && attributes.amount > 500';

describe('PUT, PATCH and DELETE /v1/rules/{code}', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  const ask = (method: string, code: string, body?: unknown, ifMatch?: string) =>
    bearer(server.url, server.secretKey, method, `/v1/rules/${code}`, body, {
      headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
    });

  test.each(TRANSPORTS)('A rule is made, read, changed and deleted, over %s', async (transport) => {
    server = await sharedServer(transport);
    const body = { when: WHEN, decision: 'REVIEW', event_types: [' Payment '], note: 'agreed' };
    const made = await ask('PUT', 'own_big', body);
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      code: 'own_big',
      when: WHEN,
      weight: null,
      decision: 'REVIEW',
      mode: 'observe',
      event_types: ['payment'],
      note: 'agreed',
      expires_at: null,
      source: 'api',
      shadowed: false,
      errors: [],
    });
    const tag = made.headers['etag'];
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    const read = await ask('GET', 'own_big');
    expect([read.status, read.headers['etag'], read.json]).toEqual([200, tag, made.json]);
    const changed = await ask('PATCH', 'own_big', { mode: 'enforce', weight: 0.4 });
    expect(changed.status).toBe(200);
    expect(changed.json).toMatchObject({ mode: 'enforce', weight: 0.4, decision: null, note: 'agreed' });
    expect(changed.headers['etag']).not.toBe(tag);
    const replaced = await ask('PUT', 'own_big', { when: 'score > 10', weight: 0.2 });
    expect(replaced.status).toBe(200);
    expect(replaced.json).toMatchObject({ when: 'score > 10', event_types: null, note: '' });
    const all = await bearer(server.url, server.secretKey, 'GET', '/v1/rules');
    expect((all.json['data'] as readonly object[]).filter((row) => 'code' in row && row.code === 'own_big')).toEqual([
      expect.objectContaining({ source: 'api', weight: 0.2 }),
    ]);
    expect((await ask('DELETE', 'own_big')).status).toBe(204);
    for (const [method, given] of [['GET'], ['DELETE'], ['PATCH', { mode: 'observe' }]] as const)
      expect(await ask(method, 'own_big', given)).toMatchObject({ status: 404, json: { code: 'not_found' } });
  });

  test('A stale If-Match is 412 and changes nothing', async () => {
    const rule = { when: WHEN, weight: 0.5 };
    expect(await ask('PUT', 'own_match', rule, '*')).toMatchObject({
      status: 412,
      json: { code: 'precondition_failed' },
    });
    const tag = (await ask('PUT', 'own_match', rule)).headers['etag'] ?? '';
    const next = (await ask('PATCH', 'own_match', { note: 'x' }, `"other", ${tag}`)).headers['etag'] ?? '';
    for (const [method, body] of [['PUT', rule], ['PATCH', { note: 'y' }], ['DELETE']] as const)
      for (const stale of [tag, `W/${next}`, 'nonsense'])
        expect((await ask(method, 'own_match', body, stale)).status).toBe(412);
    expect((await ask('GET', 'own_match')).headers['etag']).toBe(next);
    expect((await ask('DELETE', 'own_match', undefined, next)).status).toBe(204);
  });

  test('Two PATCHes at once are both in the rule', async () => {
    await ask('PUT', 'own_both', { when: WHEN, weight: 0.5 });
    const both = await Promise.all([
      ask('PATCH', 'own_both', { note: 'first' }),
      ask('PATCH', 'own_both', { mode: 'enforce' }),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await ask('GET', 'own_both')).json).toMatchObject({ note: 'first', mode: 'enforce' });
  });

  test.each<readonly [string, unknown, object]>([
    ['no condition', { weight: 0.5 }, { pointer: '/when', code: 'required' }],
    ['neither weight nor decision', { when: WHEN }, { pointer: '/weight' }],
    ['both', { when: WHEN, weight: 0.5, decision: 'BLOCK' }, { pointer: '/weight', code: 'invalid_value' }],
    ['a weight over 1', { when: WHEN, weight: 1.5 }, { pointer: '/weight', code: 'too_large' }],
    ['an unknown decision', { when: WHEN, decision: 'DENY' }, { pointer: '/decision', code: 'invalid_value' }],
    ['an unknown mode', { when: WHEN, weight: 0.5, mode: 'on' }, { pointer: '/mode', code: 'invalid_value' }],
    ['an empty event type', { when: WHEN, weight: 0.5, event_types: [' '] }, { pointer: '/event_types/0' }],
    ['a long note', { when: WHEN, weight: 0.5, note: 'x'.repeat(201) }, { pointer: '/note', code: 'too_long' }],
    [
      'an unknown fact',
      { when: 'score > 1 &&\n attributes.amunt > 5', weight: 0.5 },
      { pointer: '/when', code: 'unknown_fact', line: 2, column: 2, did_you_mean: 'attributes.amount' },
    ],
    ['a long condition', { when: 'x'.repeat(1_001), weight: 0.5 }, { pointer: '/when', code: 'too_costly' }],
  ])('A rule with %s is 422', async (_what, body, error) => {
    const refused = await ask('PUT', 'own_wrong', body);
    expect(refused).toMatchObject({ status: 422, json: { code: 'validation_failed', errors: [error] } });
    expect((await ask('GET', 'own_wrong')).status).toBe(404);
  });

  test('A malformed code is 422 for PUT and 404 otherwise', async () => {
    for (const code of ['big', 'own_', 'own_Big', `own_${'x'.repeat(41)}`, 'own_%00']) {
      expect((await ask('PUT', code, { when: WHEN, weight: 0.5 })).json).toMatchObject({
        errors: [{ pointer: '/code' }],
      });
      expect((await ask('GET', code)).status).toBe(404);
      expect((await ask('DELETE', code)).status).toBe(404);
    }
  });

  test('Rules beyond the steps of all rules are 422', async () => {
    const when = `${'score > 1 || '.repeat(60)}score > 2`;
    const answers: number[] = [];
    for (let n = 0; n < 200; n++) {
      const { status } = await ask('PUT', `own_cost_${n}`, { when, weight: 0.1 });
      answers.push(status);
      if (status !== 201) break;
    }
    expect(answers.at(-1)).toBe(422);
    for (let n = 0; n < answers.length; n++) await ask('DELETE', `own_cost_${n}`);
  });

  test("Another customer's rules are not found", async () => {
    const other = await sharedServer();
    await bearer(other.url, other.secretKey, 'PUT', '/v1/rules/own_theirs', { when: WHEN, weight: 0.5 });
    expect((await ask('GET', 'own_theirs')).status).toBe(404);
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/rules');
    expect(JSON.stringify(json)).not.toContain('own_theirs');
  });

  test('GET /v1/rules counts what each rule did in 24 hours, and the people', async () => {
    const shop = await sharedServer();
    const put = (code: string, body: object) => bearer(shop.url, shop.secretKey, 'PUT', `/v1/rules/${code}`, body);
    await put('own_counted', { when: 'attributes.amount > 500', weight: 0.1, mode: 'enforce' });
    await put('own_watched', { when: 'attributes.amount > 100', decision: 'BLOCK' });
    await put('own_silent', { when: 'attributes.amount > 9000', weight: 0.1, mode: 'enforce' });
    const people = [{ user: 'anna' }, { user: 'anna' }, { user: 'berta' }, undefined];
    for (const [n, entities] of people.entries()) {
      const body = { ...newcomer(), attributes: { amount: n === 3 ? 200 : 600 }, entity_keys: entities };
      expect((await decide(shop.url, shop.secretKey, body)).status).toBe(200);
    }
    const counts = async () => {
      const { json } = await bearer(shop.url, shop.secretKey, 'GET', '/v1/rules');
      const rows = json['data'] as readonly Record<string, unknown>[];
      return rows
        .filter(({ code }) => /^own_(?:counted|watched|silent)$/.test(String(code)))
        .map((row) => [row['code'], row['fired_24h'], row['observed_24h'], row['people_24h']]);
    };
    await expect.poll(counts).toEqual([
      ['own_counted', 3, 0, 2],
      ['own_silent', 0, 0, 0],
      ['own_watched', 0, 4, 3],
    ]);
    const { json } = await bearer(shop.url, shop.secretKey, 'GET', '/v1/rules');
    expect(json['examined']).toMatchObject({ is_truncated: false, since: expect.any(Number) });
  });

  test('GET /v1/rules names attributes that nothing reads, and the metrics count those of another type', async () => {
    const shop = await sharedServer();
    const pay = (key: string, attributes: object) => decide(shop.url, key, { ...newcomer(), attributes });
    await pay(shop.secretKey, { amunt: 5, amount: '5' });
    await pay(shop.publicKey, { of_a_visitor: 5 });
    const undeclared = async (): Promise<unknown> =>
      (await bearer(shop.url, shop.secretKey, 'GET', '/v1/rules')).json['undeclared_attributes'];
    await expect.poll(undeclared, { timeout: 10_000 }).toEqual([{ name: 'amunt', did_you_mean: 'amount' }]);
    const metrics = await (await fetch(`${shop.url}/metrics`)).text();
    expect(metrics).toMatch(/^gatehouse_attribute_mismatches_total\{name="amount"\} [1-9]/m);
    expect(metrics).not.toContain('of_a_visitor');
  });

  test('A condition that compares amounts of all currencies has a warning', async () => {
    const warned = [{ pointer: '/when', code: 'amount_without_currency', message: expect.any(String) }];
    for (const [when, warnings] of [
      ['attributes.amount > 5', warned],
      ['attributes.amount > 5 && attributes.currency == "EUR"', []],
      ['has(attributes.amount)', []],
      ['has(attributes.amount) && attributes["amount"] > 5', warned],
    ] as const) {
      const checked = await bearer(server.url, server.secretKey, 'POST', '/v1/rules/check', { when });
      expect([when, checked.json['warnings']]).toEqual([when, warnings]);
      expect((await ask('PUT', 'own_warned', { when, weight: 0.1 })).json['warnings']).toEqual(warnings);
    }
    await ask('DELETE', 'own_warned');
  });
});
