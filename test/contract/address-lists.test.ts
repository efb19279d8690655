import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extractionClient, startExtractingServer } from '../support/extractions.ts';
import type { RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Lists of addresses in one input. */

const COUNT = 500;
/** Pages that do not exist. */
const GONE = new Set([0, 3, 99, 100, 250, 377, 499]);

let dataDir: string;
let server: RunningServer;
let client: ReturnType<typeof extractionClient>;
let origin: string;
const asked: string[] = [];
/** The page whose next request is never answered. */
let held = -1;

const site = createServer((request, response) => {
  const page = Number(/^\/page-(\d+)$/.exec(request.url ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(page)) return void response.writeHead(404).end();
  asked.push(`page-${page}`);
  if (held === page) {
    held = -1;
    return;
  }
  if (GONE.has(page)) return void response.writeHead(404).end();
  // Later pages are faster, so that pages read at the same time would arrive out of order.
  const waitMs = page % 3 === 0 ? 4 : 0;
  const body = `<!doctype html><title>Page ${page}</title><b>${page}</b><table><tr><td>${page}</table>`;
  setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(body), waitMs);
});

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-lists-'));
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  server = await startExtractingServer({ url: origin }, {}, dataDir);
  client = extractionClient(server.url, server.secretKey);
});
afterAll(async () => {
  await server.stop();
  site.closeAllConnections();
  site.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function pages(numbers: readonly number[], more: object = {}): object {
  const urls = numbers.map((n) => `${origin}/page-${n}`);
  const input = { urls, fields: { n: { select: 'b', type: 'integer' } }, ...more };
  return { connector: 'generic', operation: 'page.select', input, collect: { mode: 'all' } };
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}

describe('input.urls', () => {
  test('500 addresses, 7 of which are gone, give 493 records in order, each once, although the process is killed', async () => {
    held = 200;
    const id = await client.started(pages(upTo(COUNT)));
    await eventually('the request of page 200', () => Promise.resolve(asked.includes('page-200') ? true : null));
    const { secretKey } = server;
    await server.stop('SIGKILL');
    server = await startExtractingServer({ url: origin }, {}, dataDir);
    client = extractionClient(server.url, secretKey);
    const job = await client.ended(id);
    expect(job).toMatchObject({
      status: 'succeeded',
      counts: { collected: 493, errors: 7, duplicates: 0, pages: 493 },
    });
    const records = await client.allRecords(id);
    expect(records.map((record) => (record as unknown as { n: number }).n)).toEqual(
      upTo(COUNT).filter((n) => !GONE.has(n)),
    );
  });

  test('with on_error record, an address that cannot be read is a record with the reason', async () => {
    const job = await client.run(pages([1, 3, 2], { on_error: 'record' }));
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 3, errors: 1 } });
    const records = await client.allRecords(job.id);
    expect(records).toMatchObject([
      { n: 1, error: null },
      { n: null, error: 'source_not_found', _meta: { source_url: `${origin}/page-3` } },
      { n: 2, error: null },
    ]);
  });

  test('an address that occurs twice is read once', async () => {
    const job = await client.run(pages([1, 2, 1]));
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 2, pages: 2, duplicates: 0 } });
  });

  test('a list without a readable page fails with the first failure', async () => {
    expect(await client.run(pages([0, 3]))).toMatchObject({
      status: 'failed',
      failure: { reason: 'source_not_found' },
      counts: { errors: 2 },
    });
  });

  test.each(['page.article', 'page.structured', 'page.tables'])('%s takes a list', async (operation) => {
    const urls = [1, 3, 2].map((n) => `${origin}/page-${n}`);
    const input = { urls, on_error: 'record' };
    const job = await client.run({ connector: 'generic', operation, input, collect: { mode: 'all' } });
    expect(job.status).toBe('succeeded');
    const records = await client.allRecords(job.id);
    expect(
      records.filter((record) => (record as unknown as { error: unknown }).error === 'source_not_found'),
    ).toHaveLength(1);
  });
});
