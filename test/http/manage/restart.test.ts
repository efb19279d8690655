import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bearer, call, fingerprintOf, nthHash } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';
import { decideTo, startReceiver, webhookClient } from '../../support/webhooks.ts';

describe('a server that was killed and started again', () => {
  let dataDir: string;
  let server: RunningServer;
  let secretKey: string;
  const options = () => ({ dataDir, env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' } });
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gatehouse-test-'));
    server = await startServer(options());
    ({ secretKey } = server);
  });
  afterAll(async () => {
    await server.stop('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  test('a killed and restarted server has every confirmed list entry, the ids of signed calls, webhooks and deliveries; it accepts its cursors, pending deliveries continue, and webhooks still sign', async () => {
    const blocked = { fingerprint_hash: fingerprintOf('kept-session'), action: 'block', note: 'kept' };
    const made = await call(server.url, secretKey, 'POST', '/v1/lists', blocked);
    const entries = Array.from({ length: 50 }, (_, n) => ({ fingerprint_hash: nthHash(n), action: 'watch' }));
    await bearer(server.url, secretKey, 'POST', '/v1/lists/batch', entries);
    await bearer(server.url, secretKey, 'DELETE', `/v1/lists/${nthHash(49)}`);
    const page = await bearer(server.url, secretKey, 'GET', '/v1/lists?limit=10');
    const signed = { requestId: 'before-the-end', timestampSeconds: Math.floor(Date.now() / 1000) };
    expect((await call(server.url, secretKey, 'GET', '/v1/lists', undefined, signed)).status).toBe(200);
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    receiver.answers(500, 200);
    await webhookClient(server.url, secretKey).create(receiver.url, 'SOFT_CHALLENGE');
    const idle = await webhookClient(server.url, secretKey).create(receiver.url, 'BLOCK');
    const shownWebhook = (await bearer(server.url, secretKey, 'GET', `/v1/webhooks/${idle.id}`)).json;
    const rule = { when: 'attributes.amount > 5000', decision: 'BLOCK', mode: 'enforce' };
    const written = await bearer(server.url, secretKey, 'PUT', '/v1/rules/own_kept', rule);
    const challenged = await decideTo(server.url, secretKey, 'SOFT_CHALLENGE');
    await receiver.arrived(1);
    const [pending] = await webhookClient(server.url, secretKey).deliveries();

    await server.stop('SIGKILL');
    server = await startServer(options());

    const client = webhookClient(server.url, secretKey);
    const row = await client.ended(`?request_id=${String(challenged.json['request_id'])}`);
    expect(row).toMatchObject({ id: pending?.id, status: 'succeeded', last_status_code: 200 });
    const [before, ...after] = receiver.arrivals;
    expect(after.length).toBeGreaterThan(0);
    for (const { body, headers } of after) {
      expect(body.equals(before?.body ?? Buffer.alloc(0))).toBe(true);
      expect(headers['webhook-id']).toBe(row.id);
    }
    expect(await client.deliveries()).toHaveLength(1);
    expect((await bearer(server.url, secretKey, 'GET', `/v1/webhooks/${idle.id}`)).json).toEqual(shownWebhook);
    const tested = await bearer(server.url, secretKey, 'POST', `/v1/webhooks/${idle.id}/test`);
    expect(tested.json).toMatchObject({ status: 'succeeded' });

    const replayed = await call(server.url, secretKey, 'GET', '/v1/lists', undefined, signed);
    expect(replayed.json['code']).toBe('replayed_request');
    const shown = await bearer(server.url, secretKey, 'GET', `/v1/lists/${blocked.fingerprint_hash}`);
    const { usage: _usage, ...entry } = made.json;
    expect(shown.json).toEqual(entry);
    const rest = await bearer(server.url, secretKey, 'GET', `/v1/lists?cursor=${String(page.json['next_cursor'])}`);
    expect((rest.json['data'] as unknown[]).length).toBe(40);
    const { json } = await decide(server.url, secretKey, { ...CALM, session_token: 'kept-session' });
    expect(json['decision']).toBe('BLOCK');
    expect((await bearer(server.url, secretKey, 'GET', '/v1/rules/own_kept')).json).toEqual(written.json);
    const big = await decide(server.url, secretKey, { ...CALM, attributes: { amount: 99_999 } });
    expect(big.json).toMatchObject({ decision: 'BLOCK', reasons: expect.arrayContaining(['own_kept']) });
  });

  test('a server ended by SIGTERM answers every request that it has accepted', async () => {
    const writes = Array.from({ length: 40 }, (_, n) => {
      const entry = { fingerprint_hash: nthHash(1_000 + n), action: 'allow' };
      return bearer(server.url, secretKey, 'POST', '/v1/lists', entry).then(
        ({ status }) => status,
        () => 'refused' as const,
      );
    });
    const first = await Promise.race(writes);
    expect(first).toBe(201);
    expect(await server.stop()).toBe(0);
    const statuses = await Promise.all(writes);
    server = await startServer({ dataDir });
    for (const [n, status] of statuses.entries()) {
      if (status !== 201) continue;
      const { json } = await bearer(server.url, secretKey, 'GET', `/v1/lists/${nthHash(1_000 + n)}`);
      expect(json['action']).toBe('allow');
    }
  });
});
