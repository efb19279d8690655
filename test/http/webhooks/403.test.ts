import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, webhookClient } from '../../support/webhooks.ts';

describe('webhooks and deliveries answer 403 to a public key', () => {
  let server: SharedServer;
  let id: string;
  beforeAll(async () => {
    server = await sharedServer();
    ({ id } = await webhookClient(server.url, server.secretKey).create('http://127.0.0.1:9/', 'BLOCK'));
  });

  test.each([
    ['GET', '/v1/webhooks', undefined],
    ['POST', '/v1/webhooks', { url: 'https://shop.example/events', event_types: ['BLOCK'] }],
    ['GET', '/v1/webhooks/{id}', undefined],
    ['DELETE', '/v1/webhooks/{id}', undefined],
    ['POST', '/v1/webhooks/{id}/test', undefined],
    ['POST', '/v1/webhooks/{id}/rotate', {}],
    ['GET', '/v1/webhooks/deliveries', undefined],
    ['GET', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}`, undefined],
    ['POST', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}/retry`, undefined],
  ])('%s %s is 403 to a public key, signed or as Bearer, and changes nothing', async (method, path, body) => {
    const before = (await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json;
    for (const ask of [call, bearer]) {
      const answer = await ask(server.url, server.publicKey, method, path.replace('{id}', id), body);
      expect(answer.json).toMatchObject({ status: 403, code: 'key_not_allowed' });
    }
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json).toEqual(before);
  });
});
