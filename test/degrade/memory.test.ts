import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { gatehouse, type Answer } from '../support/requests.ts';
import { startSamplingServer } from '../support/reviews.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { contribution, stranger, visit } from '../support/visits.ts';

/** What is remembered across the end of a process, orderly or not, and what is said of what is not. */

const IP = '81.2.69.160';

let dataDir: string;
let secretKey: string;
let server: RunningServer;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
});
afterEach(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(env: Readonly<Record<string, string>> = {}): Promise<void> {
  server = await startServer({ dataDir, env });
  if (server.secretKey !== '') ({ secretKey } = server);
}

/** So many strangers who log in from one address. Nobody's login fires, or this throws. */
async function quietLogins(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { reasons } = await visit(server.url, secretKey, stranger(IP));
    expect(reasons).toEqual([]);
  }
}

/** Of one more stranger, what is said of logins from the address. */
async function nextLogin(): Promise<string> {
  const { requestId } = await visit(server.url, secretKey, stranger(IP));
  return (await contribution(server.url, secretKey, requestId, 'velocity_ip_logins_10m')).evidence;
}

const snapshotFolder = (): string => join(dataDir, 'hot', 'velocity');
const snapshotFile = (): string => join(snapshotFolder(), 'velocity.snapshot');

async function get(path: string): Promise<Answer> {
  const answer = await bearer(server.url, secretKey, 'GET', path);
  expect(answer.status).toBe(200);
  return answer;
}

/** All that a customer can read of what is kept. */
async function readAll(paths: readonly string[]): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const path of paths) all.push((await get(path)).json);
  return all;
}

/** Something of everything that is kept; gives the paths under which it can be read. */
async function leaveTraces(): Promise<string[]> {
  const blocked = stranger(IP, 'search');
  const hash = fingerprintOf(blocked.session_token);
  const file = join(dataDir, 'registry.ndjson');
  writeFileSync(file, `${JSON.stringify({ fingerprint_hash: hash, risk_score: 40, customers_seen: 5 })}\n`);
  await gatehouse(dataDir, 'registry', 'import', file);
  await bearer(server.url, secretKey, 'POST', '/v1/lists', { fingerprint_hash: hash, action: 'block', note: 'kept' });
  const { requestId, reasons } = await visit(server.url, secretKey, blocked);
  expect(reasons).toContain('list_block');
  const label = { request_id: requestId, label: 'fraud', note: 'kept' };
  expect((await bearer(server.url, secretKey, 'POST', '/v1/labels', label)).status).toBe(201);
  const reviewed = await visit(server.url, secretKey, stranger(IP, 'search'));
  await bearer(server.url, secretKey, 'POST', `/v1/shadow-reviews/${reviewed.requestId}`, { verdict: 'legitimate' });
  return [
    `/v1/lists/${hash}`,
    '/v1/lists',
    '/v1/lists/candidates',
    '/v1/decisions',
    `/v1/decisions/${requestId}`,
    '/v1/shadow-reviews',
  ];
}

describe('an orderly stop and a start', () => {
  test('keep lists, registry, log, labels and reviews as they were', async () => {
    server = await startSamplingServer(dataDir);
    ({ secretKey } = server);
    const paths = await leaveTraces();
    const before = await readAll(paths);
    expect(before[0]).toMatchObject({ shared_registry: { customers_seen: 5 } });
    expect(before[4]).toMatchObject({ label: 'fraud' });
    expect(before[5]).toMatchObject({ data: [{ verdict: 'legitimate' }, { verdict: 'fraud' }] });
    expect(await server.stop()).toBe(0);
    server = await startSamplingServer(dataDir);
    expect(await readAll(paths)).toEqual(before);
  });

  test('let a count of velocity go on where it stood, however often, into a smaller table and a larger one', async () => {
    await start({ GATEHOUSE_VELOCITY_MB: '32' });
    await quietLogins(4);
    const person = stranger('81.2.70.1', 'search');
    await visit(server.url, secretKey, person);
    await server.stop();
    await start({ GATEHOUSE_VELOCITY_MB: '16' });
    expect(server.stdout()).toContain('memory loaded');
    await quietLogins(6);
    await server.stop();
    await start({ GATEHOUSE_VELOCITY_MB: '64' });
    expect(await nextLogin()).toMatch(/^11 cold logins/);
    expect(server.stdout()).toMatch(/"skipped":0,.*"msg":"memory loaded"/);
    // The session and its agent too.
    const moved = await visit(server.url, secretKey, { ...person, user_agent: 'curl/8.5.0', event_type: 'payment' });
    expect(moved.reasons).not.toContain('journey_single_event');
  });
});

describe('a server that was killed', () => {
  test('has lists and labels as they were answered, and the log but for its last 250 ms', async () => {
    server = await startSamplingServer(dataDir);
    ({ secretKey } = server);
    const paths = await leaveTraces();
    const before = await readAll(paths);
    // Twice the time after which what was decided is on the disk, and then some for the disk.
    await sleep(700);
    const late = stranger(IP, 'search');
    const { requestId } = await visit(server.url, secretKey, late);
    const label = { request_id: requestId, label: 'legitimate' };
    // A label is on the disk when it is answered, however young its decision.
    expect((await bearer(server.url, secretKey, 'POST', '/v1/labels', label)).status).toBe(201);
    await server.stop('SIGKILL');

    server = await startSamplingServer(dataDir);
    const after = await readAll(paths.filter((path) => path !== '/v1/decisions' && path !== '/v1/shadow-reviews'));
    expect(after).toEqual([before[0], before[1], before[2], before[4]]);
    const rows = (await get('/v1/decisions')).json['data'] as { request_id: string }[];
    const kept = (before[3] as { data: unknown[] }).data;
    expect(rows.filter((row) => row.request_id !== requestId)).toEqual(kept);
    const relabelled = await bearer(server.url, secretKey, 'POST', '/v1/labels', label);
    expect(relabelled.status).toBe(201);
  });

  test('begins velocity anew where there was no snapshot yet and does not speak of one, else from the last snapshot', async () => {
    await start();
    await quietLogins(10);
    await server.stop('SIGKILL');
    await start();
    expect(server.stdout()).not.toMatch(/memory loaded|snapshot/);
    await quietLogins(7);
    await server.stop();
    await start();
    await quietLogins(3);
    await server.stop('SIGKILL');
    // As a process leaves it that is killed while it saves.
    writeFileSync(`${snapshotFile()}.part`, 'half of a snapshot');
    await start();
    expect(server.stdout()).toContain('memory loaded');
    // The ten and the three are forgotten: 7 + 3 are 10.
    await quietLogins(3);
    expect(await nextLogin()).toMatch(/^11 cold logins/);
  });
});

/** Where else it can be damaged: `test/unit/velocity/snapshot.test.ts`. */
describe('a snapshot that is damaged', () => {
  test('is set aside and reported; the server begins anew and serves', async () => {
    await start();
    await quietLogins(10);
    await server.stop();
    const damaged = readFileSync(snapshotFile());
    const at = Math.floor(damaged.length / 2);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    writeFileSync(snapshotFile(), damaged);
    await start();
    expect(server.stdout()).toMatch(/"level":"?(warn|40)"?.*the snapshot of memory was set aside/);
    expect(server.stdout()).not.toContain('memory loaded');
    const [aside = ''] = readdirSync(snapshotFolder());
    expect(aside).toMatch(/^velocity\.snapshot\.damaged-/);
    expect(readFileSync(join(snapshotFolder(), aside)).equals(damaged)).toBe(true);
    await quietLogins(10);
    await server.stop();
    // The next snapshot is whole.
    await start();
    expect(await nextLogin()).toMatch(/^11 cold logins/);
  });
});
