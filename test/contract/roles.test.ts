import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { NODE_ROLES, type NodeRole } from '../../src/contract/node-roles.ts';
import { readRoles } from '../../src/app/roles.ts';
import { books, extractionClient, startSource, type SourceServer } from '../support/extractions.ts';
import { IS_FULL } from '../support/long.ts';
import { bearer } from '../support/manage.ts';
import { decide, get, newcomer, raw, type Answer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { eventually, NOBODYS_WEBHOOK, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** Contract, 15.7: a server starts and serves only the parts of its roles. All servers of this file share one data directory, in turn. */

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));
const LAYERS: Readonly<Record<NodeRole, readonly string[]>> = {
  decide: [
    'addresses',
    'anonymiser',
    'geoip_asn',
    'geoip_city',
    'geoip_country',
    'hosting_networks',
    'model',
    'networks',
    'policy',
  ],
  api: [],
  deliver: ['webhooks'],
  extract: ['extraction'],
};
const PAIRS = NODE_ROLES.flatMap((one, at) => NODE_ROLES.slice(at + 1).map((other) => [one, other]));
/**
 * What the servers of the other tests do not have: those have every other role alone, and a pair, for the endpoint that needs two. At full
 * length every role and every pair.
 */
const COMBINATIONS: readonly (readonly NodeRole[])[] = IS_FULL
  ? [...NODE_ROLES.map((role) => [role]), ...PAIRS]
  : [['decide']];

let dataDir: string;
let source: SourceServer;
let receiver: Receiver;
let secretKey: string;
let publicKey: string;
let server: RunningServer | null = null;

async function start(roles: readonly NodeRole[] = [], setting = ''): Promise<RunningServer> {
  await stop();
  server = await startServer({
    dataDir,
    words: roles.length === 0 ? [] : ['--roles', roles.join(',')],
    env: {
      ...(setting !== '' && { GATEHOUSE_ROLES: setting }),
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      GATEHOUSE_CONNECTOR_BASE_OPENLIBRARY: source.url,
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
    },
  });
  return server;
}

async function stop(): Promise<void> {
  await server?.stop();
  server = null;
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-roles-'));
  [source, receiver] = await Promise.all([startSource(), startReceiver()]);
  const first = await start();
  ({ secretKey, publicKey } = first);
});
afterEach(stop);
afterAll(async () => {
  await Promise.all([source.close(), receiver.close()]);
  rmSync(dataDir, { recursive: true, force: true });
});

/** One call of each kind of endpoint, with the roles that it needs and its status where it is served. */
interface Probe {
  readonly name: string;
  readonly needs: readonly NodeRole[];
  readonly status: number;
  readonly ask: (url: string) => Promise<Answer>;
}

const PROBES: readonly Probe[] = [
  { name: 'decide', needs: ['decide'], status: 200, ask: (url) => decide(url, publicKey) },
  {
    name: 'outcomes',
    needs: ['decide'],
    status: 202,
    ask: (url) => bearer(url, secretKey, 'POST', '/v1/outcomes', { request_id: 'x', outcome: 'login_failed' }),
  },
  { name: 'lists', needs: ['api'], status: 200, ask: (url) => bearer(url, secretKey, 'GET', '/v1/lists') },
  { name: 'decisions', needs: ['api'], status: 200, ask: (url) => bearer(url, secretKey, 'GET', '/v1/decisions') },
  { name: 'webhooks', needs: ['api'], status: 200, ask: (url) => bearer(url, secretKey, 'GET', '/v1/webhooks') },
  { name: 'jobs', needs: ['api'], status: 200, ask: (url) => bearer(url, secretKey, 'GET', '/v1/extractions') },
  {
    name: 'a test of a webhook',
    needs: ['api', 'deliver'],
    status: 404,
    ask: (url) => bearer(url, secretKey, 'POST', `/v1/webhooks/${NOBODYS_WEBHOOK}/test`, {}),
  },
  { name: 'healthz', needs: [], status: 200, ask: (url) => get(url, '/healthz') },
  { name: 'metrics', needs: [], status: 200, ask: (url) => get(url, '/metrics') },
  { name: 'openapi', needs: [], status: 200, ask: (url) => get(url, '/openapi.json') },
];

describe('what a server serves', () => {
  // The server of `beforeAll`.
  test('Without roles a server has all of them', async () => {
    if (server === null) throw new Error('there is no server');
    await expectRoles(server, NODE_ROLES);
    expect(server.stdout()).not.toContain('with the role');
  });

  test.each(COMBINATIONS.map((roles) => ({ roles, name: roles.join(',') })))('--roles $name', async ({ roles }) => {
    const started = await start(roles);
    expect(started.stdout()).toContain('"msg":"serving"');
    await expectRoles(started, roles);
  });

  test('The setting names the roles too, in any order', async () => {
    const started = await start([], 'deliver, api');
    const { url } = started;
    await expectRoles(started, ['api', 'deliver']);

    // A refused request with a body ends its connection, because nobody reads the body.
    const answer = await raw(
      url,
      'POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    expect(answer.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 421']);
    // Unknown paths and methods are answered as on any server.
    expect((await get(url, '/v1/nothing')).status).toBe(404);
    expect((await get(url, '/v1/decide')).status).toBe(405);
  });
});

/** A server serves the endpoints of its roles, refuses all others, and reports no other part as ready. */
async function expectRoles(started: RunningServer, roles: readonly NodeRole[]): Promise<void> {
  const { url } = started;
  // The log names the work that waits for a server of another role.
  const hasAllWork = roles.includes('deliver') && roles.includes('extract');
  expect(started.stdout().includes('with the role')).toBe(!hasAllWork);
  for (const { name, needs, status, ask } of PROBES) {
    const answer = await ask(url);
    const isServed = needs.every((role) => roles.includes(role));
    expect([name, answer.status]).toEqual([name, isServed ? status : 421]);
    if (!isServed) expect(answer.json).toMatchObject({ code: 'role_not_served', status: 421 });
  }
  const ready = await get(url, '/readyz');
  expect([ready.status, ready.json['roles']]).toEqual([200, roles]);
  const layers = [...roles.flatMap((role) => LAYERS[role]), 'store', 'backups'];
  expect(Object.keys(ready.json['layers'] as object).sort()).toEqual(layers.toSorted());
}

describe('faulty roles', () => {
  test.each(['nothing', 'api,nothing', 'api,api', 'api,', ''])('%j names no roles', (roles) => {
    expect(readRoles(roles)).toBeNull();
  });

  test('--roles with an unknown role exits with 78', () => {
    const roles = 'api,nothing';
    const result = spawnSync(process.execPath, [MAIN, 'serve', '--roles', roles], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], GATEHOUSE_DATA_DIR: dataDir, GATEHOUSE_PORT: '0' },
      timeout: 30_000,
      killSignal: 'SIGKILL',
    });
    expect([result.status, result.stderr]).toEqual([78, expect.stringContaining('GATEHOUSE_ROLES must be')]);
  });
});

describe('work of a role that a server does not have', () => {
  test('Deliveries and jobs are accepted and wait, the start warns of each, and servers of these roles do them', async () => {
    const first = await start(['decide', 'api']);
    await expectRoles(first, ['decide', 'api']);
    const lines = first
      .stdout()
      .split('\n')
      .filter((line) => line.includes('with the role deliver'));
    expect(lines).toHaveLength(1);
    await webhookClient(first.url, secretKey).create(receiver.url, 'ALLOW', 'SOFT_CHALLENGE');
    const { json } = await decide(first.url, secretKey, newcomer());
    const pending = await eventually('the delivery in the log', async () => {
      const rows = await webhookClient(first.url, secretKey).deliveries('?status=pending');
      return rows.length > 0 ? rows : null;
    });
    expect(pending.map(({ request_id }) => request_id)).toEqual([json['request_id']]);
    const client = extractionClient(first.url, secretKey);
    const id = await client.started(books(30));
    const dropped = await client.started(books(20));
    expect((await client.ask('POST', `/v1/extractions/${dropped}/cancel`)).status).toBe(200);
    expect((await client.job(id, '?wait=1')).status).toBe('queued');
    await stop();
    expect([receiver.arrivals, source.targets]).toEqual([[], []]);
    const snapshot = velocityFiles();
    expect(snapshot.length).toBeGreaterThan(0);

    // The option comes before the setting.
    await expectRoles(await start(['deliver'], 'deliver, api'), ['deliver']);
    const [arrival] = await receiver.arrived(1);
    expect(JSON.parse(String(arrival?.body))).toMatchObject({ request_id: json['request_id'] });
    await stop();
    expect(source.targets).toEqual([]);

    const second = await start(['extract']);
    await expectRoles(second, ['extract']);
    await eventually('the end of the job in the metrics', async () => {
      const { text } = await get(second.url, '/metrics');
      return /^gatehouse_extract\w*jobs\w*\{[^}]*succeeded[^}]*\} 1$/m.test(text) ? true : null;
    });
    await stop();
    // Servers without the velocity store leave its snapshot as it is.
    expect(velocityFiles()).toEqual(snapshot);

    const third = await start(['api']);
    await expectRoles(third, ['api']);
    expect(await webhookClient(third.url, secretKey).deliveries('?status=succeeded')).toHaveLength(1);
    const after = extractionClient(third.url, secretKey);
    expect(await after.job(id)).toMatchObject({ status: 'succeeded', counts: { collected: 30 } });
    expect(await after.job(dropped)).toMatchObject({ status: 'failed', failure: { reason: 'cancelled' } });
    expect(await after.allRecords(id)).toHaveLength(30);
  });
});

function velocityFiles(): readonly (readonly [string, Buffer])[] {
  const folder = join(dataDir, 'hot', 'velocity');
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
}
