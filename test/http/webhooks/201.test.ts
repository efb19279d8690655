import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { WHOLE_SECRET } from '../../support/webhooks.ts';

describe.each(TRANSPORTS)('webhooks answer 201 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test('a new webhook is 201 with its complete secret, its Location, and an instruction not to cache', async () => {
    const body = { url: 'http://127.0.0.1:9/a', event_types: ['BLOCK', 'ALLOW'], description: 'the “desk”' };
    for (const ask of [call, bearer]) {
      const made = await ask(server.url, server.secretKey, 'POST', '/v1/webhooks', body);
      expect(made).toMatchObject({ status: 201, json: body });
      expect(made.json['secret']).toMatch(WHOLE_SECRET);
      expect(made.json['id']).toMatch(/^wh_[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
      expect(made.headers).toMatchObject({
        'content-type': 'application/json',
        'cache-control': 'no-store',
        location: `/v1/webhooks/${String(made.json['id'])}`,
        'x-svc-rl-limit': '6000',
      });
    }
  });

  test('a webhook without a description and with unknown fields is 201', async () => {
    const body = {
      url: 'https://shop.example/events',
      event_types: ['BLOCK'],
      id: 'wh_mine',
      secret: 'mine',
      status: 'x',
    };
    const made = await call(server.url, server.secretKey, 'POST', '/v1/webhooks', body);
    expect(made).toMatchObject({ status: 201, json: { description: null, status: 'healthy' } });
    expect([made.json['id'], made.json['secret']]).not.toContain('mine');
  });
});
