import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openMmdb } from '../../../src/assets/mmdb.ts';
import { sourceFault } from '../../../src/data/fetch-feed.ts';
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
    async update(accepted: readonly string[] = []) {
      const results = await updateFeeds({
        dataDir,
        geoipDir,
        fetch: offlineFeeds(offline),
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
