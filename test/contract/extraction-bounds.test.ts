import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  books,
  extractionClient,
  type SourceServer,
  startExtractingServer,
  startSource,
} from '../support/extractions.ts';
import type { RunningServer } from '../support/server.ts';
import { jobBoundsOf } from '../../src/app/wire-extractions.ts';

/** Contract, 11.2: the operator limits what a job may collect. */

describe('limits of an operator', () => {
  let server: RunningServer;
  let source: SourceServer;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    source = await startSource();
    server = await startExtractingServer(source, {
      GATEHOUSE_EXTRACT_RECORDS_MAX: '5',
      GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER: '1',
    });
    client = extractionClient(server.url, server.secretKey);
  });
  afterAll(async () => {
    await server.stop();
    await source.close();
  });

  test('The operator’s limit applies to the records of a job that collects all', async () => {
    const all = { collect: { mode: 'all' } };
    const job = await client.run(books(6, all));
    expect(job).toMatchObject({ status: 'failed', failure: { reason: 'limit_reached', retryable: false } });
    expect(job.counts.collected).toBe(5);
    expect((await client.run(books(5, all))).status).toBe('succeeded');
  });

  test('A limit in a request above the operator’s limit is rejected', async () => {
    const limit = (count: number): object => books(9, { collect: { mode: 'limit', limit: count } });
    const { status, json } = await client.create(limit(6));
    expect([status, json['errors']]).toEqual([
      422,
      [{ pointer: '/collect/limit', code: 'too_large', message: 'This must be at most 5.' }],
    ]);
    expect((await client.run(limit(5))).counts.collected).toBe(5);
  });

  test('The operator limits the number of concurrent jobs of a customer', async () => {
    const limit = { collect: { mode: 'limit', limit: 1 } };
    const first = await client.started(books(1, limit, 'held-1'));
    const { json } = await client.create(books(1, limit));
    const second = String(json['id']);
    expect((await client.ask('GET', `/v1/extractions/${second}?wait=1`)).json['status']).toBe('queued');
    source.release('held-1');
    expect((await client.ended(first)).status).toBe('succeeded');
    expect((await client.ended(second)).status).toBe('succeeded');
  });

  test('The operator limits the run time of a job', () => {
    expect(jobBoundsOf({ extractHoursMax: 2, extractJobsPerCustomer: 3 })).toEqual({
      jobMsMax: 7_200_000,
      runningPerCustomerMax: 3,
    });
  });
});
