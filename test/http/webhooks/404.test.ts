import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

describe('webhooks answer 404', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['an unknown id', NOBODYS_WEBHOOK],
    ['the id of a delivery', NOBODYS_DELIVERY],
    ['a text that is not an id', 'anything'],
    ['an id in small letters', NOBODYS_WEBHOOK.toLowerCase()],
    ['an id and a line feed', `${NOBODYS_WEBHOOK}%0A`],
    ['a text that is longer than a key of the store', 'x'.repeat(3_000)],
  ])('any call for %s is 404', async (_name, id) => {
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate'],
    ] as const) {
      const answer = await bearer(server.url, server.secretKey, method, `/v1/webhooks/${id}${rest}`);
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test.each(['/v1/webhooks/', `/v1/webhooks/${NOBODYS_WEBHOOK}/secret`, `/v1/webhooks/${NOBODYS_WEBHOOK}/test/again`])(
    'the path %s is 404',
    async (path) => {
      const answer = await bearer(server.url, server.secretKey, 'GET', path);
      expect(answer.json).toMatchObject({ status: 404, code: 'not_found' });
    },
  );
});
