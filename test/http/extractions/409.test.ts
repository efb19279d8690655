import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { books, extractionClient } from '../../support/extractions.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, type SharedServer, sharedSource, type SharedSource } from '../../support/shared-server.ts';
import { eventually, type Receiver, startReceiver } from '../../support/webhooks.ts';

describe('extractions answer 409', () => {
  let server: SharedServer;
  let source: SharedSource;
  let receiver: Receiver;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    source = await sharedSource();
    receiver = await startReceiver();
    server = await sharedServer();
    client = extractionClient(server.url, server.secretKey);
  });
  afterAll(() => receiver.close());

  test('the records of a running job are 409 not_ready, unless partial=true', async () => {
    const id = await client.started(books(2, {}, 'held-409'));
    expect((await client.records(id)).json).toMatchObject({ status: 409, code: 'not_ready' });
    expect((await client.records(id, '?partial=true')).json).toMatchObject({ records: [], has_more: false });
    source.release('held-409');
    await client.ended(id);
    expect((await client.records(id)).json['records']).toHaveLength(2);
  });

  test('the records of a failed job are 409 not_ready, unless partial=true', async () => {
    const { id } = await client.run({ ...books(1), input: { query: 'missing' } });
    expect((await client.records(id)).json).toMatchObject({ status: 409, code: 'not_ready' });
    expect((await client.records(id, '?partial=true')).json).toMatchObject({ records: [], has_more: false });
  });

  test('records sent to a webhook are 409 records_delivered, unless that delivery failed', async () => {
    const delivered = await client.run(books(1, { delivery: { type: 'webhook', url: receiver.url } }));
    expect((await client.records(delivered.id)).json).toMatchObject({ status: 409, code: 'records_delivered' });
    // A 410 response ends a delivery at once.
    receiver.answers(410);
    const failed = await client.run(books(1, { delivery: { type: 'webhook', url: receiver.url } }));
    await eventually('the end of the delivery', async () =>
      (await client.job(failed.id)).delivery.status === 'failed' ? true : null,
    );
    expect((await client.records(failed.id)).json['records']).toHaveLength(1);
    receiver.answers(200);
  });

  test('another body with the same Idempotency-Key is 409 idempotency_conflict, but not for another customer', async () => {
    const key = { 'Idempotency-Key': 'order-1' };
    const first = await client.create(books(1), key);
    const again = await client.create(books(1), key);
    expect([again.status, again.text]).toEqual([202, first.text]);
    for (const body of [books(2), { ...books(1), connector: 'none' }])
      expect((await client.create(body, key)).json).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
    expect((await other.create(books(2), key)).status).toBe(202);
  });

  test('the Idempotency-Key of a rejected request can be used again, and may have 255 characters', async () => {
    const key = { 'Idempotency-Key': '!'.repeat(255) };
    expect((await client.create({ ...books(1), connector: 'none' }, key)).status).toBe(422);
    expect((await client.create(books(1), key)).status).toBe(202);
  });

  test('concurrent requests with one Idempotency-Key create one job', async () => {
    const key = { 'Idempotency-Key': 'order-2' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.create(books(1), key)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  });

  test('a repeated Idempotency-Key returns the same inline response', async () => {
    const key = { 'Idempotency-Key': 'order-3' };
    const first = await client.create(books(3, { delivery: { type: 'sync' } }), key);
    const again = await client.create(books(3, { delivery: { type: 'sync' } }), key);
    expect([again.status, again.text]).toEqual([200, first.text]);
  });
});
