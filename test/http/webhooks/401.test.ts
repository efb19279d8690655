import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, UNSIGNED } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

const GOOD = { url: 'https://shop.example/events', event_types: ['BLOCK'] };

describe('webhooks and deliveries answer 401', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['GET', '/v1/webhooks', undefined],
    ['POST', '/v1/webhooks', GOOD],
    ['GET', `/v1/webhooks/${NOBODYS_WEBHOOK}`, undefined],
    ['DELETE', `/v1/webhooks/${NOBODYS_WEBHOOK}`, undefined],
    ['POST', `/v1/webhooks/${NOBODYS_WEBHOOK}/test`, undefined],
    ['POST', `/v1/webhooks/${NOBODYS_WEBHOOK}/rotate`, {}],
    ['GET', '/v1/webhooks/deliveries', undefined],
    ['GET', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}`, undefined],
    ['POST', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}/retry`, undefined],
  ])('%s %s is 401 without a valid key, and changes nothing', async (method, path, body) => {
    const wrong = { 'X-SVC-Sig': '0'.repeat(64) };
    for (const [headers, code] of [
      [{ ...UNSIGNED }, 'missing_credentials'],
      [{ ...UNSIGNED, authorization: `Bearer sk_live_${'x'.repeat(38)}` }, 'unknown_key'],
      [wrong, 'invalid_signature'],
      [{ ...wrong, authorization: `Bearer ${server.secretKey}` }, 'invalid_signature'],
    ] as const) {
      const answer = await call(server.url, server.secretKey, method, path, body, { headers });
      expect(answer.json).toMatchObject({ status: 401, code });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toEqual([]);
  });
});
