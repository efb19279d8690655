import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { TRANSPORTS } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('webhooks answer 200', () => {
  test.each(TRANSPORTS)('to calls that need no body, with one or without, over %s', async (transport) => {
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

  test('with the same webhooks after a restart, kill -9 included, and they still sign as before', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const options = { dataDir, env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' } };
    const first = await startServer(options);
    const { secretKey } = first;
    const { id } = await webhookClient(first.url, secretKey).create(receiver.url, 'BLOCK');
    const before = (await bearer(first.url, secretKey, 'GET', '/v1/webhooks')).json;
    await first.stop('SIGKILL');
    const second = await startServer(options);
    onTestFinished(() => void second.stop());
    expect((await bearer(second.url, secretKey, 'GET', '/v1/webhooks')).json).toEqual(before);
    const tested = await bearer(second.url, secretKey, 'POST', `/v1/webhooks/${id}/test`);
    expect(tested.json).toMatchObject({ status: 'succeeded' });
  });
});
