import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { startServer } from '../../support/server.ts';
import { decideTo, startReceiver, webhookClient } from '../../support/webhooks.ts';

test('after kill -9 the same deliveries and webhooks are returned, pending ones continue, and webhooks still sign', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  receiver.answers(500, 200);
  const options = { dataDir, env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' } };
  const first = await startServer(options);
  const { secretKey } = first;
  await webhookClient(first.url, secretKey).create(receiver.url, 'SOFT_CHALLENGE');
  const idle = await webhookClient(first.url, secretKey).create(receiver.url, 'BLOCK');
  const shown = (await bearer(first.url, secretKey, 'GET', `/v1/webhooks/${idle.id}`)).json;
  const { json } = await decideTo(first.url, secretKey, 'SOFT_CHALLENGE');
  await receiver.arrived(1);
  const [pending] = await webhookClient(first.url, secretKey).deliveries();
  await first.stop('SIGKILL');

  const second = await startServer(options);
  onTestFinished(() => void second.stop());
  const client = webhookClient(second.url, secretKey);
  const row = await client.ended(`?request_id=${String(json['request_id'])}`);
  expect(row).toMatchObject({ id: pending?.id, status: 'succeeded', last_status_code: 200 });
  const [before, ...after] = receiver.arrivals;
  expect(after.length).toBeGreaterThan(0);
  for (const { body, headers } of after) {
    expect(body.equals(before?.body ?? Buffer.alloc(0))).toBe(true);
    expect(headers['webhook-id']).toBe(row.id);
  }
  expect(await client.deliveries()).toHaveLength(1);
  expect((await bearer(second.url, secretKey, 'GET', `/v1/webhooks/${idle.id}`)).json).toEqual(shown);
  const tested = await bearer(second.url, secretKey, 'POST', `/v1/webhooks/${idle.id}/test`);
  expect(tested.json).toMatchObject({ status: 'succeeded' });
});
