import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openMmdb } from '../../../src/assets/mmdb.ts';
import { publishedFeeds, sourceFault } from '../../../src/data/fetch-feed.ts';
import type { GuardedClient } from '../../../src/egress/guarded-client.ts';
import { feedReports } from '../../../src/data/feed-report.ts';
import { offlineFeeds, updateFeeds } from '../../../src/data/update-feeds.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const root = mkdtempSync(join(tmpdir(), 'gatehouse-feeds-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
function open() {
  const base = join(root, String(folders++));
  const offline = join(base, 'offline');
  mkdirSync(offline, { recursive: true });
  const dataDir = join(base, 'data');
  const geoipDir = join(base, 'geoip');
  return {
    offline,
    dataDir,
    write: (name: string, text: string) => writeFileSync(join(offline, name), text),
    async update(accepted: readonly string[] = [], fetch = offlineFeeds(offline)) {
      const results = await updateFeeds({
        dataDir,
        geoipDir,
        fetch,
        accepted: new Set(accepted),
        nowSeconds: () => NOW_MS / 1_000,
      });
      return Object.fromEntries(results.map((result) => [result.feed, result]));
    },
    reports: () => feedReports(dataDir, NOW_MS),
    find(ip: string): unknown {
      const bytes = readFileSync(join(geoipDir, 'gatehouse-networks.mmdb'));
      const shared = new SharedArrayBuffer(bytes.length);
      new Uint8Array(shared).set(bytes);
      const outcome = openMmdb(shared);
      return outcome.kind === 'ok' ? outcome.database.find(ip) : outcome.detail;
    },
    hasAsn: () => existsSync(join(geoipDir, 'gatehouse-asn.mmdb')),
  };
}

const exits = (count: number): string => Array.from({ length: count }, (_, n) => `185.220.101.${n}`).join('\n');

describe('updateFeeds', () => {
  test('A new file is used, the shipped feeds stay, and the reports say which is which', async () => {
    const feeds = open();
    expect(feeds.reports()).toMatchObject({ tor: { state: 'old' }, vpn: { state: 'ok' }, asn: { state: 'absent' } });
    feeds.write('tor.txt', exits(100));
    const results = await feeds.update();
    expect(results).toMatchObject({ tor: { state: 'ok', rows: 100 }, vpn: { state: 'ok' }, asn: { state: 'absent' } });
    expect(feeds.find('185.220.101.7')).toMatchObject({ tor: true });
    // A cloud of the shipped copy.
    expect(feeds.find('3.5.140.1')).toMatchObject({ hosting: true });
    expect(feeds.find('66.249.66.1')).toMatchObject({ crawler: 'google' });
    expect(feeds.reports()).toMatchObject({ tor: { state: 'ok', version: '2026-11-20', age_days: 0, rows: 100 } });
    expect(feeds.hasAsn()).toBe(false);
  });

  test('A feed that lost half or doubled is held back, the one before stays, and the operator can accept it', async () => {
    const feeds = open();
    feeds.write('tor.txt', exits(100));
    await feeds.update();
    for (const [count, reason] of [
      [40, 'lost_half'],
      [210, 'doubled'],
    ] as const) {
      feeds.write('tor.txt', exits(count));
      expect(await feeds.update()).toMatchObject({ tor: { state: 'held', reason, rows: 100 } });
      expect(feeds.reports()['tor']).toMatchObject({ state: 'held', rows: 100 });
      expect(feeds.find('185.220.101.99')).toMatchObject({ tor: true });
    }
    expect(await feeds.update(['tor'])).toMatchObject({ tor: { state: 'ok', rows: 210 } });
    expect(feeds.reports()['tor']).toMatchObject({ state: 'ok', rows: 210 });
  });

  test.each([
    ['from tomorrow', `# date: 2026-11-23\n${exits(100)}`, 'from_future'],
    ['in another encoding', '\uFEFF\0', 'not_utf8'],
    ['a page', '<!doctype html>\n'.repeat(50), 'too_few_rows'],
    ['huge', `${'8'.repeat(1_000)}\n`.repeat(70_000), 'fetch_failed'],
  ])('A file that is %s changes nothing and is told', async (_what, text, reason) => {
    const feeds = open();
    feeds.write('tor.txt', text);
    expect(await feeds.update()).toMatchObject({ tor: { state: 'held', reason, rows: null } });
    expect(feeds.find('185.220.101.1')).toMatchObject({ tor: true });
    expect(feeds.reports()['tor']?.detail).toContain(reason);
  });

  test('A link that leads to itself, and a folder, are held back', async () => {
    const feeds = open();
    symlinkSync(join(feeds.offline, 'vpn.txt'), join(feeds.offline, 'vpn.txt'));
    mkdirSync(join(feeds.offline, 'tor.txt'));
    expect(await feeds.update()).toMatchObject({
      tor: { state: 'held', reason: 'fetch_failed' },
      vpn: { state: 'ok' },
    });
  });
});

/** A client that gives each address its text; any other is answered with 503. */
function published(texts: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const client: Parameters<typeof publishedFeeds>[0] = {
    request: ({ url }) => {
      asked.push(url);
      const text = texts[url];
      return Promise.resolve({
        kind: 'response',
        status: text === undefined ? 503 : 200,
        headers: {},
        body: Buffer.from(text ?? ''),
      } as unknown as Awaited<ReturnType<GuardedClient['request']>>);
    },
  };
  return { asked, fetch: publishedFeeds(client, 'test') };
}

describe('A feed of several operators', () => {
  const GOOGLE = 'https://developers.google.com/static/crawling/ipranges';
  const bing = (count: number): string =>
    JSON.stringify({ prefixes: Array.from({ length: count }, (_, n) => ({ ipv4Prefix: `40.77.${n}.0/24` })) });

  test('takes what each publishes, in any form, and leaves the others as they were', async () => {
    const feeds = open();
    const { fetch, asked } = published({
      'https://www.bing.com/toolbox/bingbot.json': bing(40),
      'https://openai.com/gptbot.json': bing(3),
      'https://ip-ranges.amazonaws.com/ip-ranges.json': JSON.stringify({
        prefixes: Array.from({ length: 4_000 }, (_, n) => ({ ip_prefix: `3.${n >> 8}.${n & 255}.0/24` })),
      }),
      'https://geoip.linode.com/': Array.from({ length: 300 }, (_, n) => `45.79.${n & 255}.${n >> 8}/32,US,,,`).join(
        '\n',
      ),
    });
    const results = await feeds.update([], fetch);
    expect(asked).toContain(`${GOOGLE}/common-crawlers.json`);
    expect(feeds.find('40.77.39.1')).toMatchObject({ crawler: 'bing' });
    // Not among the new networks, and an operator whose other addresses did not answer.
    expect(feeds.find('66.249.66.1')).toMatchObject({ crawler: 'google' });
    expect(feeds.find('40.77.3.1')).toMatchObject({ crawler: 'bing' });
    expect(feeds.find('3.15.1.1')).toMatchObject({ hosting: true });
    expect(feeds.find('45.79.44.0')).toMatchObject({ hosting: true });
    // An operator without an address.
    expect(feeds.find('13.64.0.1')).toMatchObject({ hosting: true });
    expect(results['crawlers']).toMatchObject({ state: 'held', reason: 'fetch_failed', version: '2026-11-20' });
    expect(results['crawlers']?.detail).toMatch(/google .*status 503.*openai/);
    expect(results['crawlers']?.detail).not.toContain('bing');
    expect(readdirSync(join(feeds.dataDir, 'feeds')).filter((name) => name.includes('incoming'))).toEqual([]);
  });

  test.each([
    ['half of it', bing(10), '10 networks, and 28 before'],
    ['a page', '<!doctype html><p>Moved</p>', 'no network in what it publishes'],
  ])('keeps the part of an operator that publishes %s', async (_what, text, fault) => {
    const feeds = open();
    const { fetch } = published({ 'https://www.bing.com/toolbox/bingbot.json': text });
    const { crawlers } = await feeds.update([], fetch);
    expect(crawlers).toMatchObject({ state: 'held', version: null });
    expect(crawlers?.detail).toContain(fault);
    expect(feeds.find('157.55.39.1')).toMatchObject({ crawler: 'bing' });
  });
});

test.each([
  ['https://feeds.example/list.txt', null],
  ['http://10.1.2.3/list.txt', null],
  ['http://feeds.example/list.txt', 'only https addresses are fetched'],
  ['http://8.8.8.8/list.txt', 'only https addresses are fetched'],
  ['https://user:secret@feeds.example/', 'it is no address of a feed'],
  ['ftp://feeds.example/', 'only https addresses are fetched'],
])('The source %s: %s', (source, fault) => {
  expect(sourceFault(source)).toBe(fault);
});
