import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { startHostile, type HostileConduct, type HostileServer } from '../support/hostile-server.ts';
import { appendToProgram, installWithout } from '../support/installation.ts';
import { get } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { sharedServer } from '../support/shared-server.ts';
import { decideTo, eventually, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** Receivers that misbehave, and a worker that exits: trouble of one endpoint does not affect the others. */

let server: RunningServer | null = null;
let receiver: Receiver;
let hostile: HostileServer[] = [];
let folder = '';
afterEach(async () => {
  await server?.stop();
  server = null;
  await receiver.close();
  for (const one of hostile) await one.close();
  hostile = [];
  if (folder !== '') rmSync(folder, { recursive: true, force: true });
  folder = '';
});

interface Case {
  readonly conduct: HostileConduct;
  readonly error: string;
}

const CASES: readonly Case[] = [
  { conduct: 'refuses', error: 'connection_refused' },
  { conduct: 'resets_at_accept', error: 'connection_reset' },
  { conduct: 'resets_on_request', error: 'connection_reset' },
  { conduct: 'never_answers', error: 'timeout' },
  { conduct: 'drips_headers', error: 'timeout' },
  { conduct: 'drips_body', error: 'response_too_large' },
  { conduct: 'huge_body', error: 'response_too_large' },
  { conduct: 'huge_chunked_body', error: 'response_too_large' },
  { conduct: 'redirects_302', error: 'redirect_blocked' },
  { conduct: 'tls_self_signed', error: 'tls_error' },
  { conduct: 'server_error', error: 'http_status' },
];

describe('hostile receivers', () => {
  test('Hostile receivers get at most four attempts, 2, 4 and 8 s apart, and a good receiver is not affected', async () => {
    receiver = await startReceiver();
    const { url, secretKey } = await sharedServer();
    const { create, ended } = webhookClient(url, secretKey);
    const cases: { readonly given: Case; readonly id: string; readonly server: HostileServer }[] = [];
    for (const given of CASES) {
      const one = await startHostile(given.conduct);
      hostile.push(one);
      cases.push({ given, id: (await create(`${one.url}/hook`, 'ALLOW')).id, server: one });
    }
    const outside = await create('https://receiver.invalid/hook', 'ALLOW');
    await create(receiver.url, 'ALLOW');
    const answeredMs = Date.now();
    const { json } = await decideTo(url, secretKey, 'ALLOW');
    const [arrival] = await receiver.arrived(1);
    expect((arrival?.atMs ?? Number.POSITIVE_INFINITY) - answeredMs).toBeLessThan(3_000);

    const requestId = String(json['request_id']);
    for (const { given, id, server: one } of cases) {
      const row = await ended(`?webhook_id=${id}&request_id=${requestId}`);
      expect([given.conduct, row.status, row.last_error]).toEqual([given.conduct, 'failed', given.error]);
      expect(row.attempt_count).toBeGreaterThanOrEqual(3);
      expect(row.attempt_count).toBeLessThanOrEqual(4);
      expect(one.connections()).toBeLessThanOrEqual(4);
      const record = await deliveryOf(url, secretKey, row.id);
      expect(Math.max(...record.attempts.map(({ duration_ms }) => duration_ms))).toBeLessThan(6_500);
      expect(record.attempts.at(-1)?.started_at).toBeLessThanOrEqual((record.attempts[0]?.started_at ?? 0) + 20);
    }
    expect(await ended(`?webhook_id=${outside.id}`)).toMatchObject({ status: 'failed', last_error: 'dns_error' });
    // Nothing but the hook was requested, not even the target of the redirect.
    for (const one of hostile) expect(one.requests().every(({ head }) => head.startsWith('POST /hook '))).toBe(true);
  }, 180_000);

  test('Receivers at private addresses are never reached, even if they were allowed before, and the service itself not even if they are', async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-webhooks-'));
    receiver = await startReceiver();
    const env = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
    server = await startServer({ dataDir: folder, env });
    const { secretKey } = server;
    const { id } = await webhookClient(server.url, secretKey).create(receiver.url, 'ALLOW');
    // The address where the server listens after its last start is still like any other.
    const own = await webhookClient(server.url, secretKey).create(`${receiver.url}/v1/decide`, 'ALLOW');
    await server.stop();
    server = await startServer({ dataDir: folder });
    const { ask, create } = webhookClient(server.url, secretKey);
    const tested = await ask('POST', `/v1/webhooks/${id}/test`);
    expect(tested).toMatchObject({ status: 'failed', last_error: 'blocked_address', attempt_count: 1 });
    for (const target of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')])
      await expect(create(target, 'ALLOW')).rejects.toThrow(/blocked_url/);
    expect(receiver.arrivals).toEqual([]);
    expect((await get(server.url, '/metrics')).text).toMatch(/^gatehouse_webhook_blocked_addresses_total [1-9]/m);
    await server.stop();

    await receiver.close();
    server = await startServer({ dataDir: folder, env: { ...env, GATEHOUSE_PORT: new URL(receiver.url).port } });
    receiver = await startReceiver();
    const { ask: askAgain } = webhookClient(server.url, secretKey);
    expect(await askAgain('POST', `/v1/webhooks/${own.id}/test`)).toMatchObject({ last_error: 'blocked_address' });
  }, 180_000);
});

async function deliveryOf(
  url: string,
  key: string,
  id: string,
): Promise<{ attempts: readonly { duration_ms: number; started_at: number }[] }> {
  return (await webhookClient(url, key).ask('GET', `/v1/webhooks/deliveries/${id}`)) as {
    attempts: { duration_ms: number; started_at: number }[];
  };
}

const TRAP = `
const real = DeliveryWorker.prototype.order;
DeliveryWorker.prototype.order = function (order) {
  if (order.kind === 'endpoint' && order.endpoint.url.includes('/trap')) setTimeout(() => process.exit(9), 300);
  return real.call(this, order);
};
`;

describe('the deliver worker', () => {
  test('A deliver worker that exits is replaced, and every delivery continues', async () => {
    const installation = installWithout(() => false);
    folder = installation.folder;
    appendToProgram(installation, 'deliver', TRAP);
    const trapped = await startServer({ main: installation.main, env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' } });
    server = trapped;
    receiver = await startReceiver();
    const { url, secretKey } = trapped;
    const { ask, create, deliveries } = webhookClient(url, secretKey);
    const { id } = await create(`${receiver.url}/trap`, 'REVIEW');
    await create(receiver.url, 'ALLOW');
    for (let i = 0; i < 20; i++) await decideTo(url, secretKey, 'ALLOW');
    // The worker exits 300 ms after it learns of that endpoint, as long as there is a delivery to it.
    await decideTo(url, secretKey, 'REVIEW');
    await eventually('the death of the worker', () =>
      Promise.resolve(trapped.stdout().includes('the deliver worker ended') ? true : null),
    );
    for (let i = 0; i < 20; i++) await decideTo(url, secretKey, 'ALLOW');
    await ask('DELETE', `/v1/webhooks/${id}`).catch(() => null);
    await eventually('all deliveries', async () =>
      (await deliveries('?status=succeeded&event=ALLOW')).length === 40 ? true : null,
    );
    await eventually('the worker’s return', async () => {
      const { json } = await get(url, '/readyz');
      const { webhooks } = json['layers'] as Record<string, { state: string }>;
      return webhooks?.state === 'ok' ? true : null;
    });
    expect((await get(url, '/metrics')).text).toMatch(/^gatehouse_webhook_attempts_total\{result="succeeded"\} 4\d$/m);
  }, 180_000);
});
