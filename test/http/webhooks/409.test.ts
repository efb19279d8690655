import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('webhooks answer 409', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test('a webhook beyond 20 of a customer is 409, even if all are created at once', async () => {
    const body = { url: 'https://shop.example/events', event_types: ['BLOCK'] };
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', body)),
    );
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(10);
    for (const { json } of refused) expect(json).toMatchObject({ status: 409, code: 'limit_reached' });
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toHaveLength(20);
  });
});
