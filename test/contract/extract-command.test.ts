import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { command, MAIN, type Ran } from '../support/command-line.ts';
import { startSite, type Site } from '../unit/extract/fetch/site.ts';

/** `gatehouse extract` with a test site. Streams, signals, exit codes and the working folder are tested with a real process. */

const ITEMS = 30;
const FEED_PAGES = 3;

const SETTINGS = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8', GATEHOUSE_EXTRACT_HOST_GAP_MS: '0' };

let site: Site;
let folder = '';
beforeAll(async () => {
  site = await startSite({
    '/robots.txt': { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /private\n' },
    '/article': article('Harbour bridge reopens', []),
    '/private/a': article('Secret', []),
    '/feed': { headers: { 'content-type': 'application/rss+xml' }, body: feed() },
    ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/crawl/${i}`, () => crawled(i)])),
    ...Object.fromEntries(
      Array.from({ length: FEED_PAGES }, (_, i) => [
        `/paged/${i}`,
        { headers: { 'content-type': 'application/atom+xml' }, body: feedPage(i) },
      ]),
    ),
  });
});
afterAll(() => site.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-extract-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function article(title: string, links: readonly string[]): string {
  const line = 'The harbour bridge carried its first cars on Monday, and the whole town was there to see it happen.';
  return `<!doctype html><html lang="en"><head><title>${title}</title></head><body><article><h1>${title}</h1>
    ${Array.from({ length: 5 }, (_, i) => `<p>${i}: ${line}</p>`).join('')}</article>
    ${links.map((link) => `<a href="${link}">more</a>`).join(' ')}</body></html>`;
}

/** Times of the requests for pages of the crawl. */
const crawledAtMs: number[] = [];

function crawled(page: number): string {
  crawledAtMs.push(performance.now());
  return article(`Page ${page}`, linksOf(page));
}

function linksOf(page: number): readonly string[] {
  return [2 * page + 1, 2 * page + 2].filter((next) => next < 40).map((next) => `/crawl/${next}`);
}

function feed(): string {
  const items = Array.from(
    { length: ITEMS },
    (_, i) => `<item><guid>g${i}</guid><title>=Item ${i}, "new"</title><link>https://x.example/${i}</link></item>`,
  );
  return `<?xml version="1.0"?><rss version="2.0"><channel><title>F</title>${items.join('')}</channel></rss>`;
}

/** One page of a paged feed, RFC 5005. */
function feedPage(page: number): string {
  const next = page + 1 < FEED_PAGES ? `<link rel="next" href="/paged/${page + 1}"/>` : '';
  const entries = Array.from({ length: ITEMS }, (_, i) => {
    const number = page * ITEMS + i;
    return `<entry><id>e${number}</id><title>Entry ${number}</title><link href="https://x.example/${number}"/></entry>`;
  });
  return `<feed xmlns="http://www.w3.org/2005/Atom"><title>P</title><id>p</id>${next}${entries.join('')}</feed>`;
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command in this process. */
function gatehouse(args: readonly string[], { env = {} }: RunOptions = {}): Promise<Ran> {
  return command(args, { env: { ...SETTINGS, ...env } });
}

/** Runs the command in a separate process and folder, as an operator does. Sends SIGINT after `stopAfterBytes` on standard output. */
async function gatehouseAsProcess(
  args: readonly string[],
  { env = {}, stopAfterBytes = Infinity }: RunOptions & { readonly stopAfterBytes?: number } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...SETTINGS, PATH: process.env['PATH'], ...env },
  });
  let bytes = 0;
  child.stdout.on('data', (more: Buffer) => {
    // Sends only one signal: a second one would end the process without a graceful shutdown.
    if (bytes < stopAfterBytes && bytes + more.length >= stopAfterBytes) child.kill('SIGINT');
    bytes += more.length;
  });
  const closed = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  const [code, out, err] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { code, out, err };
}

function extract(
  operation: string,
  input: object,
  more: readonly string[] = [],
  options: RunOptions = {},
  execute = gatehouse,
): Promise<Ran> {
  const connector = operation.startsWith('feed.') ? 'feed' : 'generic';
  const args = ['extract', '--connector', connector, '--operation', operation, '--input', JSON.stringify(input)];
  return execute([...args, ...more], options);
}

function recordsOf(out: string): readonly Readonly<Record<string, unknown>>[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Arguments of a command that reads all 40 pages. */
function crawl(): string[] {
  const input = JSON.stringify({ url: at('/crawl/0') });
  return [
    'extract',
    '--connector',
    'generic',
    '--operation',
    'site.pages',
    '--input',
    input,
    '--fields',
    'title',
    '--all',
  ];
}

function at(path: string): string {
  return `${site.at('127.0.0.1')}${path}`;
}

describe('records on standard output', () => {
  test('An article is printed as one line of NDJSON, and the result of the job on standard error', async () => {
    const { code, out, err } = await extract('page.article', { url: at('/article') }, [], {}, gatehouseAsProcess);
    expect(code).toBe(0);
    expect(recordsOf(out)).toEqual([
      expect.objectContaining({
        title: 'Harbour bridge reopens',
        text: expect.stringContaining('first cars on Monday'),
        _meta: { id: expect.any(String), seq: 1, source_url: at('/article'), fetched_at: expect.any(String) },
      }),
    ]);
    expect(err).toMatch(/^1 record from 1 page in \d+\.\d s\n$/);
  });

  test('The records of a feed respect the limit and the selected fields', async () => {
    const { code, out, err } = await extract('feed.items', { url: at('/feed') }, [
      '--limit',
      '3',
      '--fields',
      'title,id',
    ]);
    expect(code).toBe(0);
    const records = recordsOf(out);
    expect(records.map((record) => Object.keys(record))).toEqual([0, 1, 2].map(() => ['title', 'id', '_meta']));
    expect(err).toContain('The limit of 3 is reached');
  });

  test('CSV on standard output has a header and is protected against formulas', async () => {
    const { out } = await extract('feed.items', { url: at('/feed') }, [
      '--format',
      'csv',
      '--fields',
      'title',
      '--all',
    ]);
    const rows = parse(out);
    expect(rows).toHaveLength(ITEMS + 1);
    expect(rows[0]).toEqual(['title', '_meta.id', '_meta.seq', '_meta.source_url', '_meta.fetched_at']);
    expect(rows[1]?.[0]).toBe(`'=Item 0, "new"`);
  });

  test('JSON on standard output is one array, also without records', async () => {
    const { out } = await extract('feed.items', { url: at('/feed') }, ['--format', 'json']);
    expect(JSON.parse(out)).toHaveLength(ITEMS);
    const nothing = await extract('page.tables', { url: at('/article') }, ['--format', 'json']);
    expect([nothing.code, nothing.out]).toEqual([0, '[]\n']);
  });

  test('A crawl prints each page once, however often it is linked', async () => {
    const { code, out } = await extract('site.pages', { url: at('/crawl/0') }, ['--all', '--fields', 'title']);
    expect(code).toBe(0);
    const titles = recordsOf(out).map(({ title }) => title);
    expect(titles).toHaveLength(40);
    expect(new Set(titles)).toEqual(new Set(Array.from({ length: 40 }, (_, i) => `Page ${i}`)));
    expect(recordsOf(out).map((record) => (record['_meta'] as { readonly seq: number }).seq)).toEqual(
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
  });

  test('A paged source gives all records, or exactly as many as the limit', async () => {
    const all = await extract('feed.items', { url: at('/paged/0') }, ['--all', '--fields', 'title']);
    expect(recordsOf(all.out).map(({ title }) => title)).toEqual(
      Array.from({ length: ITEMS * FEED_PAGES }, (_, i) => `Entry ${i}`),
    );
    const before = site.paths().length;
    const some = await extract('feed.items', { url: at('/paged/0') }, ['--limit', String(ITEMS + 1)]);
    expect(recordsOf(some.out)).toHaveLength(ITEMS + 1);
    expect(site.paths().slice(before)).toEqual(['/robots.txt', '/paged/0', '/paged/1']);
  });

  test('The job ends when the reader of standard output closes it', async () => {
    const child = spawn('sh', ['-c', `"$0" "$@" | head -n 1`, process.execPath, MAIN, ...crawl()], {
      env: { ...SETTINGS, PATH: process.env['PATH'], GATEHOUSE_EXTRACT_HOST_GAP_MS: '50' },
    });
    const before = site.paths().length;
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(recordsOf(out)).toHaveLength(1);
    expect(err).toBe('error: the reader of standard output has closed it\n');
    expect(site.paths().length - before).toBeLessThan(10);
  });
});

describe('--out', () => {
  test('extract --out writes the file, and only a summary to standard output', async () => {
    const args = ['--out', 'items.csv', '--format', 'csv'];
    const { code, out, err } = await extract('feed.items', { url: at('/feed') }, args, {}, gatehouseAsProcess);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^30 records from 1 page in .* s, in items\.csv\n$/);
    expect(parse(readFileSync(join(folder, 'items.csv')))).toHaveLength(ITEMS + 1);
    expect(readdirSync(folder)).toEqual(['items.csv']);
  });

  test('extract --format parquet writes a file of Parquet, and no JSON; md writes documents', async () => {
    const args = ['--out', join(folder, 'items.parquet'), '--format', 'parquet'];
    const { code, err } = await extract('feed.items', { url: at('/feed') }, args);
    expect([code, err]).toEqual([0, '']);
    const bytes = readFileSync(join(folder, 'items.parquet'));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    expect((await parquetReadObjects({ file })).map((row) => row['_meta.seq'])).toEqual(
      Array.from({ length: ITEMS }, (_, index) => BigInt(index + 1)),
    );
    const held = await extract('feed.items', { url: at('/feed') }, ['--json', '--format', 'parquet']);
    expect(held.code).toBe(2);
    const md = await extract('feed.items', { url: at('/feed') }, ['--format', 'md']);
    expect(md.out.match(/^---\ntitle: /gm)).toHaveLength(ITEMS);
  });

  test('extract --out leaves an existing file unchanged when the job fails', async () => {
    await extract('page.article', { url: at('/article') }, ['--out', join(folder, 'a.ndjson')]);
    const before = readFileSync(join(folder, 'a.ndjson'), 'utf8');
    expect((await extract('page.article', { url: at('/none') }, ['--out', join(folder, 'a.ndjson')])).code).toBe(1);
    expect(readFileSync(join(folder, 'a.ndjson'), 'utf8')).toBe(before);
    expect(readdirSync(folder)).toEqual(['a.ndjson']);
  });

  test('The temporary store is removed after a success, a failure and SIGINT', async () => {
    const env = { TMPDIR: folder, GATEHOUSE_EXTRACT_HOST_GAP_MS: '200', GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '1' };
    const seen: string[] = [];
    const watcher = watch(folder, (_kind, name) => seen.push(String(name)));
    const codes = [
      await extract('page.article', { url: at('/article') }, [], { env }, gatehouseAsProcess),
      await extract('page.article', { url: at('/none') }, [], { env }, gatehouseAsProcess),
      await gatehouseAsProcess(crawl(), { env, stopAfterBytes: 300 }),
    ].map(({ code }) => code);
    watcher.close();
    expect(codes).toEqual([0, 1, 1]);
    expect(new Set(seen.filter((name) => name.startsWith('gatehouse-job-'))).size).toBe(3);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('extract --out with a file that cannot be written is an error, and nothing is fetched', async () => {
    const before = site.paths().length;
    const { code, err } = await extract('page.article', { url: at('/article') }, [
      '--out',
      join(folder, 'none/a.ndjson'),
    ]);
    expect([code, err]).toEqual([1, expect.stringContaining('none/a.ndjson cannot be written')]);
    expect(site.paths().length).toBe(before);
  });
});

describe('--json', () => {
  async function json(
    args: readonly string[],
  ): Promise<{ readonly code: number | null; readonly value: Record<string, unknown> }> {
    const { code, out, err } = await gatehouse(['--json', ...args]);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(err).toBe('');
    return { code, value: JSON.parse(out) as Record<string, unknown> };
  }
  const command = (operation: string, input: object): string[] => [
    'extract',
    '--connector',
    'generic',
    '--operation',
    operation,
    '--input',
    JSON.stringify(input),
  ];

  test('extract --json prints one object that contains the records', async () => {
    const { code, value } = await json(command('page.article', { url: at('/article') }));
    expect(code).toBe(0);
    expect(value).toMatchObject({
      status: 'succeeded',
      counts: { collected: 1, target: 1, pages: 1, errors: 0, duplicates: 0 },
      usage: { credits: 1, tier: 'standard' },
      failure: null,
      records: [{ title: 'Harbour bridge reopens', _meta: { seq: 1 } }],
    });
  });

  test('extract --json with --out prints the file’s name instead of the records', async () => {
    const { value } = await json([...crawl(), '--out', join(folder, 'pages.ndjson')]);
    expect(value).toMatchObject({ status: 'succeeded', counts: { collected: 40 }, out: join(folder, 'pages.ndjson') });
    expect(value).not.toHaveProperty('records');
    expect(recordsOf(readFileSync(join(folder, 'pages.ndjson'), 'utf8'))).toHaveLength(40);
  });

  test('extract --json without --out is limited to 1,000 records', async () => {
    const limited = [...command('page.article', { url: at('/article') }), '--limit'];
    expect((await json([...limited, '1000'])).code).toBe(0);
    expect(await json([...limited, '1001'])).toMatchObject({ code: 2, value: { error: { code: 'usage' } } });
    expect(await json(crawl())).toMatchObject({ code: 2, value: { error: { code: 'usage' } } });
  });

  test('extract --json reports failures and usage errors by their codes', async () => {
    expect(await json(command('page.article', { url: at('/private/a') }))).toMatchObject({
      code: 1,
      value: { status: 'failed', failure: { reason: 'robots_disallowed', retryable: false }, records: [] },
    });
    for (const [input, fault] of [
      [{}, { pointer: '/input/url', code: 'required' }],
      [{ address: 'x' }, { pointer: '/input/address', code: 'invalid_value' }],
    ] as const)
      expect(await json(command('page.article', input))).toMatchObject({
        code: 2,
        value: { error: { code: 'validation_failed', errors: [fault] } },
      });
    expect(await json(['extract'])).toMatchObject({ code: 2, value: { error: { code: 'usage' } } });
  });
});

describe('exit codes', () => {
  test('A page that robots.txt disallows is not fetched, and the exit code is 1 with the reason', async () => {
    const before = site.paths().length;
    const { code, out, err } = await extract('page.article', { url: at('/private/a') });
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(`error: robots_disallowed: robots.txt disallows ${at('/private/a')}\n`);
    expect(site.paths().slice(before)).toEqual(['/robots.txt']);
  });

  test('Invalid input, a blocked address and an invalid setting lead to exit code 2, and nothing is fetched', async () => {
    const before = site.paths().length;
    const wrong = await extract('page.article', { url: 'ftp://x.example/' });
    expect([wrong.code, wrong.out]).toEqual([2, '']);
    expect(wrong.err).toContain('  /input/url: This must be an absolute http or https URL or a host name.\n');
    const blocked = await extract('page.article', { url: at('/article') }, [], { env: { GATEHOUSE_EGRESS_ALLOW: '' } });
    expect([blocked.code, blocked.out]).toEqual([2, '']);
    expect(blocked.err).toContain('GATEHOUSE_EGRESS_ALLOW');
    const env = { GATEHOUSE_EXTRACT_HOST_GAP_MS: '60001' };
    const settings = await extract('page.article', { url: at('/article') }, [], { env }, gatehouseAsProcess);
    expect([settings.code, settings.out]).toEqual([2, '']);
    expect(settings.err).toContain('GATEHOUSE_EXTRACT_HOST_GAP_MS must be a whole number from 0 to 60000');
    expect(site.paths().length).toBe(before);
  });

  test('An unknown setting leads to a warning, and the exit code is 0', async () => {
    const { code, err } = await extract('page.article', { url: at('/article') }, [], {
      env: { GATEHOUSE_CONNECTOR_BASE_GENRIC: 'https://x.example' },
    });
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^warning: GATEHOUSE_CONNECTOR_BASE_GENRIC is not a setting\n/),
    ]);
  });

  test('SIGINT leads to exit code 1, and the output so far is complete', async () => {
    const began = performance.now();
    const { code, out, err } = await gatehouseAsProcess([...crawl(), '--format', 'json'], {
      env: { GATEHOUSE_EXTRACT_HOST_GAP_MS: '200', GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '1' },
      stopAfterBytes: 300,
    });
    expect(code).toBe(1);
    const records = JSON.parse(out) as readonly object[];
    expect(records.length).toBeGreaterThan(0);
    expect(records.length).toBeLessThan(40);
    expect(err).toContain(`${records.length} record`);
    expect(err).toContain('error: cancelled');
    // The whole crawl would take at least forty of these gaps.
    expect(performance.now() - began).toBeLessThan(8_000);
  });
});

describe('politeness', () => {
  test('Requests to a domain begin no closer together than the gap of the settings', async () => {
    const before = crawledAtMs.length;
    const { code } = await gatehouse(
      [...crawl(), '--limit', '6'].filter((word) => word !== '--all'),
      {
        env: { GATEHOUSE_EXTRACT_HOST_GAP_MS: '100' },
      },
    );
    expect(code).toBe(0);
    const times = crawledAtMs.slice(before);
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(gaps.length).toBeGreaterThan(4);
    // The time from the start of a request to its arrival varies.
    expect(Math.min(...gaps)).toBeGreaterThan(70);
  });
});
