import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;

describe('following the decisions', () => {
  let server: SharedServer;
  const decided = async (body: object = CALM): Promise<string> =>
    String((await decide(server.url, server.secretKey, body)).json['request_id']);
  const page = async (query: string): Promise<{ ids: unknown[]; json: Json }> => {
    const { status, json } = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions?${query}`);
    expect(status).toBe(200);
    return { ids: (json['data'] as Json[]).map((row) => row['request_id']), json };
  };

  beforeAll(async () => {
    server = await sharedServer();
  });

  test('Only decisions after a known one are returned, newest first, page by page', async () => {
    const known = await decided();
    expect((await page(`after=${known}`)).json).toEqual({ data: [], has_more: false, next_cursor: null });
    const ids: string[] = [];
    // ALLOW and the others are kept apart in the log, so both kinds take turns.
    for (let n = 0; n < 6; n++) ids.unshift(await decided(n % 2 === 0 ? CALM : { ...CALM, session_token: '' }));
    expect((await page(`after=${known}`)).ids).toEqual(ids);
    const first = await page(`after=${known}&limit=4`);
    expect(first.ids).toEqual(ids.slice(0, 4));
    const second = await page(`after=${known}&limit=4&cursor=${String(first.json['next_cursor'])}`);
    expect([second.ids, second.json['has_more']]).toEqual([ids.slice(4), false]);
    expect((await page(`after=${ids[2] ?? ''}`)).ids).toEqual(ids.slice(0, 2));
    expect((await page(`after=${ids[0] ?? ''}`)).ids).toEqual([]);
  });

  test('Filters apply together with it', async () => {
    const known = await decided();
    const flagged = await decided({ ...CALM, session_token: '' });
    await decided();
    expect((await page(`after=${known}&decision=SOFT_CHALLENGE`)).ids).toEqual([flagged]);
    const inSession = await decided({ ...CALM, session_token: 'followed' });
    expect((await page(`after=${known}&link=session:followed`)).ids).toEqual([inSession]);
  });

  test('The time line of a session is found by the id of a link', async () => {
    const first = await decided({ ...CALM, session_token: 'a-session-to-follow' });
    const second = await decided({ ...CALM, session_token: 'a-session-to-follow', ip: '203.0.113.7' });
    const { json } = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${second}`);
    const link = (json['links'] as Json[]).find(({ kind }) => kind === 'session');
    expect(String(link?.['id'])).toMatch(/^hash:[0-9a-f]{16}$/);
    expect((await page(`link=session:${encodeURIComponent(String(link?.['id']))}`)).ids).toEqual([second, first]);
  });

  test('The deliveries of a decision are found by its id', async () => {
    const webhook = { url: 'https://receiver.example/hook', event_types: ['SOFT_CHALLENGE'] };
    expect((await call(server.url, server.secretKey, 'POST', '/v1/webhooks', webhook)).status).toBe(201);
    const id = await decided({ ...CALM, session_token: '' });
    const until = Date.now() + 10_000;
    let rows: Json[] = [];
    while (rows.length === 0 && Date.now() < until) {
      const path = `/v1/webhooks/deliveries?request_id=${id}`;
      rows = (await bearer(server.url, server.secretKey, 'GET', path)).json['data'] as Json[];
    }
    expect(rows).toMatchObject([{ request_id: id, event: 'SOFT_CHALLENGE' }]);
  });

  test('An unknown decision and one of another customer are 404, and a malformed id is 400', async () => {
    const other = await sharedServer();
    const foreign = String((await decide(other.url, other.secretKey, CALM)).json['request_id']);
    for (const id of [foreign, 'req_01J00000000000000000000000']) {
      const { status, json } = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions?after=${id}`);
      expect([status, json['code']]).toEqual([404, 'not_found']);
    }
    const { status, json } = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?after=%20');
    expect([status, json['errors']]).toEqual([400, [expect.objectContaining({ pointer: '?after' })]]);
  });
});
