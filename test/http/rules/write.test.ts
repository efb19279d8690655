import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
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
});
