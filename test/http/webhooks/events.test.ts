import { expect, onTestFinished, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { sharedServer } from '../../support/shared-server.ts';
import { decideTo, eventually, startReceiver, webhookClient } from '../../support/webhooks.ts';

async function listening(...events: readonly string[]) {
  const server = await sharedServer();
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const call = (method: string, path: string, body?: object) =>
    bearer(server.url, server.secretKey, method, `/v1${path}`, body);
  const made = await call('POST', '/webhooks', { url: receiver.url, event_types: [], events });
  const bodies = async (count: number) =>
    (await receiver.arrived(count)).map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
  return { server, receiver, call, made, id: String(made.json['id']), bodies };
}

const EVENT_ID = expect.stringMatching(/^evt_[0-9A-Z]{26}$/);
const TIME = expect.any(Number);

test('A webhook for further events gets verdicts, labels and changes of lists, and no decision', async () => {
  const { server, call, made, bodies, id } = await listening('review.verdict', 'label.created', 'list.changed');
  expect(made.status).toBe(201);
  expect(made.json).toMatchObject({ event_types: [], events: ['review.verdict', 'label.created', 'list.changed'] });
  const { json } = await decideTo(server.url, server.secretKey, 'REVIEW');
  const requestId = String(json['request_id']);
  const label = () => call('POST', '/labels', { request_id: requestId, label: 'fraud' });
  await eventually('a label', async () => ((await label()).status < 300 ? true : null));
  const [labelled] = await bodies(1);
  expect(labelled).toEqual({
    event: 'label.created',
    event_id: EVENT_ID,
    request_id: requestId,
    label: 'fraud',
    timestamp: TIME,
  });
  const judged = await call('POST', `/shadow-reviews/${requestId}`, { verdict: 'legitimate' });
  expect(judged.status).toBe(200);
  expect((await bodies(2))[1]).toEqual({
    event: 'review.verdict',
    event_id: EVENT_ID,
    request_id: requestId,
    verdict: 'legitimate',
    decision: 'REVIEW',
    score: json['score'],
    timestamp: TIME,
  });
  const entry = { kind: 'ip', value: '198.51.100.77', action: 'watch', note: 'a secret note' };
  expect((await call('POST', '/lists', entry)).status).toBe(201);
  const [, , listed] = await bodies(3);
  expect(listed).toEqual({
    event: 'list.changed',
    event_id: EVENT_ID,
    list: null,
    kind: 'ip',
    change: 'put',
    action: 'watch',
    added: 1,
    removed: 0,
    timestamp: TIME,
  });
  const client = webhookClient(server.url, server.secretKey);
  const rows = await client.deliveries(`?webhook_id=${id}`);
  expect(rows.map(({ event, trigger }) => [event, trigger])).toEqual([
    ['list.changed', 'event'],
    ['review.verdict', 'event'],
    ['label.created', 'event'],
  ]);
  expect(await client.deliveries('?event=label.created')).toHaveLength(1);
});

test('Another webhook is notified when one becomes unhealthy, and a test sends an example of the event', async () => {
  const { server, call, bodies, id } = await listening('webhook.unhealthy');
  await call('POST', `/webhooks/${id}/test`);
  expect((await bodies(1))[0]).toMatchObject({ event: 'webhook.unhealthy', consecutive_failures: 10 });
  const failing = await startReceiver();
  onTestFinished(() => failing.close());
  // 410 ends a delivery at once.
  failing.answers(410);
  const client = webhookClient(server.url, server.secretKey);
  const other = await client.create(failing.url, 'REVIEW');
  for (let i = 0; i < 10; i++) await decideTo(server.url, server.secretKey, 'REVIEW');
  const [, second] = await bodies(2);
  expect(second).toEqual({
    event: 'webhook.unhealthy',
    event_id: EVENT_ID,
    webhook_id: other.id,
    consecutive_failures: 10,
    timestamp: TIME,
  });
});

test('A webhook needs one event, of either kind, each at most once', async () => {
  const { call, id } = await listening('list.changed');
  expect((await call('PATCH', `/webhooks/${id}`, { events: [] })).json).toMatchObject({
    code: 'validation_failed',
    errors: [{ pointer: '/event_types', code: 'too_few' }],
  });
  const changed = await call('PATCH', `/webhooks/${id}`, { events: [], event_types: ['BLOCK'] });
  expect(changed.json).toMatchObject({ events: [], event_types: ['BLOCK'] });
  for (const events of [['BLOCK'], ['list.changed', 'list.changed'], 'list.changed'])
    expect((await call('PATCH', `/webhooks/${id}`, { events })).status).toBe(422);
});
