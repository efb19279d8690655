import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { updateMaxmind } from '../../../src/data/maxmind.ts';
import { createGuardedClient } from '../../../src/egress/guarded-client.ts';

/** A double of the update service: metadata, then a download that redirects to a storage service. */
const CITY = Buffer.from('a database of cities');
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');

function tarOf(name: string, bytes: Buffer): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0);
  head.write(bytes.length.toString(8).padStart(11, '0'), 124);
  return Buffer.concat([head, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512), Buffer.alloc(1_024)]);
}

/** Editions of the licence, with the archive and the checksum that the metadata name. */
let editions: Record<string, { archive: Buffer; md5: string }> = {};
let asked: { readonly url: string; readonly authorization: string | undefined }[] = [];

function respond({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  asked.push({ url, authorization: headers.authorization });
  const { pathname, searchParams } = new URL(url, 'http://maxmind.example');
  const storage = /^\/storage\/(.*)$/.exec(pathname)?.[1];
  if (storage !== undefined) return void response.end(editions[storage]?.archive);
  if (headers.authorization !== `Basic ${Buffer.from('7:key').toString('base64')}`)
    return void response.writeHead(401).end();
  const edition = searchParams.get('edition_id') ?? pathname.split('/')[3] ?? '';
  const found = editions[edition];
  if (found === undefined) return void response.writeHead(403).end();
  if (pathname === '/geoip/updates/metadata') {
    const databases = [{ edition_id: edition, date: '2026-11-24', md5: found.md5 }];
    return void response.end(JSON.stringify({ databases }));
  }
  expect(url).toBe(`/geoip/databases/${edition}/download?date=20261124&suffix=tar.gz`);
  const { port } = server.address() as AddressInfo;
  response.writeHead(302, { location: `http://127.0.0.1:${port}/storage/${edition}` }).end();
}

const server = createServer(respond);
const client = createGuardedClient({ allow: ['127.0.0.0/8'] });
let geoipDir = '';
beforeAll(() => new Promise<void>((done) => void server.listen(0, '127.0.0.1', done)));
beforeEach(() => {
  asked = [];
  editions = {};
  geoipDir = mkdtempSync(join(tmpdir(), 'gatehouse-maxmind-'));
});
afterAll(() => {
  client.close();
  server.close();
  rmSync(geoipDir, { recursive: true, force: true });
});

const update = (licenseKey = 'key') =>
  updateMaxmind({
    account: '7',
    licenseKey,
    client,
    geoipDir,
    userAgent: 'test',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
const edition = (name: string, bytes: Buffer) => ({ archive: gzipSync(tarOf(name, bytes)), md5: md5(bytes) });

describe('Databases of MaxMind', () => {
  test('come with the key, are checked, and come once; an edition that the licence lacks is replaced or absent', async () => {
    editions = { 'GeoLite2-City': edition('GeoLite2-City_20261124/GeoLite2-City.mmdb', CITY) };
    expect(await update()).toMatchObject([
      { feed: 'GeoLite2-City', state: 'ok', version: '2026-11-24', detail: 'new' },
      { feed: 'GeoLite2-ASN', state: 'absent' },
      { feed: 'GeoIP2-Anonymous-IP', state: 'absent' },
    ]);
    expect(readFileSync(join(geoipDir, 'GeoLite2-City.mmdb'))).toEqual(CITY);
    // The storage service never sees the key.
    expect(asked.filter(({ url }) => url.startsWith('/storage'))).toEqual([
      { url: '/storage/GeoLite2-City', authorization: undefined },
    ]);
    asked = [];
    expect((await update())[0]).toMatchObject({ state: 'ok', detail: 'no new file' });
    expect(asked.some(({ url }) => url.includes('download'))).toBe(false);
  });

  test.each([
    ['another checksum', () => ({ ...edition('a.mmdb', CITY), md5: md5(Buffer.from('x')) }), 'malformed'],
    ['no database', () => edition('a.txt', CITY), 'malformed'],
    ['no archive', () => ({ archive: Buffer.from('<html>'), md5: md5(CITY) }), 'fetch_failed'],
  ])('An archive with %s is held back, and the file before stays', async (_what, broken, reason) => {
    editions = { 'GeoIP2-City': edition('GeoIP2-City.mmdb', Buffer.from('of last week')) };
    await update();
    editions = { 'GeoIP2-City': broken() };
    expect((await update())[0]).toMatchObject({ feed: 'GeoIP2-City', state: 'held', reason });
    expect(readFileSync(join(geoipDir, 'GeoIP2-City.mmdb'), 'utf8')).toBe('of last week');
  });

  test('A wrong key is told, and nothing is fetched', async () => {
    editions = { 'GeoIP2-City': edition('GeoIP2-City.mmdb', CITY) };
    const [city] = await update('wrong');
    expect(city).toMatchObject({ state: 'held', reason: 'fetch_failed' });
    expect(city?.detail).toContain('licence key is wrong');
    expect(existsSync(join(geoipDir, 'GeoIP2-City.mmdb'))).toBe(false);
  });
});
