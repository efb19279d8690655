import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FAILURE_REASONS } from '../../src/work/extraction-job.ts';
import { extractionClient, type Job } from '../support/extractions.ts';
import {
  answer,
  startHostile,
  startResponder,
  type HostileConduct,
  type HostileRequest,
  type HostileServer,
} from '../support/hostile-server.ts';
import { newCustomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/**
 * Every behaviour that a source may have, tested through the whole server: each job ends with a generic reason, in time and within its
 * memory limit, while other jobs continue. Each source has its own address, because politeness limits apply per source.
 */

/** Concurrent jobs of one customer. */
const JOBS_PER_CUSTOMER = 10;
/** Two attempts of 20 s each at robots.txt or at the page, with the waits before and between them. */
const END_MS_MAX = 100_000;
const JOB_BYTES_MAX = 64 * 2 ** 20;
/** Four attempts at a page of 10 MiB, including what the connection buffers of the system hold on this machine. */
const TAKEN_BYTES_MAX = 4 * 22 * 2 ** 20;

type Client = ReturnType<typeof extractionClient>;
type Respond = (socket: Socket, request: HostileRequest) => void;

let server: RunningServer;
let healthy: HostileServer;
const sources: HostileServer[] = [];
const clients: Client[] = [];
let addresses = 0;

beforeAll(async () => {
  server = await startServer({
    env: {
      // 127.0.0.2 is not allowed.
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.1/32,127.0.1.0/24',
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
    },
  });
  clients.push(extractionClient(server.url, server.secretKey));
  for (let i = 0; i < 5; i++) {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    clients.push(extractionClient(server.url, secretKey));
  }
  healthy = await startResponder((socket, request) => html(socket, request, 'All is well here.'), '127.0.0.1');
});
afterAll(async () => {
  await server.stop();
  await healthy.close();
  for (const source of sources) await source.close();
});

/** Returns addresses from `127.0.1.1` upwards. */
function nextAddress(): string {
  addresses++;
  return `127.0.1.${addresses}`;
}

function kept(source: HostileServer): HostileServer {
  sources.push(source);
  return source;
}

function clientAt(place: number): Client {
  const client = clients[Math.floor(place / JOBS_PER_CUSTOMER)];
  if (client === undefined) throw new Error('there are too few customers');
  return client;
}

/** A source without robots.txt whose pages respond with `respond`. */
async function source(respond: Respond): Promise<HostileServer> {
  const one = await startResponder((socket, request) => {
    if (pathOf(request) === '/robots.txt') answer(socket, '404 Not Found', '');
    else respond(socket, request);
  }, nextAddress());
  return kept(one);
}

function pathOf({ head }: HostileRequest): string {
  return head.split(' ')[1] ?? '';
}

function html(socket: Socket, request: HostileRequest, text: string, headers = ''): void {
  if (pathOf(request) === '/robots.txt') answer(socket, '404 Not Found', '');
  else {
    const body = `<!doctype html><title>A page</title><main><p>${text}</p></main>`;
    answer(socket, '200 OK', body, `Content-Type: text/html\r\n${headers}`);
  }
}

function redirects(to: (request: HostileRequest, socket: Socket) => string): Respond {
  return (socket, request) => answer(socket, '302 Found', '', `Location: ${to(request, socket)}\r\n`);
}

function article(url: string): object {
  return { connector: 'generic', operation: 'page.article', input: { url } };
}

/** Returns why the job failed, or `succeeded`. Fails the test if the job shows more than that. */
function reasonOf(job: Job): string {
  if (job.status === 'succeeded') return 'succeeded';
  expect(Object.keys(job.failure ?? {})).toEqual(['reason', 'retryable']);
  expect(FAILURE_REASONS).toContain(job.failure?.reason);
  expect(job.counts.collected).toBe(0);
  return job.failure?.reason ?? 'none';
}

/** Words from the internals of the service, and from system errors. */
const INTERNAL = /ECONN|ENOTFOUND|EAI_|ERR_|UND_|Error|stack|node:|\.js|127\.0\.|certificate|sockets?\b/;

async function expectNothingInternal(client: Client, id: string): Promise<void> {
  for (const path of [`/v1/extractions/${id}`, `/v1/extractions/${id}/records`]) {
    const { text } = await client.ask('GET', path);
    expect(text).not.toMatch(INTERNAL);
  }
}

/** The behaviour of a whole host, including its robots.txt → the reason of the job. */
const HOSTS: Readonly<Partial<Record<HostileConduct, string>>> = {
  refuses: 'source_unavailable',
  resets_at_accept: 'source_unavailable',
  resets_on_request: 'source_unavailable',
  closes_on_request: 'source_unavailable',
  resets_mid_body: 'source_unavailable',
  closes_mid_body: 'source_unavailable',
  garbage: 'unsupported_content',
  garbage_at_accept: 'unsupported_content',
  bad_chunks: 'unsupported_content',
  upgrades: 'unsupported_content',
  never_answers: 'timeout',
  drips_headers: 'timeout',
  drips_body: 'timeout',
  tls_silent: 'timeout',
  tls_self_signed: 'source_unavailable',
  tls_wrong_host: 'source_unavailable',
  tls_plain: 'source_unavailable',
  // A robots.txt that cannot be read disallows everything for now.
  server_error: 'robots_disallowed',
  huge_body: 'robots_disallowed',
  huge_chunked_body: 'robots_disallowed',
  huge_announced_body: 'robots_disallowed',
  huge_headers: 'robots_disallowed',
  gzip_bomb: 'robots_disallowed',
};

/** The behaviour of single pages → the reason of the job. */
const PAGES: Readonly<Record<string, { readonly respond: Respond; readonly reason: string }>> = {
  'never answers': { respond: () => {}, reason: 'timeout' },
  'is a picture': {
    respond: (socket) => answer(socket, '200 OK', 'GIF89a', 'Content-Type: image/gif\r\n'),
    reason: 'unsupported_content',
  },
  'is broken gzip': {
    respond: (socket) => answer(socket, '200 OK', 'no gzip', 'Content-Encoding: gzip\r\n'),
    reason: 'unsupported_content',
  },
  'is coded ten times': {
    respond: (socket) => answer(socket, '200 OK', 'x', `Content-Encoding: ${Array(10).fill('gzip').join(', ')}\r\n`),
    reason: 'unsupported_content',
  },
  'redirects to a blocked address': {
    respond: redirects((_request, socket) => `http://127.0.0.2:${socket.localPort ?? 80}/`),
    reason: 'access_denied',
  },
  'redirects to the service itself': {
    respond: redirects(() => `${server.url}/v1/extractions`),
    reason: 'access_denied',
  },
  'redirects to a file': { respond: redirects(() => 'file:///etc/passwd'), reason: 'source_unavailable' },
  'redirects in a circle': {
    respond: redirects((request) => (pathOf(request) === '/a' ? '/b' : '/a')),
    reason: 'source_unavailable',
  },
  'redirects for ever': { respond: redirects(({ number }) => `/${number}`), reason: 'source_unavailable' },
  'redirects to a login': { respond: redirects(() => '/login'), reason: 'login_required' },
  'is gone': { respond: (socket) => answer(socket, '410 Gone', ''), reason: 'source_not_found' },
  'is forbidden': { respond: (socket) => answer(socket, '403 Forbidden', 'no'), reason: 'access_denied' },
  'asks to wait for a day': {
    respond: (socket) => answer(socket, '429 Too Many Requests', '', 'Retry-After: 86400\r\n'),
    reason: 'rate_limited_by_source',
  },
};

test('Jobs at hostile sources end in time with only a reason, and others continue', { timeout: 200_000 }, async () => {
  const blocked = kept(await startResponder((socket, request) => html(socket, request, 'secret'), '127.0.0.2'));
  const cases: { name: string; reason: string; url: string; one: HostileServer | null }[] = [];
  for (const [name, reason] of Object.entries(HOSTS)) {
    const one = kept(await startHostile(name as HostileConduct, nextAddress()));
    cases.push({ name, reason, url: `${one.url}/page`, one });
  }
  for (const [name, { respond, reason }] of Object.entries(PAGES)) {
    const one = await source(respond);
    cases.push({ name, reason, url: `${one.url}/page`, one });
  }
  cases.push({
    name: 'a name that nobody has',
    reason: 'source_unavailable',
    url: 'http://nobody.invalid/',
    one: null,
  });

  const sinceMs = performance.now();
  const ids = await Promise.all(cases.map(({ url }, i) => clientAt(i).started(article(url))));
  // Meanwhile, jobs of a customer who has such jobs and of one who has none.
  for (const client of [clientAt(0), clients.at(-1) ?? clientAt(0)]) {
    for (let i = 0; i < 5; i++) {
      const startMs = performance.now();
      const id = await client.started({ ...article(`${healthy.url}/${i}`) });
      let job = await client.job(id, '?wait=5');
      while (job.status === 'queued' || job.status === 'running') job = await client.job(id, '?wait=5');
      expect(job.status).toBe('succeeded');
      if (client !== clientAt(0)) expect(performance.now() - startMs).toBeLessThan(5_000);
    }
  }
  for (const [i, { name, reason, one }] of cases.entries()) {
    const id = ids[i] ?? '';
    let job = await clientAt(i).job(id, '?wait=20');
    while (job.finished_at === null && performance.now() - sinceMs < END_MS_MAX)
      job = await clientAt(i).job(id, '?wait=20');
    expect([name, reasonOf(job)]).toEqual([name, reason]);
    await expectNothingInternal(clientAt(i), id);
    expect([name, (one?.bytesTaken() ?? 0) < TAKEN_BYTES_MAX]).toEqual([name, true]);
  }
  expect(blocked.connections()).toBe(0);
});

/** Writes 1 GiB of a body as fast as the reader accepts it. */
function pour(socket: Socket, headers: string): void {
  const chunk = Buffer.alloc(65_536, 0x61);
  let left = 2 ** 30;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= chunk.length;
      if (!socket.write(chunk)) return;
    }
  };
  socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n`);
  socket.on('drain', more);
  more();
}

function sendsUntilClose(body: Buffer, headers: string): Respond {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nConnection: close\r\n${headers}\r\n`);
    socket.end(body);
  };
}

function sends(body: Buffer, headers: string): Respond {
  return (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${headers}\r\n`);
    socket.write(body);
  };
}

/** A page and a sitemap with the maximum number of addresses, each as long as usual ones. */
const withLargeSitemap: Respond = (socket, request) => {
  if (pathOf(request) !== '/sitemap.xml') {
    html(socket, request, 'Its pages are in a list.');
    return;
  }
  const start = `http://${socket.localAddress ?? ''}:${socket.localPort ?? 80}/`;
  // Compressible no better than real sitemaps: what compresses like a decompression bomb is rejected.
  const hex = randomBytes(50 * 50_000).toString('hex');
  const urls = Array.from(
    { length: 50_000 },
    (_, i) => `<url><loc>${start}${hex.slice(i * 100, i * 100 + 100)}</loc></url>\n`,
  );
  const body = gzipSync(`<urlset>${urls.join('')}</urlset>`, { level: 1 });
  sends(body, 'Content-Type: application/gzip\r\n')(socket, request);
};

/** A sitemap of the maximum size, with addresses of the maximum length. */
function hugeSitemap(): Buffer {
  const digits = 740;
  const hex = randomBytes((64_000 * digits) / 2).toString('hex');
  const urls = Array.from(
    { length: 64_000 },
    (_, i) => `<url><loc>/${hex.slice(i * digits, (i + 1) * digits)}</loc></url>\n`,
  );
  return Buffer.from(`<urlset>${urls.join('')}</urlset>`);
}
const HUGE_SITEMAP = hugeSitemap();

/** A page and such a sitemap. */
function withHugeSitemap(as: 'it is' | 'until the end' | 'gzip'): Respond {
  const body = as === 'gzip' ? gzipSync(HUGE_SITEMAP, { level: 1 }) : HUGE_SITEMAP;
  return (socket, request) => {
    if (pathOf(request) !== '/sitemap.xml') html(socket, request, 'Its pages are in a list.');
    else if (as === 'until the end') sendsUntilClose(body, 'Content-Type: application/xml\r\n')(socket, request);
    else sends(body, 'Content-Type: application/xml\r\n')(socket, request);
  };
}

/** A page, and a feed at the address of the sitemap. */
function withHugeFeed(): Respond {
  const items = Buffer.alloc(45 * MIB, '<item><title>bread</title><link>http://shop.example/1</link></item>');
  const body = Buffer.concat([Buffer.from('<rss><channel>'), items]);
  return (socket, request) => {
    if (pathOf(request) === '/sitemap.xml') sends(body, 'Content-Type: application/xml\r\n')(socket, request);
    else html(socket, request, 'Its pages are in a list.');
  };
}

const MIB = 2 ** 20;
const ZEROS_IN_GZIP = gzipSync(Buffer.alloc(50 * MIB));

function siteUrls(url: string, limit = 1_000): object {
  return {
    connector: 'generic',
    operation: 'site.urls',
    input: { url: new URL(url).origin },
    collect: { mode: 'limit', limit },
  };
}

/** The large response → how it is requested, and the result. */
const LARGE: Readonly<
  Record<
    string,
    {
      readonly respond: Respond;
      readonly body: (url: string) => object;
      readonly reason: string;
      readonly collected?: number;
    }
  >
> = {
  'a body of 1 GB': {
    respond: (socket) => pour(socket, 'Content-Type: text/html\r\nConnection: close\r\n'),
    body: article,
    reason: 'unsupported_content',
  },
  'an announced body of 1 GB': {
    respond: (socket) => pour(socket, `Content-Type: text/html\r\nContent-Length: ${2 ** 30}\r\n`),
    body: article,
    reason: 'unsupported_content',
  },
  '50 MiB of zeros in gzip': {
    respond: sends(ZEROS_IN_GZIP, 'Content-Type: text/html\r\nContent-Encoding: gzip\r\n'),
    body: article,
    reason: 'unsupported_content',
  },
  '50 MiB of zeros in gzip, twice': {
    respond: sends(gzipSync(ZEROS_IN_GZIP), 'Content-Type: text/html\r\nContent-Encoding: gzip, gzip\r\n'),
    body: article,
    reason: 'unsupported_content',
  },
  '1 MB of headers': {
    respond: sends(Buffer.alloc(0), `X-Filler: ${'a'.repeat(1_000)}\r\n`.repeat(1_000)),
    body: article,
    reason: 'unsupported_content',
  },
  'a page of 9 MiB of text': {
    respond: sends(Buffer.alloc(9 * MIB, 'words and words '), 'Content-Type: text/html\r\n'),
    body: article,
    // Its text is cut, and that is noted.
    reason: 'succeeded',
    collected: 1,
  },
  'a page of 9 MiB of open tags': {
    respond: sends(Buffer.alloc(9 * MIB, '<div>'), 'Content-Type: text/html\r\n'),
    body: article,
    reason: 'parse_failed',
  },
  'JSON of 9 MiB of brackets': {
    respond: sends(Buffer.alloc(9 * MIB, '['), 'Content-Type: application/json\r\n'),
    body: tagPosts,
    reason: 'parse_failed',
  },
  'JSON of 9 MiB of empty objects': {
    respond: sends(Buffer.from(`[${'{},'.repeat(3 * MIB)}{}]`), 'Content-Type: application/json\r\n'),
    body: tagPosts,
    reason: 'parse_failed',
  },
  'a sitemap of 50,000 addresses': {
    respond: withLargeSitemap,
    body: siteUrls,
    reason: 'succeeded',
    collected: 1_000,
  },
  'a sitemap of 48 MiB': {
    respond: withHugeSitemap('it is'),
    body: siteUrls,
    reason: 'succeeded',
    collected: 1_000,
  },
  'a sitemap of 48 MiB, of a length that is not announced': {
    respond: withHugeSitemap('until the end'),
    body: siteUrls,
    reason: 'succeeded',
    collected: 1_000,
  },
  'a sitemap of 48 MiB, packed': {
    respond: withHugeSitemap('gzip'),
    body: siteUrls,
    reason: 'succeeded',
    collected: 1_000,
  },
  'a feed of 45 MiB in a sitemap’s place': {
    respond: withHugeFeed(),
    body: siteUrls,
    reason: 'succeeded',
    collected: 1,
  },
  'a feed of 45 MiB': {
    respond: sends(
      Buffer.concat([Buffer.from('<rss><channel>'), Buffer.alloc(45 * MIB, '<item><title>bread</title></item>')]),
      'Content-Type: application/rss+xml\r\n',
    ),
    body: (url) => ({ connector: 'feed', operation: 'feed.items', input: { url } }),
    reason: 'unsupported_content',
  },
};

function tagPosts(url: string): object {
  return { connector: 'mastodon', operation: 'tag.posts', input: { site: new URL(url).origin, tag: 'bread' } };
}

/** Returns memory of the server in bytes. The peak is the maximum since `forgetPeak`. NaN if the system does not report it. */
function memory(name: 'VmRSS' | 'VmHWM' | 'RssAnon'): number {
  try {
    const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
  } catch {
    return Number.NaN;
  }
}

function forgetPeak(): void {
  writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
}

describe.skipIf(process.platform !== 'linux')('memory of one job', () => {
  beforeAll(async () => {
    // The first jobs allocate memory that does not belong to a single job.
    const [client] = clients;
    for (let i = 0; i < 20; i++) await client?.run(article(`${healthy.url}/warm-${i}`));
  });

  test.each(Object.keys(LARGE))('A job that receives %s takes less than 64 MiB', { timeout: 120_000 }, async (name) => {
    const { respond, body, reason, collected = 0 } = LARGE[name] ?? { respond: () => {}, body: article, reason: '' };
    const one = await source(respond);
    const client = clientAt(0);
    const before = memory('VmRSS');
    forgetPeak();
    const job = await client.run(body(`${one.url}/page`));
    const grown = memory('VmHWM') - before;
    expect([reasonOf(job), job.counts.collected]).toEqual([reason, collected]);
    expect(grown).toBeLessThan(JOB_BYTES_MAX);
    await one.close();
  });

  /**
   * Its results fill the store. The system decides how many of the store's pages stay in memory, and they do not count as memory of the
   * job.
   */
  test('A job takes less than 64 MiB for 20,000 addresses of a sitemap of 48 MiB', { timeout: 120_000 }, async () => {
    const one = await source(withHugeSitemap('it is'));
    const run = async (): Promise<void> => {
      const job = await clientAt(0).run(siteUrls(`${one.url}/page`, 20_000));
      expect([reasonOf(job), job.counts.collected]).toEqual(['succeeded', 20_000]);
    };
    // With the first one the heaps of all threads grow to the size that such jobs need, by up to 77 MB, and keep it: measured, three more
    // jobs then add 9 to 29 MB, and leave no more behind.
    await run();
    const before = memory('RssAnon');
    let most = before;
    const timer = setInterval(() => (most = Math.max(most, memory('RssAnon'))), 10);
    await run();
    clearInterval(timer);
    expect(most - before).toBeLessThan(JOB_BYTES_MAX);
    await one.close();
  });
});

/** A post as the API of Mastodon returns it. */
function post(id: string): object {
  return { id, url: `http://posts.example/${id}`, content: '<p>bread</p>', created_at: '2026-01-02T00:00:00Z' };
}

/** A timeline whose next page always begins at `nextOf`. */
function timeline(
  idsOf: (cursor: string | null) => readonly string[],
  nextOf: (cursor: string | null) => string,
): Respond {
  return (socket, request) => {
    const cursor = new URL(pathOf(request), 'http://x').searchParams.get('max_id');
    const body = JSON.stringify(idsOf(cursor).map(post));
    const link = `Link: </api/v1/timelines/tag/bread?max_id=${nextOf(cursor)}>; rel="next"\r\n`;
    answer(socket, '200 OK', body, `Content-Type: application/json\r\n${link}`);
  };
}

describe('endless paging', () => {
  test('A crawl with a limit stops at its limit on a site where every page links to two new ones', async () => {
    const one = await source((socket, request) => {
      const at = pathOf(request).replace(/\/$/, '');
      const n = Number(/\d+$/.exec(at)?.[0] ?? 0);
      html(socket, request, `<a href="/p${2 * n + 1}">a</a> <a href="/p${2 * n + 2}">b</a>`);
    });
    const body = { connector: 'generic', operation: 'site.pages', input: { url: `${one.url}/` } };
    const job = await clientAt(0).run({ ...body, collect: { mode: 'limit', limit: 60 } });
    expect([reasonOf(job), job.counts.collected]).toEqual(['succeeded', 60]);
    expect(one.requests().length).toBeLessThan(100);
  });

  test('A crawl that collects all stops at its depth limit, and skips paths that repeat themselves', async () => {
    const one = await source((socket, request) => {
      html(socket, request, `<a href="${pathOf(request).replace(/\/?$/, '/deeper/')}">deeper</a>`);
    });
    const body = { connector: 'generic', operation: 'site.pages', input: { url: `${one.url}/`, max_depth: 20 } };
    const job = await clientAt(0).run({ ...body, collect: { mode: 'all' } });
    expect(reasonOf(job)).toBe('succeeded');
    expect(job.counts.collected).toBeLessThan(10);
  });

  test('A list with a limit stops at its limit if each page has a next one', async () => {
    const one = await source(
      timeline(
        (cursor) => Array.from({ length: 10 }, (_, i) => String(Number(cursor ?? 0) + i)),
        (cursor) => String(Number(cursor ?? 0) + 10),
      ),
    );
    const job = await clientAt(0).run({ ...tagPosts(one.url), collect: { mode: 'limit', limit: 95 } });
    expect([reasonOf(job), job.counts.collected]).toEqual(['succeeded', 95]);
  });

  test.each([
    ['names itself as the next one', ['1', '2'], () => 'same'],
    ['cycles through three cursors', null, (cursor: string | null) => String((Number(cursor ?? 0) + 1) % 3)],
    ['returns the same records under ever new cursors', ['1', '2'], (cursor: string | null) => `${cursor ?? ''}1`],
    ['is empty', [], (cursor: string | null) => `${cursor ?? ''}1`],
  ] as const)('A list that collects all ends if a page %s', async (_name, ids, nextOf) => {
    const one = await source(timeline((cursor) => ids ?? [`${cursor ?? 0}1`, `${cursor ?? 0}2`], nextOf));
    const job = await clientAt(0).run({ ...tagPosts(one.url), collect: { mode: 'all' } });
    expect(reasonOf(job)).toBe('succeeded');
    expect(job.counts.collected).toBe(ids?.length ?? 6);
    expect(one.requests().length).toBeLessThan(60);
  });
});

describe('a job that collects all from an incomplete source', () => {
  const xml = (socket: Socket, body: string): void => answer(socket, '200 OK', body, 'Content-Type: text/xml\r\n');
  const startOf = (socket: Socket): string => `http://${socket.localAddress ?? ''}:${socket.localPort ?? 80}`;
  const all = (operation: string, url: string): object => {
    return { connector: 'generic', operation, input: { url: `${url}/` }, collect: { mode: 'all' } };
  };

  test('A job that collects all fails if one page of posts is missing', async () => {
    const one = await source((socket, request) => {
      const path = pathOf(request);
      if (!path.startsWith('/wp-json/')) {
        const head = '<link rel="https://api.w.org/" href="/wp-json/"><meta name="generator" content="WordPress 6.4">';
        answer(socket, '200 OK', `<html><head>${head}</head><body>Home</body></html>`, 'Content-Type: text/html\r\n');
        return;
      }
      const page = Number(/[?&]page=(\d+)/.exec(path)?.[1]);
      if (path.includes('/pages?') || page !== 2) {
        const kind = path.includes('/pages?') ? 'p' : 'b';
        const posts = Array.from({ length: 100 }, (_, i) => ({
          id: i,
          link: `${startOf(socket)}/${kind}${page}-${i}`,
          title: { rendered: 'Post' },
          content: { rendered: '<p>Text</p>' },
        }));
        const total = kind === 'p' ? 2 : 12;
        answer(
          socket,
          '200 OK',
          JSON.stringify(posts),
          `Content-Type: application/json\r\nX-WP-TotalPages: ${total}\r\n`,
        );
      } else answer(socket, '404 Not Found', '{}', 'Content-Type: application/json\r\n');
    });
    const job = await clientAt(0).run(all('site.pages', one.url));
    expect([job.status, job.failure?.reason]).toEqual(['failed', 'source_not_found']);
    expect(job.counts.collected).toBeGreaterThan(0);
  });

  test.each([
    ['500 Internal Server Error', 'failed'],
    ['404 Not Found', 'succeeded'],
  ])('A job for all of two sitemaps, the second answering %s, is %s', { timeout: 60_000 }, async (status, end) => {
    const one = await source((socket, request) => {
      const start = startOf(socket);
      const path = pathOf(request);
      if (path === '/sitemap.xml')
        xml(
          socket,
          `<sitemapindex>${['/1.xml', '/2.xml'].map((to) => `<sitemap><loc>${start}${to}</loc></sitemap>`).join('')}</sitemapindex>`,
        );
      else if (path === '/1.xml') xml(socket, `<urlset><url><loc>${start}/a</loc></url></urlset>`);
      else if (path === '/2.xml') answer(socket, status, '');
      else html(socket, request, 'Its pages are in lists.');
    });
    const job = await clientAt(0).run(all('site.urls', one.url));
    expect([job.status, job.counts.collected]).toEqual([end, 1]);
  });
});

describe('a wrong charset', () => {
  const page = (text: string): string => `<!doctype html><title>A page</title><main><p>${text}</p></main>`;
  test.each([
    ['declares an unknown charset', 'text/html; charset=klingon', Buffer.from(page('caf\u00e9')), 'caf\u00e9'],
    [
      'declares UTF-8 and is windows-1252',
      'text/html; charset=utf-8',
      Buffer.from(page('caf\u00e9'), 'latin1'),
      'caf\u00e9',
    ],
    ['declares UTF-16 and is UTF-8', 'text/html; charset=utf-16le', Buffer.from(page('caf\u00e9')), null],
    ['ends with half a character', 'text/html', Buffer.from([...Buffer.from(page('caf')), 0xc3]), 'caf'],
  ])('A page that %s is read as far as possible', async (_name, type, body, text) => {
    const one = await source(sends(body, `Content-Type: ${type}\r\n`));
    const client = clientAt(0);
    const job = await client.run(article(`${one.url}/page`));
    if (text === null) {
      expect(['unsupported_content', 'parse_failed', 'succeeded']).toContain(reasonOf(job));
      return;
    }
    expect(reasonOf(job)).toBe('succeeded');
    const [record] = await client.allRecords(job.id);
    expect(record).toMatchObject({ text: expect.stringContaining(text) as string });
  });
});
