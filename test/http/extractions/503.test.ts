import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  books,
  extractionClient,
  type SourceServer,
  startExtractingServer,
  startSource,
} from '../../support/extractions.ts';
import { newCustomer } from '../../support/requests.ts';
import type { RunningServer } from '../../support/server.ts';

/** Choice: more than a customer's jobs that run and wait; the bounds themselves are the scheduler's. */
const JOBS = 200;

describe('extractions answer 503', () => {
  let server: RunningServer;
  let source: SourceServer;
  beforeAll(async () => {
    source = await startSource();
    server = await startExtractingServer(source);
  });
  afterAll(async () => {
    await server.stop();
    await source.close();
  });

  test('while a customer’s queue is full, with Retry-After, and to nobody else', async () => {
    const client = extractionClient(server.url, server.secretKey);
    const answers = [];
    for (let n = 0; n < JOBS; n++) answers.push(await client.create(books(1, {}, 'held')));
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThan(0);
    for (const { json, headers } of refused) {
      expect(json).toMatchObject({ status: 503, code: 'queue_full' });
      expect(headers['retry-after']).toBe(String(json['retry_after']));
    }
    const other = extractionClient(server.url, (await newCustomer(server.url, server.dataDir)).secretKey);
    expect((await other.create(books(1))).status).toBe(202);
    source.release('held');
    const accepted = answers.filter(({ status }) => status === 202);
    for (const { json } of accepted) expect((await client.ended(String(json['id']))).status).toBe('succeeded');
  });
});
