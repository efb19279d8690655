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

/** What is kept when a process exits or is killed, and what is logged about the rest. */

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

/** Logs in `count` strangers from one address. Throws if a rule fires for any of them. */
async function quietLogins(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const { reasons } = await visit(server.url, secretKey, stranger(IP));
    expect(reasons).toEqual([]);
  }
}

/** Logs in one more stranger and returns the evidence about logins from the address. */
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

/** Returns everything that a customer can read of the stored data. */
async function readAll(paths: readonly string[]): Promise<unknown[]> {
  const all: unknown[] = [];
  for (const path of paths) all.push((await get(path)).json);
  return all;
}

/** Creates one entry of every kind of stored data and returns the paths under which they can be read. */
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

describe('lists, registry, log, labels and reviews', () => {
  test('A graceful stop keeps them unchanged, and a SIGKILL all but the last 250 ms of the decision log', async () => {
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

    const more = stranger(IP, 'search');
    await bearer(server.url, secretKey, 'POST', '/v1/lists', {
      fingerprint_hash: fingerprintOf(more.session_token),
      action: 'watch',
    });
    await visit(server.url, secretKey, more);
    const lists = (await get('/v1/lists')).json;
    const logged = (await get('/v1/decisions')).json['data'] as unknown[];
    expect(logged).toHaveLength((before[3] as { data: unknown[] }).data.length + 1);
    // Longer than twice the time after which decisions are on the disk, with a margin for the disk.
    await sleep(700);
    const late = stranger(IP, 'search');
    const { requestId } = await visit(server.url, secretKey, late);
    const label = { request_id: requestId, label: 'legitimate' };
    // A label is on the disk when it is answered, however recent its decision is.
    expect((await bearer(server.url, secretKey, 'POST', '/v1/labels', label)).status).toBe(201);
    await server.stop('SIGKILL');

    server = await startSamplingServer(dataDir);
    const [entry, , candidates, , labelled] = before;
    expect(await readAll([paths[0] ?? '', '/v1/lists', '/v1/lists/candidates', paths[4] ?? ''])).toEqual([
      entry,
      lists,
      candidates,
      labelled,
    ]);
    const rows = (await get('/v1/decisions')).json['data'] as { request_id: string }[];
    expect(rows.filter((row) => row.request_id !== requestId)).toEqual(logged);
    const relabelled = await bearer(server.url, secretKey, 'POST', '/v1/labels', label);
    expect(relabelled.status).toBe(201);
  });
});

/** Damage at other places is a matter of `test/unit/velocity/snapshot.test.ts`. */
describe('velocity', () => {
  test('Velocity continues after graceful stops, with a smaller and a larger table too; after a SIGKILL from the last snapshot; after damage empty', async () => {
    // Without a snapshot a killed server starts empty, and logs nothing about it.
    const large = { GATEHOUSE_VELOCITY_MB: '32' };
    await start(large);
    await quietLogins(10);
    await server.stop('SIGKILL');
    await start(large);
    expect(server.stdout()).not.toMatch(/snapshot/);
    await quietLogins(4);
    const person = stranger('81.2.70.1', 'search');
    await visit(server.url, secretKey, person);
    await server.stop();

    await start({ GATEHOUSE_VELOCITY_MB: '16' });
    expect(server.stdout()).toMatch(/"skipped":0,.*"msg":"velocity snapshot loaded"/);
    await quietLogins(3);
    await server.stop();

    const largest = { GATEHOUSE_VELOCITY_MB: '64' };
    await start(largest);
    expect(server.stdout()).toMatch(/"skipped":0,.*"msg":"velocity snapshot loaded"/);
    // The session and its agent are kept too.
    const moved = await visit(server.url, secretKey, { ...person, user_agent: 'curl/8.5.0', event_type: 'payment' });
    expect(moved.reasons).not.toContain('journey_single_event');
    await quietLogins(3);
    await server.stop('SIGKILL');
    // The state left by a process that is killed while it saves.
    writeFileSync(`${snapshotFile()}.part`, 'half of a snapshot');
    await start(largest);
    expect(server.stdout()).toContain('velocity snapshot loaded');
    // The first 10 and the last 3 logins are forgotten: 4 + 3 + 3 are 10.
    await quietLogins(3);
    expect(await nextLogin()).toMatch(/^11 cold logins/);
    await server.stop();

    const damaged = readFileSync(snapshotFile());
    const at = Math.floor(damaged.length / 2);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    writeFileSync(snapshotFile(), damaged);
    await start();
    expect(server.stdout()).toMatch(/"level":"?(warn|40)"?.*velocity snapshot quarantined/);
    expect(server.stdout()).not.toContain('velocity snapshot loaded');
    const [aside = ''] = readdirSync(snapshotFolder());
    expect(aside).toMatch(/^velocity\.snapshot\.damaged-/);
    expect(readFileSync(join(snapshotFolder(), aside)).equals(damaged)).toBe(true);
    await quietLogins(10);
    await server.stop();
    // The next snapshot is valid.
    await start();
    expect(await nextLogin()).toMatch(/^11 cold logins/);
  });
});
