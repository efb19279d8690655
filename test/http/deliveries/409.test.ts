import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, startReceiver, webhookClient } from '../../support/webhooks.ts';

test('a retry of a pending delivery is 409 and sends nothing', async () => {
  const server = await sharedServer();
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  receiver.answers(500, 200);
  const client = webhookClient(server.url, server.secretKey);
  await client.create(receiver.url, 'SOFT_CHALLENGE');
  await decideTo(server.url, server.secretKey, 'SOFT_CHALLENGE');
  const [pending] = await client.deliveries();
  const path = `/v1/webhooks/deliveries/${pending?.id ?? ''}/retry`;
  const refused = await bearer(server.url, server.secretKey, 'POST', path);
  expect(refused.json).toMatchObject({ status: 409, code: 'not_ready' });
  const ended = await client.ended('?status=succeeded');
  expect(ended).toMatchObject({ id: pending?.id, trigger: 'decision', attempt_count: 2 });
  expect(await client.deliveries()).toHaveLength(1);
  expect((await bearer(server.url, server.secretKey, 'POST', path)).status).toBe(202);
});
