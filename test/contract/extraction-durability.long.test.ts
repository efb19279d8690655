import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { extractionClient, type Job } from '../support/extractions.ts';
import { IS_FULL } from '../support/long.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Contract, 12.1 and 12.2: an accepted job continues after any end of the process, and has each record once. */

/** GATEHOUSE_KILLS in the environment of the tests sets the number of kills; 50 kills use 2,000 pages. */
const KILLS = Number(process.env['GATEHOUSE_KILLS'] ?? (IS_FULL ? 50 : 1));
/** Pages of the site; forty per server lifetime, and some for after the last kill. */
const PAGES = Math.max(200, 40 * KILLS);
/** Limit of the second crawl, which runs at the same time and is interrupted by the same kills. */
const LIMIT = 40 + 15 * KILLS;
/** Choice: a start takes 1 s; this limit detects a hang, also on a busy machine. */
const READY_MS_MAX = 30_000;
const ENV = {
  GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
  GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
  GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '8',
};

interface Site {
  readonly url: string;
  /** Number of page requests so far, including repeated ones. */
  asked(): number;
  /** `performance.now()` of the first page request after the first `after` ones. */
  askedAtMs(after: number): number | undefined;
  /** Makes the next page request hang forever. */
  hangOnce(): void;
  close(): Promise<void>;
}

/** Starts a site with a tree of pages; each also links back to earlier pages. */
async function startSite(pages: number): Promise<Site> {
  const askedAtMs: number[] = [];
  let hangs = false;
  const server = createServer((request, response) => {
    const page = /^\/site\/(?:page-(\d+))?$/.exec(request.url ?? '');
    if (page === null) {
      response.writeHead(404).end();
      return;
    }
    askedAtMs.push(performance.now());
    if (hangs) {
      hangs = false;
      return;
    }
    const n = Number(page[1] ?? 0);
    // Slow enough that each server lifetime leaves pages for the next one.
    const waitMs = 12 + ((n * 7) % 9);
    setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(markupOf(n, pages)), waitMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/site/`,
    asked: () => askedAtMs.length,
    askedAtMs: (after) => askedAtMs[after],
    hangOnce: () => void (hangs = true),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function markupOf(n: number, pages: number): string {
  const links = [2 * n + 1, 2 * n + 2, n >> 1, n >> 2].filter((to) => to < pages);
  const anchors = links.map((to) => `<a href="${to === 0 ? './' : `page-${to}`}">to ${to}</a>`);
  return `<!doctype html><title>Page ${n}</title><p>Text of page ${n}.</p>${anchors.join('\n')}`;
}

let dataDir: string;
let site: Site;
let server: RunningServer;
let secretKey: string;
let client: ReturnType<typeof extractionClient>;
/** Each test continues with the server of the previous one. */
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-durability-'));
  await start();
  ({ secretKey } = server);
  client = extractionClient(server.url, secretKey);
});
afterAll(async () => {
  await server.stop('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(async () => {
  site = await startSite(PAGES);
});
afterEach(() => site.close());

/** Starts the server. Resolves to the ms from the start of the process until it serves. */
async function start(): Promise<number> {
  const sinceMs = performance.now();
  server = await startServer({ dataDir, env: ENV });
  if (secretKey !== undefined) client = extractionClient(server.url, secretKey);
  return performance.now() - sinceMs;
}

function crawl(collect: object = { mode: 'all' }): Promise<string> {
  return client.started({
    connector: 'generic',
    operation: 'site.pages',
    input: { url: site.url, max_depth: 20 },
    collect,
  });
}

async function asked(count: number): Promise<void> {
  await eventually(`${count} pages to be asked for`, () => Promise.resolve(site.asked() >= count ? true : null));
}

async function succeeded(id: string): Promise<Job> {
  const job = await client.ended(id);
  expect([job.status, job.counts.collected, job.counts.errors]).toEqual(['succeeded', PAGES, 0]);
  return job;
}

/** Checks that every page of the site is a record exactly once, and that the numbers have no gap. */
async function expectEachOnce(id: string): Promise<void> {
  const records = await client.allRecords(id);
  expect(records.map(({ _meta }) => _meta.seq)).toEqual(records.map((_, i) => i + 1));
  const urls = records.map(({ _meta }) => _meta.source_url.slice(site.url.length)).sort();
  const wanted = Array.from({ length: PAGES }, (_, n) => (n === 0 ? '' : `page-${n}`)).sort();
  expect(urls).toEqual(wanted);
  expect(new Set(records.map(({ _meta }) => _meta.id)).size).toBe(PAGES);
}

/** Returns the ids of the records so far, in order. */
async function idsSoFar(id: string): Promise<readonly string[]> {
  const { status, json } = await client.records(id, '?partial=true&limit=1000');
  expect(status).toBe(200);
  return (json['records'] as { readonly _meta: { readonly id: string } }[]).map(({ _meta }) => _meta.id);
}

/** Prints figures, only in a long run. */
function figures(name: string, values: readonly number[]): void {
  if (!IS_FULL && process.env['GATEHOUSE_KILLS'] === undefined) return;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  console.log(`${name} of ${sorted.length}: median ${at(0.5)}, most ${at(1)} ms`);
}

describe('SIGKILL', () => {
  test(
    `A crawl of ${PAGES} pages collects every page exactly once, and another crawl respects its limit exactly, over ${KILLS} kills`,
    { timeout: 600_000 },
    async () => {
      const id = await crawl();
      const limited = await crawl({ mode: 'limit', limit: LIMIT });
      const readyMs: number[] = [];
      const goesOnMs: number[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        // Kills at a random point of a server lifetime, also between two writes.
        await asked(site.asked() + 1 + Math.floor(Math.random() * 30));
        await new Promise((done) => setTimeout(done, Math.random() * 20));
        const before = await idsSoFar(id);
        await server.stop('SIGKILL');

        const askedBefore = site.asked();
        const sinceMs = performance.now();
        readyMs.push(await start());
        await asked(askedBefore + 1);
        goesOnMs.push((site.askedAtMs(askedBefore) ?? Infinity) - sinceMs);
        const now = await idsSoFar(id);
        // Records that a caller has read keep their positions.
        expect(now.slice(0, before.length)).toEqual(before);
        expect((await client.job(id)).status).toBe('running');
      }
      await succeeded(id);
      await expectEachOnce(id);
      const job = await client.ended(limited);
      expect(job).toMatchObject({ status: 'succeeded', counts: { collected: LIMIT, target: LIMIT } });
      const records = await client.allRecords(limited);
      expect(records.map(({ _meta }) => _meta.seq)).toEqual(Array.from({ length: LIMIT }, (_, i) => i + 1));
      expect(new Set(records.map(({ _meta }) => _meta.id)).size).toBe(LIMIT);
      for (const ms of [...readyMs, ...goesOnMs]) expect(ms).toBeLessThan(READY_MS_MAX);
      figures('starts until it serves', readyMs);
      figures('starts until the job’s next request', goesOnMs);
    },
  );

  test('Every accepted job exists after a SIGKILL and runs to its end', { timeout: 300_000 }, async () => {
    const answered: string[] = [];
    for (let kill = 0; kill < (IS_FULL ? 2 : 1); kill++) {
      const before = answered.length;
      const create = async (): Promise<void> => {
        for (let count = 0; count < 30; count++) {
          const body = { connector: 'generic', operation: 'page.links', input: { url: site.url } };
          // Rejects when the server is dead.
          const answer = await client.create(body).catch(() => null);
          if (answer?.status !== 202) return;
          answered.push(String(answer.json['id']));
        }
      };
      const clients = Array.from({ length: 3 }, create);
      await eventually('answers', () => Promise.resolve(answered.length > before + 10 ? true : null));
      await server.stop('SIGKILL');
      await Promise.all(clients);
      await start();
    }
    for (const id of answered) expect((await client.ended(id)).status).toBe('succeeded');
    expect(new Set(answered).size).toBe(answered.length);
  });
});

describe('SIGTERM', () => {
  test('SIGTERM during a crawl ends the server in time with code 0, and the crawl continues after the next start', async () => {
    const id = await crawl();
    await asked(40);
    site.hangOnce();
    await asked(site.asked() + 20);
    const sinceMs = performance.now();
    expect(await server.stop()).toBe(0);
    expect(performance.now() - sinceMs).toBeLessThan(12_000);

    await start();
    expect((await client.job(id)).counts.collected).toBeGreaterThan(0);
    await succeeded(id);
    await expectEachOnce(id);
  }, 180_000);
});
