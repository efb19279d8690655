import { writeFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { GuardedClient } from '../egress/guarded-client.ts';
import { parseUrl } from '../kernel/parse-url.ts';
import { readIp } from '../risk/signals/ip.ts';
import type { FetchedPart } from './feed-work.ts';
import { FEED_BYTES_MAX } from './manifest.ts';
import { copyFeed, type FeedFetch, type FeedUpdateOptions, type OneFetch } from './update-feeds.ts';

/** Choice: 64 MB at 1 MB/s. */
const FETCH_MS_MAX = 60_000;
const CONNECT_MS_MAX = 10_000;

/** Returns a `fetch` that asks the publishers, or reads the operator's own file. A feed without a source is absent. */
export function publishedFeeds(client: Pick<GuardedClient, 'request'>, userAgent: string): FeedUpdateOptions['fetch'] {
  const fetchOne = async (source: string, path: string): Promise<OneFetch> => {
    if (isAbsolute(source)) return copyFeed(source, path);
    const fault = sourceFault(source);
    if (fault !== null) return { kind: 'failed', detail: fault };
    const outcome = await client.request({
      url: source,
      method: 'GET',
      headers: { 'user-agent': userAgent, 'accept-encoding': 'identity' },
      timeoutMs: FETCH_MS_MAX,
      connectMs: CONNECT_MS_MAX,
      responseBytesMax: FEED_BYTES_MAX,
    });
    if (outcome.kind === 'failed') return { kind: 'failed', detail: `${outcome.error}: ${outcome.detail}` };
    // A redirect may lead anywhere; the manifest names final addresses.
    if (outcome.status !== 200)
      return { kind: 'failed', detail: `the publisher answered with status ${outcome.status}` };
    await writeFile(path, outcome.body);
    return { kind: 'fetched' };
  };
  return async ({ source }, path): Promise<FeedFetch> => {
    if (source === null) return { kind: 'absent' };
    if (typeof source === 'string') return fetchOne(source, path);
    const parts: FetchedPart[] = [];
    for (const { operator, urls } of source) {
      const paths = urls.map((_, n) => `${path}.${operator}.${n}`);
      const faults: string[] = [];
      for (const [n, url] of urls.entries()) {
        const fetched = await fetchOne(url, paths[n] ?? '');
        if (fetched.kind !== 'fetched')
          faults.push(`${url}: ${fetched.kind === 'failed' ? fetched.detail : 'no file'}`);
      }
      parts.push({ operator, paths, fault: faults[0] ?? null });
    }
    return { kind: 'parts', parts };
  };
}

/**
 * Returns why an address is not fetched; null for https, and for http to an address of a private network, which the client refuses by
 * itself unless the operator allowed it.
 */
export function sourceFault(source: string): string | null {
  const url = parseUrl(source);
  if (url === null || url.username !== '' || url.password !== '') return 'it is no address of a feed';
  if (url.protocol === 'https:') return null;
  const ip = readIp(url.hostname.replace(/^\[|\]$/g, ''));
  const isPrivate = ip.kind === 'valid' && !ip.public;
  return url.protocol === 'http:' && isPrivate ? null : 'only https addresses are fetched';
}
