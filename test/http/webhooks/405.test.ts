import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

describe.each(TRANSPORTS)('webhooks and deliveries answer 405 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each([
    ['PUT', '/v1/webhooks', 'GET, HEAD, POST'],
    ['PUT', `/v1/webhooks/${NOBODYS_WEBHOOK}`, 'GET, HEAD, PATCH, DELETE'],
    ['GET', `/v1/webhooks/${NOBODYS_WEBHOOK}/test`, 'POST'],
    ['GET', `/v1/webhooks/${NOBODYS_WEBHOOK}/rotate`, 'POST'],
    ['POST', '/v1/webhooks/deliveries', 'GET, HEAD'],
    // `deliveries` is not a webhook's id, so it cannot be deleted.
    ['DELETE', '/v1/webhooks/deliveries', 'GET, HEAD'],
    ['DELETE', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}`, 'GET, HEAD'],
    ['GET', `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}/retry`, 'POST'],
  ])('%s %s is 405 and names the allowed methods', async (method, path, allow) => {
    const answer = await bearer(server.url, server.secretKey, method, path);
    expect(answer.json).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(answer.headers['allow']).toBe(allow);
  });
});
