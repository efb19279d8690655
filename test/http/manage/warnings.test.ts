import { describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer } from '../../support/shared-server.ts';

describe('Warnings about ignored members', () => {
  test.each(TRANSPORTS)('Management calls name the members that they ignore, over %s', async (transport) => {
    const shop = await sharedServer(transport);
    const ask = async (method: string, path: string, body: unknown) =>
      bearer(shop.url, shop.secretKey, method, path, body);

    const url = 'https://hooks.example/a';
    const made = await ask('POST', '/v1/webhooks', { url, event_types: ['BLOCK'], colour: 'red', url_: 1 });
    expect(made.status).toBe(201);
    expect(made.json['warnings']).toEqual([
      { pointer: '/colour', code: 'unknown_field' },
      { pointer: '/url_', code: 'unknown_field', did_you_mean: 'url' },
    ]);
    const path = `/v1/webhooks/${String(made.json['id'])}`;
    expect((await ask('PATCH', path, { disable: true })).json['warnings']).toEqual([
      { pointer: '/disable', code: 'unknown_field', did_you_mean: 'disabled' },
    ]);
    const silent = await ask('PATCH', path, { disabled: true });
    expect([silent.status, silent.json['warnings']]).toEqual([200, undefined]);

    const job = {
      connector: 'generic',
      operation: 'page.article',
      input: { url: 'https://blog.example/a' },
      schedule: 'daily',
    };
    const started = await ask('POST', '/v1/extractions', job);
    expect([started.status, started.json['warnings']]).toEqual([
      202,
      [{ pointer: '/schedule', code: 'unknown_field' }],
    ]);

    const entry = { kind: 'ip', value: '81.2.69.160', action: 'watch' };
    const batch = await ask('POST', '/v1/lists/batch', { entries: [entry, { ...entry, expires: 5 }] });
    expect(batch.json).toMatchObject({
      results: [{}, {}],
      warnings: [{ pointer: '/entries/1/expires', code: 'unknown_field' }],
    });

    const rule = { when: 'attributes.amount > 5', decision: 'REVIEW', modes: 'enforce' };
    expect((await ask('PUT', '/v1/rules/own_warned', rule)).json['warnings']).toEqual([
      { pointer: '/when', code: 'amount_without_currency', message: expect.any(String) },
      { pointer: '/modes', code: 'unknown_field', did_you_mean: 'mode' },
    ]);
  });

  test('A problem has no warnings', async () => {
    const shop = await sharedServer();
    const refused = await bearer(shop.url, shop.secretKey, 'POST', '/v1/webhooks', { filter: 'x' });
    expect([refused.status, refused.json['warnings']]).toEqual([422, undefined]);
  });

  test('GET /v1/rules and the metrics name members of decide requests that nothing reads', async () => {
    const shop = await sharedServer();
    await decide(shop.url, shop.secretKey, { ...newcomer(), user_agnt: 'x', colour: 1, 'not a name': 1 });
    await decide(shop.url, shop.publicKey, { ...newcomer(), of_a_visitor: 5 });
    const ignored = async (): Promise<unknown> =>
      (await bearer(shop.url, shop.secretKey, 'GET', '/v1/rules')).json['ignored_members'];
    await expect
      .poll(ignored, { timeout: 10_000 })
      .toEqual([{ name: 'colour' }, { name: 'user_agnt', did_you_mean: 'user_agent' }]);
    const metrics = await (await fetch(`${shop.url}/metrics`)).text();
    // The server has other tests, which may have sent the 64 names that are counted apart.
    expect(metrics).toMatch(/^gatehouse_ignored_members_total\{name="(?:user_agnt|\(others\))"\} [1-9]/m);
    expect(metrics).toMatch(/^gatehouse_ignored_members_total\{name="\(others\)"\} [1-9]/m);
    expect(metrics).not.toContain('of_a_visitor');
    expect(metrics).not.toContain('not a name');
  });
});
