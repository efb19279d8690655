import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('GET /v1/webhooks/deliveries, 400', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['status=done', '?status'],
    ['status=', '?status'],
    ['event=block', '?event'],
    ['webhook_id=', '?webhook_id'],
    ['webhook_id=a%20b', '?webhook_id'],
    [`request_id=${'x'.repeat(3_000)}`, '?request_id'],
    ['limit=0', '?limit'],
    ['limit=1001', '?limit'],
    ['cursor=broken', '?cursor'],
  ])('the query ?%s is 400', async (query, pointer) => {
    const answer = await bearer(server.url, server.secretKey, 'GET', `/v1/webhooks/deliveries?${query}`);
    expect(answer.json).toMatchObject({ status: 400, code: 'invalid_request', errors: [{ pointer }] });
  });

  test('a repeated parameter is 400, and an unknown one is ignored', async () => {
    const ask = (query: string): ReturnType<typeof bearer> =>
      bearer(server.url, server.secretKey, 'GET', `/v1/webhooks/deliveries?${query}`);
    expect((await ask('limit=1&limit=2')).json).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((await ask('page=2')).json).toEqual({ data: [], has_more: false, next_cursor: null });
  });
});
