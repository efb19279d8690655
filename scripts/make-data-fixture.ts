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
 * Makes the data directory of an older build for the tests of migrations, with something in every environment and file. Run it with the
 * built `dist/app/main.js` of a checkout of that build. `test/fixtures/data-directory-1.json.gz` was made with the last commit before
 * formats had versions, bcbd1cb:
 *
 *   git worktree add ../older bcbd1cb && (cd ../older && npm ci && npm run build)
 *   npm run build && node dist/scripts/make-data-fixture.js ../older/dist/app/main.js test/fixtures/data-directory-1.json.gz
 */
helpIfAsked('make-data-fixture <main.js of the older build> <target .json.gz>');

/** Choice: a step takes under a second; this limit detects one that hangs. */
const STEP_MS_MAX = 60_000;
const POLL_MS = 50;

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
    else response.writeHead(request.url === '/robots.txt' ? 404 : 200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function feedItem(n: number): string {
  return `<item><title>Post ${n}</title><link>https://blog.example/${n}</link></item>`;
}

async function makeData(): Promise<object> {
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
  const requestId = randomUUID();
  const timestampSeconds = nowSeconds();
  const signups: string[] = [];
  for (let n = 1; n <= 3; n++) {
    const id = n === 1 ? requestId : randomUUID();
    signups.push(await decide(server, { ...signup(n), event_type: 'signup' }, id, timestampSeconds));
  }
  const block = await decide(server, { ...signup(4), session_token: 'blocked-session', event_type: 'login' });
  await ask('POST', '/v1/outcomes', { request_id: signups[0], outcome: 'succeeded' });
  const delivered = `/v1/webhooks/deliveries?status=succeeded`;
  await until('the delivery', async () => ((await ask('GET', delivered))['data'] as unknown[]).length > 0);
  const job = await ask('POST', '/v1/extractions', {
    connector: 'feed',
    operation: 'feed.items',
    input: { url: `${base}/feed.xml` },
  });
  const extraction = String(job['extraction_id'] ?? job['id']);
  await until(
    'the extraction',
    async () => (await ask('GET', `/v1/extractions/${extraction}`))['status'] === 'succeeded',
  );
  await server.stop();
  await command('backup', join(folder, 'backup'));
  return {
    stoppedAtMs: Date.now(),
    secretKey: server.secretKey,
    revokedKey: pair.secret_key,
    registered,
    blocked,
    webhook: webhook['id'],
    decisions: [...signups, block],
    accepted: { requestId, timestampSeconds, body: JSON.stringify({ ...signup(1), event_type: 'signup' }) },
    extraction,
  };
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

interface OlderServer {
  readonly url: string;
  readonly secretKey: string;
  stop(): Promise<void>;
}

async function startServer(): Promise<OlderServer> {
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
  };
}

async function command(...words: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--json', ...words], { env: environment() });
  return JSON.parse(stdout) as Record<string, unknown>;
}

function client({ url, secretKey }: OlderServer) {
  return async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
}

/** Returns the id of the decision. */
async function decide(
  { url, secretKey: key }: OlderServer,
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
