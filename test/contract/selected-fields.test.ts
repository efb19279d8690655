import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extractionClient, startExtractingServer } from '../support/extractions.ts';
import type { RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Fields of the customer's own, chosen by CSS selectors. */

const BOATS_PER_PAGE = 10;
const PAGES = 5;

interface BoatSite {
  readonly url: string;
  /** Requested pages, in order. */
  readonly asked: readonly string[];
  /** Holds the next request of this page until the site is asked again. */
  hold(page: string): void;
  close(): Promise<void>;
}

/** Starts a site with a list of boats in five pages, and one whose third page takes too many steps. */
async function startSite(): Promise<BoatSite> {
  const asked: string[] = [];
  let held: string | null = null;
  const waiting: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://site.example');
    const page = Number(searchParams.get('page') ?? 1);
    if (pathname === '/robots.txt') return void response.writeHead(404).end();
    asked.push(`${pathname} ${page}`);
    if (held === `${pathname} ${page}`) {
      held = null;
      return void waiting.push(response);
    }
    const body = pathname === '/slow' && page === 3 ? '<li>'.repeat(20_000) : boatsOf(page);
    const next =
      page < PAGES ? `<a rel="next" href="?page=${page + 1}">Next</a>` : `<a rel="next" href="${pathname}">First</a>`;
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Boats</title>${body}${next}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    hold: (page) => void (held = page),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function boatsOf(page: number): string {
  const numbers = Array.from({ length: BOATS_PER_PAGE }, (_, at) => (page - 1) * BOATS_PER_PAGE + at);
  return numbers.map((n) => `<li data-id="${n}"><b>Boat ${n}</b><i>${n},50 €</i><u>red</u><u>=blue</u></li>`).join('');
}

const FIELDS = {
  id: { attr: 'data-id' },
  name: 'b',
  price: { select: 'i', type: 'money' },
  colours: { select: 'u', list: true },
};

let dataDir: string;
let site: BoatSite;
let server: RunningServer;
let client: ReturnType<typeof extractionClient>;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-select-'));
  site = await startSite();
  server = await startExtractingServer(site, {}, dataDir);
  client = extractionClient(server.url, server.secretKey);
});
afterAll(async () => {
  await server.stop();
  await site.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function boats(path: string, more: object = {}): object {
  const input = { url: `${site.url}${path}`, each: 'li', next: 'a[rel=next]', fields: FIELDS };
  return { connector: 'generic', operation: 'page.select', input, collect: { mode: 'all' }, ...more };
}

describe('page.select', () => {
  test('reads the fields of all pages, each page once', async () => {
    const job = await client.run(boats('/boats'));
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 50, pages: 5, errors: 0, duplicates: 0 } });
    const { json } = await client.ask('GET', `/v1/extractions/${job.id}/records?limit=1`);
    expect(json['records']).toEqual([
      {
        id: '0',
        name: 'Boat 0',
        price: { amount: 0.5, currency: 'EUR' },
        colours: ['red', '=blue'],
        _meta: expect.objectContaining({ seq: 1, source_url: `${site.url}/boats` }) as unknown,
      },
    ]);
  });

  test('reads at most as many pages as the input says', async () => {
    const input = { url: `${site.url}/boats`, each: 'li', next: 'a[rel=next]', max_pages: 2, fields: FIELDS };
    const job = await client.run(boats('/boats', { input }));
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 20, pages: 2 }, notes: [] });
  });

  test('CSV has a column for each field and each part of a money field', async () => {
    const job = await client.run(boats('/boats', { collect: { mode: 'limit', limit: 1 }, output: { format: 'csv' } }));
    const { text } = await client.records(job.id);
    const [header, row] = text.split('\r\n');
    expect(header).toBe(
      'id,name,price.amount,price.currency,colours,_meta.id,_meta.seq,_meta.source_url,_meta.fetched_at',
    );
    expect(row).toMatch(/^0,Boat 0,0\.5,EUR,/);
  });

  test('output.schema is checked against the fields', async () => {
    const schema = { properties: { price: { properties: { amount: { minimum: 40 } } } } };
    const job = await client.run(boats('/boats', { output: { schema } }));
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 10, errors: 40 } });
  });

  test('a page that takes too many steps ends the job as limit_reached, and earlier records can be read', async () => {
    const input = { url: `${site.url}/slow`, each: 'li', next: 'a[rel=next]', fields: { name: 'b', later: '~ b' } };
    for (const collect of [{ mode: 'all' }, { mode: 'limit', limit: 1_000 }]) {
      const job = await client.run(boats('/slow', { input, collect }));
      expect(job).toMatchObject({ status: 'failed', counts: { collected: 20 } });
      expect(await client.ask('GET', `/v1/extractions/${job.id}`)).toMatchObject({
        json: { failure: { reason: 'limit_reached', retryable: false } },
      });
      const { status, json } = await client.ask('GET', `/v1/extractions/${job.id}/records?partial=true`);
      expect([status, (json['records'] as unknown[]).length]).toEqual([200, 20]);
    }
  });

  test('a process that is killed between two pages reads each record once', async () => {
    const before = site.asked.length;
    site.hold('/boats 3');
    const id = await client.started(boats('/boats'));
    await eventually('the request of page 3', () =>
      Promise.resolve(site.asked.slice(before).includes('/boats 3') ? true : null),
    );
    const { secretKey } = server;
    await server.stop('SIGKILL');
    server = await startExtractingServer(site, {}, dataDir);
    client = extractionClient(server.url, secretKey);
    const job = await client.ended(id);
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 50, duplicates: 0 } });
    const records = await client.allRecords(id);
    expect(records.map((record) => record['id'])).toEqual(Array.from({ length: 50 }, (_, at) => String(at)));
    expect(site.asked.slice(before)).toEqual([1, 2, 3, 3, 4, 5].map((page) => `/boats ${page}`));
  });
});

describe('site.select', () => {
  test('gives the records of the pages that have the fields', async () => {
    const input = { url: `${site.url}/boats`, max_depth: 2, each: 'li', fields: { id: { attr: 'data-id' } } };
    const job = await client.run({ connector: 'generic', operation: 'site.select', input, collect: { mode: 'all' } });
    expect(job).toMatchObject({ status: 'succeeded', counts: { collected: 30, pages: 3 } });
  });
});
