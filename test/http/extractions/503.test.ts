import { expect, test } from 'vitest';
import { books, extractionClient } from '../../support/extractions.ts';
import { newCustomer } from '../../support/requests.ts';
import { sharedServer, sharedSource } from '../../support/shared-server.ts';

/** Choice: more than a customer's running and queued jobs. The limits themselves belong to the scheduler. */
const JOBS = 200;

test('extractions are 503 with Retry-After while a customer’s queue is full, but not for another customer', async () => {
  const server = await sharedServer();
  const source = await sharedSource();
  const client = extractionClient(server.url, server.secretKey);
  const answers = [];
  for (let n = 0; n < JOBS; n++) answers.push(await client.create(books(1, {}, 'held-by-a-full-queue')));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused.length).toBeGreaterThan(0);
  for (const { json, headers } of refused) {
    expect(json).toMatchObject({ status: 503, code: 'queue_full' });
    expect(headers['retry-after']).toBe(String(json['retry_after']));
  }
  const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
  expect((await other.create(books(1))).status).toBe(202);
  source.release('held-by-a-full-queue');
  const accepted = answers.filter(({ status }) => status === 202);
  for (const { json } of accepted) expect((await client.ended(String(json['id']))).status).toBe('succeeded');
});
