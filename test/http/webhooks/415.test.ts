import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

describe('webhooks answer 415', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each(['/v1/webhooks', `/v1/webhooks/${NOBODYS_WEBHOOK}/rotate`])(
    'a body of POST %s that is not application/json is 415',
    async (path) => {
      const body = { url: 'https://shop.example/events', event_types: ['BLOCK'] };
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', null]) {
        const headers = { 'content-type': type };
        const answer = await call(server.url, server.secretKey, 'POST', path, body, { headers });
        expect(answer.json).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      }
      expect((await bearer(server.url, server.secretKey, 'GET', '/v1/webhooks')).json['data']).toEqual([]);
    },
  );
});
