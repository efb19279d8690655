import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { parseUrl } from '../kernel/parse-url.ts';
import { replaceFile } from './feed-folder.ts';
import type { FeedResult } from './update-feeds.ts';

/**
 * Databases of MaxMind by a licence key. A running server takes over a new file by itself, after the checks of every file in the folder.
 * Source: MaxMind, "Updating GeoIP databases": metadata, then a download that redirects once to a storage service.
 */
const MAXMIND_URL = 'https://updates.maxmind.com';

/** For each slot the editions that are tried in their order: a licence that lacks the first may have the second. */
const EDITIONS: readonly (readonly string[])[] = [
  ['GeoIP2-City', 'GeoLite2-City'],
  ['GeoIP2-ISP', 'GeoLite2-ASN'],
  ['GeoIP2-Anonymous-IP'],
];

/** Choice: several times the largest of these databases. */
const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024;
const DATABASE_BYTES_MAX = 1_024 * 1024 * 1024;
const METADATA_BYTES_MAX = 64 * 1024;
const METADATA_MS_MAX = 20_000;
/** Choice: 512 MB at 2 MB/s. */
const ARCHIVE_MS_MAX = 300_000;
const CONNECT_MS_MAX = 10_000;

export interface MaxmindAccount {
  readonly account: string;
  readonly licenseKey: string;
}

export interface MaxmindOptions extends MaxmindAccount {
  readonly client: Pick<GuardedClient, 'request'>;
  readonly geoipDir: string;
  readonly userAgent: string;
  /** For tests: another address of the service. */
  readonly url?: string;
}

const METADATA = z.object({
  databases: z
    .array(z.object({ date: z.string().regex(/^\d{4}-\d\d-\d\d$/), md5: z.string().regex(/^[0-9a-f]{32}$/i) }))
    .min(1),
});

/** Fetches what is newer than the files of the folder. Never rejects; `held`: the files stay as they are. */
export async function updateMaxmind(options: MaxmindOptions): Promise<readonly FeedResult[]> {
  const results: FeedResult[] = [];
  for (const editions of EDITIONS) {
    let result: FeedResult | null = null;
    for (const edition of editions) {
      result = await updateEdition(edition, options);
      if (result.state !== 'absent') break;
    }
    if (result !== null) results.push(result);
  }
  return results;
}

async function updateEdition(edition: string, options: MaxmindOptions): Promise<FeedResult> {
  const path = join(options.geoipDir, `${edition}.mmdb`);
  const result = (
    state: FeedResult['state'],
    version: string | null,
    reason: string | null,
    detail: string,
  ): FeedResult => {
    return { feed: edition, state, version, rows: null, dropped: 0, reason, detail };
  };
  try {
    const url = `${options.url ?? MAXMIND_URL}/geoip`;
    const found = await fetchBytes(
      `${url}/updates/metadata?edition_id=${edition}`,
      options,
      METADATA_MS_MAX,
      METADATA_BYTES_MAX,
    );
    if (found.kind === 'refused') return result('absent', null, null, `not in this licence (status ${found.status})`);
    const [newest] = METADATA.parse(JSON.parse(found.body.toString())).databases;
    if (newest === undefined) return result('held', null, 'malformed', 'no database is named');
    const { date, md5 } = newest;
    if (existsSync(path) && md5Of(readFileSync(path)) === md5.toLowerCase())
      return result('ok', date, null, 'no new file');
    const archive = `${url}/databases/${edition}/download?date=${date.replaceAll('-', '')}&suffix=tar.gz`;
    const fetched = await fetchBytes(archive, options, ARCHIVE_MS_MAX, ARCHIVE_BYTES_MAX);
    if (fetched.kind === 'refused')
      return result('absent', null, null, `not in this licence (status ${fetched.status})`);
    const database = databaseIn(gunzipSync(fetched.body, { maxOutputLength: DATABASE_BYTES_MAX }));
    if (database === null || md5Of(database) !== md5.toLowerCase())
      return result('held', date, 'malformed', 'the file is not the one that the publisher names');
    replaceFile(path, database);
    return result('ok', date, null, 'new');
  } catch (error) {
    return result('held', null, 'fetch_failed', error instanceof Error ? error.message : 'unknown');
  }
}

type Fetched = { readonly kind: 'body'; readonly body: Buffer } | { readonly kind: 'refused'; readonly status: number };

/** Follows one redirect, without the key: it leads to another host. Throws for any other fault. */
async function fetchBytes(url: string, options: MaxmindOptions, msMax: number, bytesMax: number): Promise<Fetched> {
  const { account, licenseKey } = options;
  const authorization = `Basic ${Buffer.from(`${account}:${licenseKey}`).toString('base64')}`;
  const ask = async (address: string, headers: Readonly<Record<string, string>>) => {
    const outcome = await options.client.request({
      url: address,
      method: 'GET',
      headers: { 'user-agent': options.userAgent, 'accept-encoding': 'identity', ...headers },
      timeoutMs: msMax,
      connectMs: CONNECT_MS_MAX,
      responseBytesMax: bytesMax,
    });
    if (outcome.kind === 'failed') throw new Error(`${outcome.error}: ${outcome.detail}`);
    return outcome;
  };
  let response = await ask(url, { authorization });
  const location = response.headers['location'];
  if (response.status >= 300 && response.status < 400 && typeof location === 'string') {
    const next = parseUrl(location);
    if (next === null || next.protocol !== new URL(url).protocol) throw new Error('it redirects to no https address');
    response = await ask(next.href, {});
  }
  if (response.status === 401) throw new Error('the account or the licence key is wrong');
  if (response.status === 403 || response.status === 404) return { kind: 'refused', status: response.status };
  if (response.status !== 200) throw new Error(`the publisher answered with status ${response.status}`);
  return { kind: 'body', body: response.body };
}

function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

const TAR_BLOCK = 512;

/** Returns the first `.mmdb` of a tar archive; null without one. Source: POSIX.1-1988, ustar: name at 0, size in octal at 124. */
function databaseIn(archive: Buffer): Buffer | null {
  for (let at = 0; at + TAR_BLOCK <= archive.length;) {
    const name = archive.toString('latin1', at, at + 100).split('\0')[0] ?? '';
    const bytes = Number.parseInt(archive.toString('latin1', at + 124, at + 136), 8);
    if (name === '' || !(bytes >= 0)) return null;
    const from = at + TAR_BLOCK;
    if (name.endsWith('.mmdb')) return from + bytes <= archive.length ? archive.subarray(from, from + bytes) : null;
    at = from + Math.ceil(bytes / TAR_BLOCK) * TAR_BLOCK;
  }
  return null;
}
