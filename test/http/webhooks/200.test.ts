import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('webhooks answer 200', () => {
  test.each(TRANSPORTS)('webhook calls that need no body are 200 with and without one, over %s', async (transport) => {
    const server = await sharedServer(transport);
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const { id } = await webhookClient(server.url, server.secretKey).create(receiver.url, 'BLOCK');
    for (const path of [`/v1/webhooks/${id}/test`, `/v1/webhooks/${id}/rotate`]) {
      for (const body of [undefined, {}]) {
        expect((await bearer(server.url, server.secretKey, 'POST', path, body)).status).toBe(200);
      }
      const headers = { 'content-type': null };
      expect((await bearer(server.url, server.secretKey, 'POST', path, undefined, { headers })).status).toBe(200);
    }
    expect(receiver.arrivals).toHaveLength(3);
  });
});
