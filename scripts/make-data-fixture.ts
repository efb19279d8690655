import { execFile, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { signRequest } from '../src/client/sign.ts';
import { helpIfAsked } from './usage.ts';

/**
 * Makes a data directory for the tests of migrations, with rows in every table and something in every file, as a build of the service
 * leaves it. Make one before a format changes, and keep it: later builds are tested against it. This one has the formats of version 2:
 *
 *   npm run build && node dist/scripts/make-data-fixture.js dist/app/main.js test/fixtures/data-directory-2.json.gz
 *
 * For an older build, give the built `dist/app/main.js` of a checkout of it. `test/fixtures/data-directory-1.json.gz` is of the last commit
 * before formats had versions, bcbd1cb, and was made with an earlier version of this script: it has rows in fewer tables.
 */
helpIfAsked('make-data-fixture <main.js of the build> <target .json.gz>');

/** Choice: a step takes under a second; this limit detects one that hangs. */
const STEP_MS_MAX = 60_000;
const POLL_MS = 50;

/** A page of a crawl; it leads to one that is never answered. */
const FIRST_PAGE = `<title>First</title><p>${'A page with words. '.repeat(20)}</p><a href="/site/held">next</a>`;

const [main = '', target = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fixture-'));
const dataDir = join(folder, 'data');
const others = await startOthers();
try {
  const facts = await makeData();
  const files = { data: packFolder(dataDir), backup: packFolder(join(folder, 'backup')) };
  writeFileSync(target, gzipSync(JSON.stringify({ facts, files }), { level: 9 }));
  console.log(`${target}: ${statSync(target).size} bytes`);
} finally {
  others.close();
  others.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}

/** Starts the receiver of webhooks and the source of the extraction. */
async function startOthers(): Promise<Server> {
  const feed = `<rss version="2.0"><channel><title>Blog</title>${feedItem(1)}${feedItem(2)}</channel></rss>`;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/feed.xml') response.setHeader('content-type', 'application/rss+xml').end(feed);
    else if (request.url === '/site/') response.setHeader('content-type', 'text/html').end(FIRST_PAGE);
    // This page is never answered, so that the job which reads it is still running when the server stops.
    else if (request.url !== '/site/held') {
      response
        .writeHead(
          request.url === '/robots.txt' || request.url === '/nothing.xml'
            ? 404
            : request.url === '/failing'
              ? 500
              : 200,
        )
        .end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function feedItem(n: number): string {
  return `<item><title>Post ${n}</title><link>https://blog.example/${n}</link></item>`;
}

async function makeData(): Promise<object> {
  // Every decision is copied to the shadow review queue.
  writeFileSync(join(folder, 'policy.json'), '{"sample_rate":1}');
  const base = `http://127.0.0.1:${(others.address() as AddressInfo).port}`;
  const server = await startServer();
  const ask = client(server);
  const { customer_id: customer } = (await command('customers', 'create', 'Second')) as { customer_id: string };
  const pair = (await command('keys', 'create', '--customer', customer)) as { secret_key: string };
  await command('keys', 'revoke', pair.secret_key, '--yes');
  const registered = sha256('known-to-be-bad');
  const list = join(folder, 'registry.csv');
  writeFileSync(list, `fingerprint_hash,risk_score,customers_seen\n${registered},90,3\n`);
  await command('registry', 'import', list);

  const blocked = sha256('blocked-session');
  await ask('POST', '/v1/lists', { fingerprint_hash: blocked, action: 'block', note: 'of the fixture' });
  const webhook = await ask('POST', '/v1/webhooks', { url: `${base}/hook`, event_types: ['BLOCK'] });
  const failing = await ask('POST', '/v1/webhooks', { url: `${base}/failing`, event_types: ['BLOCK'] });
  const requestId = randomUUID();
  const timestampSeconds = nowSeconds();
  const signups: string[] = [];
  for (let n = 1; n <= 3; n++) {
    const id = n === 1 ? requestId : randomUUID();
    signups.push(await decide(server, { ...signup(n), event_type: 'signup' }, id, timestampSeconds));
  }
  await ask('POST', '/v1/outcomes', { request_id: signups[0], outcome: 'succeeded' });
  // The fingerprint is in the customer's own traffic, so the label is evidence for the registry.
  await ask('POST', '/v1/labels', { request_id: signups[1], label: 'fraud', note: 'of the fixture' });
  await until('the review', async () => ((await ask('GET', '/v1/shadow-reviews'))['data'] as unknown[]).length > 2);
  await ask('POST', `/v1/shadow-reviews/${signups[0]}`, { verdict: 'unsure' });

  const jobs = await runJobs(base, ask);
  const block = await decide(server, { ...signup(4), session_token: 'blocked-session', event_type: 'login' });
  const delivered = `/v1/webhooks/deliveries?status=succeeded`;
  await until('the delivery', async () => ((await ask('GET', delivered))['data'] as unknown[]).length > 0);
  // The server stops before the second attempt, two seconds after the first: that delivery stays pending.
  await server.stop();
  await command('backup', join(folder, 'backup'));
  return {
    stoppedAtMs: Date.now(),
    secretKey: server.secretKey,
    revokedKey: pair.secret_key,
    registered,
    blocked,
    webhook: webhook['id'],
    failingWebhook: failing['id'],
    decisions: [...signups, block],
    accepted: { requestId, timestampSeconds, body: JSON.stringify({ ...signup(1), event_type: 'signup' }) },
    labelled: signups[1],
    reviewed: signups[0],
    ...jobs,
  };
}

/** Runs a job with records, one that fails, one whose result cannot be delivered, and one that does not end. Stores a session. */
async function runJobs(base: string, ask: Ask): Promise<object> {
  const body = { connector: 'feed', operation: 'feed.items', input: { url: `${base}/feed.xml` } };
  const idempotent = { key: 'of-the-fixture', body: JSON.stringify(body) };
  const create = async (body: object, headers: Record<string, string> = {}): Promise<string> => {
    const job = await ask('POST', '/v1/extractions', { connector: 'feed', operation: 'feed.items', ...body }, headers);
    return String(job['extraction_id'] ?? job['id']);
  };
  const find = (id: string): Promise<Record<string, unknown>> => ask('GET', `/v1/extractions/${id}`);
  const session = await ask('POST', '/v1/sessions', {
    host: 'shop.example',
    cookies: [{ name: 'id', value: 'secret' }],
  });
  const extraction = await create(body, { 'Idempotency-Key': idempotent.key });
  const failed = await create({ input: { url: `${base}/nothing.xml` } });
  const undelivered = await create({
    input: { url: `${base}/feed.xml` },
    delivery: { type: 'webhook', url: `${base}/failing` },
  });
  const running = await create({
    connector: 'generic',
    operation: 'site.pages',
    input: { url: `${base}/site/`, max_depth: 1 },
  });
  for (const [id, status] of Object.entries({
    [extraction]: 'succeeded',
    [failed]: 'failed',
    [undelivered]: 'succeeded',
  })) {
    await until(`the extraction ${id}`, async () => (await find(id))['status'] === status);
  }
  await until('a record of the crawl', async () => {
    const { collected } = (await find(running))['counts'] as { readonly collected: number };
    return collected > 0;
  });
  return { extraction, failed, undelivered, running, idempotent, session: session['session_id'] ?? session['id'] };
}

/** Sign-ups of different people from one address. */
function signup(n: number): object {
  return {
    ip: '81.2.69.160',
    user_agent:
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36',
    url: 'https://shop.example/signup',
    session_token: `session-of-the-fixture-${n}`,
    entity_keys: { email: `person-${n}@mail.example` },
  };
}

interface FixtureServer {
  readonly url: string;
  readonly secretKey: string;
  stop(): Promise<void>;
}

async function startServer(): Promise<FixtureServer> {
  const child = spawn(process.execPath, [main, 'serve'], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const read = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? '';
  await until('the start', () => Promise.resolve(output.includes('"msg":"serving"')));
  return {
    url: read(/"url":"([^"]+)".*"msg":"serving"/),
    secretKey: read(/secret key {2}(sk_live_\w+)\s/),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

function environment(): NodeJS.ProcessEnv {
  const rest = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'));
  return {
    ...Object.fromEntries(rest),
    GATEHOUSE_DATA_DIR: dataDir,
    GATEHOUSE_PORT: '0',
    GATEHOUSE_VELOCITY_MB: '16',
    GATEHOUSE_WARM_UP: '0',
    GATEHOUSE_GEOIP_PACKAGES: '0',
    GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
    GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
    GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'),
  };
}

async function command(...words: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--json', ...words], { env: environment() });
  return JSON.parse(stdout) as Record<string, unknown>;
}

type Ask = (
  method: string,
  path: string,
  body?: object,
  more?: Readonly<Record<string, string>>,
) => Promise<Record<string, unknown>>;

function client({ url, secretKey }: FixtureServer): Ask {
  return async (method, path, body, more = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json', ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

/** Returns the id of the decision. */
async function decide(
  { url, secretKey: key }: FixtureServer,
  event: object,
  requestId: string = randomUUID(),
  timestampSeconds = nowSeconds(),
): Promise<string> {
  const body = JSON.stringify(event);
  const signed = signRequest({ key, method: 'POST', path: '/v1/decide', body, timestampSeconds, requestId });
  const headers = { 'content-type': 'application/json', ...signed };
  const response = await fetch(`${url}/v1/decide`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`decide: ${response.status} ${await response.text()}`);
  return String(((await response.json()) as Record<string, unknown>)['request_id']);
}

async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + STEP_MS_MAX;
  while (!(await isDone())) {
    if (performance.now() > deadlineMs) throw new Error(`${what} took over ${STEP_MS_MAX} ms`);
    await sleep(POLL_MS);
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns the files by path, in base64. Locks and preallocated journal files hold nothing; a start creates them. */
function packFolder(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();
  const kept = names.filter((name) => statSync(join(root, name)).isFile() && !/lock|spare-/.test(name));
  return Object.fromEntries(kept.map((name) => [name, readFileSync(join(root, name)).toString('base64')]));
}
