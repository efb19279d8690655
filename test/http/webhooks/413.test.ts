import { beforeAll, describe, expect, test } from 'vitest';
import { raw, TRANSPORTS } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, NOBODYS_WEBHOOK } from '../../support/webhooks.ts';

const MIB = 1_048_576;

describe.each(TRANSPORTS)('webhooks and deliveries answer 413 over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  test.each([
    '/v1/webhooks',
    `/v1/webhooks/${NOBODYS_WEBHOOK}/test`,
    `/v1/webhooks/${NOBODYS_WEBHOOK}/rotate`,
    `/v1/webhooks/deliveries/${NOBODYS_DELIVERY}/retry`,
  ])('POST %s over 1 MiB is 413 before the body is read', async (path) => {
    const answer = await raw(server.url, `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${MIB + 1}\r\n\r\n`);
    expect([answer.statuses, answer.closed]).toEqual([[413], true]);
  });

  test.each(['GET /v1/webhooks', `DELETE /v1/webhooks/${NOBODYS_WEBHOOK}`, 'GET /v1/webhooks/deliveries'])(
    '%s with any body is 413',
    async (start) => {
      const answer = await raw(server.url, `${start} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
      expect([answer.statuses, answer.closed]).toEqual([[413], true]);
    },
  );
});
