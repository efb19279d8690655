import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSwellingSite, type SwellingSite } from '../support/swelling-site.ts';
import { eventually } from '../support/webhooks.ts';
import {
  books,
  extractionClient,
  type SourceServer,
  startExtractingServer,
  startSource,
} from '../support/extractions.ts';
import type { RunningServer } from '../support/server.ts';

/** Contract, 11.2: the operator limits what a job may collect. */

describe('limits of an operator', () => {
  let server: RunningServer;
  let source: SourceServer;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    source = await startSource();
    server = await startExtractingServer(source, {
      GATEHOUSE_EXTRACT_JOBS_PER_CUSTOMER: '1',
    });
    client = extractionClient(server.url, server.secretKey);
  });
  afterAll(async () => {
    await server.stop();
    await source.close();
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
});

/** Contract, 11.5: what a source makes a job keep is limited. */
describe('disk space of a job whose source names pages without end', () => {
  const JOB_BYTES_MAX = 64_000_000;
  let server: RunningServer;
  let site: SwellingSite;
  let client: ReturnType<typeof extractionClient>;
  beforeAll(async () => {
    site = await startSwellingSite();
    server = await startExtractingServer(site, { GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '8' });
    client = extractionClient(server.url, server.secretKey);
  });
  afterAll(async () => {
    await server.stop();
    await site.close();
  });

  const crawl = (path: string): object => ({
    connector: 'generic',
    operation: 'site.pages',
    input: { url: `${site.url}${path}` },
    collect: { mode: 'all' },
  });
  const fileBytes = (): number => statSync(join(server.dataDir, 'extract', 'data.mdb')).size;

  test('Nested sitemap indexes are read as their pages are needed, so the job takes less than 64 MB', async () => {
    const before = fileBytes();
    const id = await client.started(crawl('/index/0'));
    // Breadth first, these would all be lists, of 2,000 addresses each.
    await eventually('requests of the job', () => Promise.resolve(site.requests >= 20 ? true : null));
    expect(fileBytes() - before).toBeLessThan(JOB_BYTES_MAX);
    expect((await client.job(id)).status).toBe('running');
    await client.ask('POST', `/v1/extractions/${id}/cancel`);
  });

  test('A crawl whose pages link to ever more pages ends as limit_reached below 64 MB, and its records are readable', async () => {
    const before = fileBytes();
    const job = await client.run(crawl('/links/0'));
    expect(job).toMatchObject({ status: 'failed', failure: { reason: 'limit_reached', retryable: false } });
    expect(fileBytes() - before).toBeLessThan(JOB_BYTES_MAX);
    const { status, json } = await client.records(job.id, '?partial=true');
    expect([status, (json['records'] as unknown[]).length]).toEqual([200, job.counts.collected]);
    expect(job.counts.collected).toBeGreaterThan(0);
  });
});
