import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { NOBODYS_DELIVERY, NOBODYS_WEBHOOK, startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('deliveries, 404', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each([
    ['an unknown id', NOBODYS_DELIVERY],
    ['the id of a webhook', NOBODYS_WEBHOOK],
    ['a text that is not an id', 'test'],
    ['a text that is longer than a key of the store', 'x'.repeat(3_000)],
  ])('a delivery with %s is 404', async (_name, id) => {
    const path = `/v1/webhooks/deliveries/${id}`;
    const found = await bearer(server.url, server.secretKey, 'GET', path);
    const retried = await bearer(server.url, server.secretKey, 'POST', `${path}/retry`);
    expect([found.json['code'], retried.json['code']]).toEqual(['not_found', 'not_found']);
  });

  test('a retry is 404 when its webhook is gone, although the delivery is still in the log', async () => {
    const receiver = await startReceiver();
    const client = webhookClient(server.url, server.secretKey);
    const { id } = await client.create(receiver.url, 'BLOCK');
    const { id: deliveryId } = await client.ask('POST', `/v1/webhooks/${id}/test`);
    await client.ask('DELETE', `/v1/webhooks/${id}`);
    const path = `/v1/webhooks/deliveries/${String(deliveryId)}`;
    expect((await client.ask('GET', path))['webhook_id']).toBe(id);
    const retried = await bearer(server.url, server.secretKey, 'POST', `${path}/retry`);
    expect(retried.json).toMatchObject({ status: 404, code: 'not_found' });
    expect(receiver.arrivals).toHaveLength(1);
    await receiver.close();
  });
});
