import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, startReceiver, webhookClient } from '../../support/webhooks.ts';

test.each(TRANSPORTS)('`retry` is stored, changed and checked, over %s', async (transport) => {
  const { url, secretKey } = await sharedServer(transport);
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const made = await bearer(url, secretKey, 'POST', '/v1/webhooks', { url: receiver.url, event_types: ['REVIEW'] });
  expect(made.json).toMatchObject({ retry: 'fast' });
  const path = `/v1/webhooks/${String(made.json['id'])}`;
  expect((await bearer(url, secretKey, 'PATCH', path, { retry: 'patient' })).json).toMatchObject({ retry: 'patient' });
  expect((await bearer(url, secretKey, 'GET', path)).json).toMatchObject({ retry: 'patient', fields: 'event' });
  expect((await bearer(url, secretKey, 'PATCH', path, { retry: 'endless' })).json).toMatchObject({
    status: 422,
    errors: [{ pointer: '/retry' }],
  });
});

test('While the receiver is down a patient webhook skips nothing; then all arrive', { timeout: 120_000 }, async () => {
  const { url, secretKey } = await sharedServer('uws');
  const receiver = await startReceiver();
  receiver.answers(503);
  onTestFinished(() => receiver.close());
  const given = { url: receiver.url, event_types: ['REVIEW'], retry: 'patient' };
  const { json } = await bearer(url, secretKey, 'POST', '/v1/webhooks', given);
  const id = String(json['id']);
  const client = webhookClient(url, secretKey);
  for (let i = 0; i < 30; i++) await decideTo(url, secretKey, 'REVIEW');
  const path = `/v1/webhooks/${id}`;
  const status = async (): Promise<unknown> => (await bearer(url, secretKey, 'GET', path)).json['status'];
  await expect.poll(status, { timeout: 60_000 }).toBe('unhealthy');
  await decideTo(url, secretKey, 'REVIEW');
  expect((await client.deliveries(`?webhook_id=${id}&status=pending&limit=100`)).length).toBe(31);
  receiver.answers(204);
  expect((await bearer(url, secretKey, 'POST', `${path}/test`)).status).toBe(200);
  // The others were tried before and wait for their own next attempt, a minute later.
  const newest = (await client.deliveries(`?webhook_id=${id}&limit=2`)).at(1);
  await expect
    .poll(async () => (await client.deliveries(`?webhook_id=${id}&status=succeeded`)).map((row) => row.id))
    .toContain(newest?.id);
  expect(await client.deliveries(`?webhook_id=${id}&status=skipped`)).toEqual([]);
});
