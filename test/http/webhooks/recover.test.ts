import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { decideTo, startDeliveringServer, startReceiver, webhookClient } from '../../support/webhooks.ts';

async function setUp() {
  const server = await startDeliveringServer();
  const receiver = await startReceiver();
  onTestFinished(async () => void (await Promise.all([receiver.close(), server.stop()])));
  const client = webhookClient(server.url, server.secretKey);
  const { id } = await client.create(receiver.url, 'REVIEW');
  const decided = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++)
      ids.push(String((await decideTo(server.url, server.secretKey, 'REVIEW')).json['request_id']));
    return ids;
  };
  const recover = (body: unknown, webhook = id) =>
    bearer(server.url, server.secretKey, 'POST', `/v1/webhooks/${webhook}/recover`, body);
  const requestIds = (): string[] =>
    receiver.arrivals.map(({ body }) => (JSON.parse(String(body)) as { request_id: string }).request_id);
  return { server, receiver, client, id, decided, recover, requestIds };
}

test('Decisions that never arrived are delivered once, oldest first, and those that did are not', async () => {
  const { server, receiver, client, id, decided, recover, requestIds } = await setUp();
  const since = Math.floor(Date.now() / 1_000) - 1;
  const [arrived = ''] = await decided(1);
  await receiver.arrived(1);
  await client.ended(`?request_id=${arrived}`);
  // 410 ends a delivery at once; ten make the webhook unhealthy, and it skips the others.
  receiver.answers(410);
  const missing = await decided(14);
  await expect.poll(async () => (await client.ask('GET', `/v1/webhooks/${id}`))['status']).toBe('unhealthy');
  await expect.poll(async () => (await client.deliveries(`?webhook_id=${id}&status=pending`)).length).toBe(0);
  const before = receiver.arrivals.length;
  receiver.answers(200);
  // Two calls at once: the second may be refused, and nothing is queued twice.
  const [recovered, second] = await Promise.all([recover({ since }), recover({ since })]);
  const all = [recovered, second].filter(({ status }) => status === 202);
  expect(all.map(({ json }) => Number(json['queued'])).sort((a, b) => a - b)).toEqual(
    all.length === 1 ? [14] : [0, 14],
  );
  const first = all.find(({ json }) => json['queued'] === 14);
  expect(first).toMatchObject({ status: 202, json: { queued: 14, delivered: 1, left: 0, known_since: null } });
  await receiver.arrived(before + 14);
  expect(requestIds().slice(before).sort()).toEqual([...missing].sort());
  await client.ended(`?request_id=${String(missing.at(-1))}`);
  const rows = await client.deliveries(`?webhook_id=${id}&status=succeeded`);
  expect(rows.map((row) => row.request_id).reverse()).toEqual([arrived, ...missing]);
  expect(rows[0]).toMatchObject({ trigger: 'manual' });
  expect((await recover({ since })).json).toMatchObject({ queued: 0, delivered: 15, left: 0 });
  expect((await recover({ since: 0, until: since })).json).toMatchObject({ queued: 0, delivered: 0 });
  // A second webhook never got any of them; its filter counts.
  const other = await bearer(server.url, server.secretKey, 'POST', '/v1/webhooks', {
    url: receiver.url,
    event_types: ['REVIEW', 'BLOCK'],
    filter: 'score > 100',
  });
  expect((await recover({ since }, String(other.json['id']))).json).toMatchObject({ queued: 0, delivered: 0 });
});

test('An empty range, a wrong one, a disabled and an unknown webhook are refused', async () => {
  const { client, id, recover } = await setUp();
  expect((await recover({ since: 10, until: 10 })).json).toMatchObject({
    status: 422,
    errors: [{ pointer: '/since' }],
  });
  expect((await recover({ since: 'yesterday' })).json).toMatchObject({ status: 422, errors: [{ pointer: '/since' }] });
  expect((await recover({})).status).toBe(422);
  expect((await recover({ since: 0 }, 'wh_01KAJ8Q5W0V4T0M2Y8Z3N6R7DC')).status).toBe(404);
  await client.ask('PATCH', `/v1/webhooks/${id}`, { disabled: true });
  expect((await recover({ since: 0 })).json).toMatchObject({ status: 409, code: 'not_ready' });
});
