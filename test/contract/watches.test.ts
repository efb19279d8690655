import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SaxesParser } from 'saxes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFeed } from '../../src/extract/read/feed.ts';
import { bearer } from '../support/manage.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { SIX_CHANGES, versionsOfShop, type WatchedRecord } from '../support/watches.ts';
import { eventually, startReceiver, type Receiver } from '../support/webhooks.ts';

/** Contract, 11.7: changes exactly once and in order, over SIGKILL; as feeds; and one event a run. */

/** Ms from the start of the last run to a kill: around its job, its comparison and its end. */
const KILLS_MS = [0, 60, 300, 900];

let page: readonly WatchedRecord[] = [];
const shop = createServer((request, response) => {
  if (request.url !== '/') return void response.writeHead(404).end();
  const items = page.map(
    ({ id, price }) => `<li class="p" data-id="${id}"><b>A &lt;thing&gt; &amp; ${id}</b><i>${price}</i></li>`,
  );
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><title>Shop</title><ul>${items.join('')}</ul>`);
});
let url: string;
let dataDir: string;
let server: RunningServer;
let secretKey: string;
let receiver: Receiver;

async function start(): Promise<void> {
  server = await startServer({
    dataDir,
    env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8', GATEHOUSE_EXTRACT_HOST_GAP_MS: '0' },
  });
  secretKey ??= server.secretKey;
}
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-watches-'));
  shop.listen(0, '127.0.0.1');
  await once(shop, 'listening');
  url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/`;
  receiver = await startReceiver();
  await start();
});
afterAll(async () => {
  await server.stop('SIGKILL');
  shop.close();
  shop.closeAllConnections();
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const call = (method: string, path: string, body?: object) => bearer(server.url, secretKey, method, `/v1${path}`, body);

function watchOfShop(): object {
  const fields = { id: { attr: 'data-id' }, title: 'b', price: { select: 'i', type: 'number' } };
  const input = { url, each: 'li.p', fields };
  const extraction = { connector: 'generic', operation: 'page.select', input, collect: { mode: 'all' } };
  return { extraction, every: '1d', key: ['id'], compare: ['price'] };
}

async function ended(id: string, run: number): Promise<Readonly<Record<string, unknown>>> {
  return eventually(`run ${run}`, async () => {
    const { json } = await call('GET', `/watches/${id}`);
    const last = json['last_run'] as Readonly<Record<string, unknown>> | null;
    return last?.['run'] === run ? last : null;
  });
}

interface Shown {
  readonly id: string;
  readonly kind: string;
  readonly key: { readonly id: string };
}

async function changesOf(id: string): Promise<readonly string[]> {
  const { json } = await call('GET', `/watches/${id}/changes`);
  return (json['data'] as readonly Shown[]).map(({ kind, key }) => `${kind} ${key.id}`);
}

/** Reads all changes from the newest to the oldest, `limit` a page. */
async function newestChangesOf(id: string, limit: number): Promise<readonly string[]> {
  const found: string[] = [];
  let cursor = '';
  for (let more = true; more;) {
    const { json } = await call('GET', `/watches/${id}/changes?order=newest&limit=${limit}${cursor}`);
    found.push(...(json['data'] as readonly Shown[]).map(({ kind, key }) => `${kind} ${key.id}`));
    more = json['has_more'] === true;
    cursor = `&cursor=${encodeURIComponent(String(json['next_cursor']))}`;
  }
  return found;
}

test('100 records, then 3 changed, 2 new and 1 missing twice are six changes, once and in order, over kills of the server', async () => {
  const [first = [], second = []] = versionsOfShop();
  page = first;
  await call('POST', '/webhooks', { url: receiver.url, event_types: [], events: ['watch.changes'] });
  const made = await call('POST', '/watches', watchOfShop());
  expect(made.status).toBe(201);
  const id = String(made.json['id']);
  expect(await ended(id, 1)).toMatchObject({ status: 'succeeded', complete: true, records: 100, new: 0 });
  page = second;
  let run = 1;
  for (const waitMs of KILLS_MS) {
    // Two runs are enough for all changes; the others must find nothing.
    expect((await call('POST', `/watches/${id}/run`)).status).toBe(202);
    run++;
    await new Promise((done) => setTimeout(done, waitMs));
    await server.stop('SIGKILL');
    await start();
    expect(await ended(id, run)).toMatchObject({ status: 'succeeded', records: 101 });
  }
  expect(await changesOf(id)).toEqual(SIX_CHANGES);
  expect(await newestChangesOf(id, 4)).toEqual([...SIX_CHANGES].reverse());
  const { json } = await call('GET', '/extractions?limit=100');
  expect(json['data']).toHaveLength(run);

  const feed = (format: string, token = String(made.json['feed_token'])) =>
    fetch(`${server.url}/v1/watches/${id}/changes?format=${format}&token=${token}`);
  for (const format of ['atom', 'rss']) {
    const answer = await feed(format);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      `application/${format}+xml; charset=utf-8`,
    ]);
    const text = await answer.text();
    const parser = new SaxesParser({ xmlns: true });
    parser.on('error', (error) => {
      throw error;
    });
    parser.write(text).close();
    // The reader takes what looks like markup out of titles.
    const read = readFeed(text, url);
    expect([read.format, read.items.length, read.items[1]?.title]).toEqual([format, 6, 'New: A & 102']);
  }
  const renewed = String((await call('POST', `/watches/${id}/feed-token`)).json['feed_token']);
  expect([
    (await feed('atom')).status,
    (await feed('rss', renewed)).status,
    (await feed('json', renewed)).status,
  ]).toEqual([401, 200, 400]);
}, 120_000);

test('A run with changes is one event, and one without is none', async () => {
  page = [{ id: 1, price: 1 }];
  const made = await call('POST', '/watches', watchOfShop());
  const id = String(made.json['id']);
  await ended(id, 1);
  const before = receiver.arrivals.length;
  page = [
    { id: 1, price: 2 },
    { id: 2, price: 1 },
  ];
  for (const run of [2, 3]) {
    await call('POST', `/watches/${id}/run`);
    await ended(id, run);
  }
  const arrived = await receiver.arrived(before + 1);
  await new Promise((done) => setTimeout(done, 300));
  const bodies = arrived.slice(before).map(({ body }) => JSON.parse(String(body)) as object);
  expect(receiver.arrivals).toHaveLength(before + 1);
  expect(bodies).toEqual([
    {
      event: 'watch.changes',
      event_id: expect.stringMatching(/^evt_/),
      watch_id: id,
      run: 2,
      new: 1,
      changed: 1,
      gone: 0,
      timestamp: expect.any(Number),
    },
  ]);
});
