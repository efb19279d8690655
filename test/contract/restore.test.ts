import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { commandAsProcess } from '../support/command-line.ts';
import { decide, gatehouse } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { blockOnList, decideTo, eventually, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** Backup and restore with the exact commands of docs/operating.md, and the file permissions. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MAIN = join(ROOT, 'dist/app/main.js');
const ALLOWED = { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };

/** Returns the shell commands under a heading of docs/operating.md, one text per block. */
function documented(heading: string): string[] {
  const page = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8');
  const section = page.split(/^#{2,3} /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
}

/** Runs documented commands in `cwd`; only paths outside it are replaced, and a final `npm start` is left to the caller. */
function run(commands: string, cwd: string): void {
  const script = commands
    .replaceAll('/backups/gatehouse-1', join(folder, 'backup'))
    .replaceAll('/safe/', `${join(folder, 'safe')}/`)
    .replaceAll('npx gatehouse', `'${process.execPath}' '${MAIN}'`)
    .replace(/^npm start\n$/m, '');
  execFileSync('sh', ['-euc', script], { cwd, env: { PATH: process.env['PATH'] } });
}

let folder: string;
let receiver: Receiver;
let server: RunningServer;
let key: string;
let revokedKey: string;
/** Key of another customer. */
let secondKey: string;
let labelled: string;
let decisionsBefore: string[];
let whileRunning: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-restore-'));
  receiver = await startReceiver();
  const home = join(folder, 'first');
  mkdirSync(home);
  server = await startServer({ dataDir: join(home, 'data'), env: ALLOWED });
  key = server.secretKey;
  const { customer_id: customer } =
    ((await gatehouse(server.dataDir, 'keys', 'list'))['keys'] as { customer_id: string }[])[0] ?? {};
  revokedKey = String(
    (await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(customer)))['secret_key'],
  );
  await webhookClient(server.url, key).create(receiver.url, 'ALLOW');
  await blockOnList(server.url, key);
  const { customer_id: second } = await gatehouse(server.dataDir, 'customers', 'create', 'Second');
  secondKey = String((await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(second)))['secret_key']);
  const { json } = await decideTo(server.url, key, 'ALLOW');
  labelled = String(json['request_id']);
  await bearer(server.url, key, 'POST', '/v1/labels', { request_id: labelled, label: 'legitimate' });
  await receiver.arrived(1);
  await eventually('a decision in the log', async () => ((await decisions(server)).length > 0 ? true : null));
  decisionsBefore = await decisions(server);
  whileRunning = foreign(server.dataDir);
  // A stop writes the last decisions, which a backup of a running server would miss.
  await server.stop();
  run(documented('Backups')[0] ?? '', home);
  await gatehouse(server.dataDir, 'keys', 'revoke', revokedKey);
  mkdirSync(join(folder, 'safe'));
  copyFileSync(join(server.dataDir, 'master.key'), join(folder, 'safe', 'master.key'));
}, 120_000);
afterAll(async () => {
  await server.stop();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

async function decisions({ url }: RunningServer): Promise<string[]> {
  const { json } = await bearer(url, key, 'GET', '/v1/decisions');
  return (json['data'] as { request_id: string }[]).map((one) => one.request_id).sort();
}

/** Returns paths below a folder that are accessible to group or others. */
function foreign(path: string, below = ''): string[] {
  const { mode } = lstatSync(path);
  const found = (mode & 0o077) === 0 ? [] : [`${below} ${(mode & 0o777).toString(8)}`];
  if (!lstatSync(path).isDirectory()) return found;
  return [...found, ...readdirSync(path).flatMap((name) => foreign(join(path, name), `${below}/${name}`))];
}

describe('a server that has done everything', () => {
  test('A server, the command line and a backup leave no file that group or others may read', () => {
    const names = readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' });
    expect(names).toEqual(
      expect.arrayContaining(['state/data.mdb', 'hot/data.mdb', 'gatehouse.json', 'revoked-keys.log']),
    );
    expect(whileRunning).toEqual([]);
    expect(foreign(server.dataDir)).toEqual([]);
    expect(foreign(join(folder, 'backup'))).toEqual([]);
  });
});

describe('a restore as documented', () => {
  test('A documented restore on the same machine restores everything, creates nothing, and keeps revoked keys revoked', async () => {
    await server.stop();
    run(documented('Restoring a backup')[1] ?? '', join(folder, 'first'));
    // The permissions of an older version.
    chmodSync(join(server.dataDir, 'state', 'data.mdb'), 0o644);
    chmodSync(join(server.dataDir, 'hot'), 0o755);
    await expectRestored(join(folder, 'first', 'data'));
    expect((await decide(server.url, revokedKey)).status).toBe(401);
    expect(foreign(server.dataDir)).toEqual([]);
  });

  test('A documented restore on another machine restores everything and creates nothing', async () => {
    await server.stop();
    const home = join(folder, 'second');
    mkdirSync(home);
    run(documented('Restoring a backup')[0] ?? '', home);
    await expectRestored(join(home, 'data'));
    // This machine does not know about the revocation, which came after the backup.
    expect((await decide(server.url, revokedKey)).status).toBe(200);
  });
});

async function expectRestored(dataDir: string): Promise<void> {
  server = await startServer({ dataDir, env: ALLOWED });
  expect(server.stdout()).toContain('"code":"backup_restored"');
  expect(server.stdout()).not.toMatch(/"code":"(first_start|\w+_begun_anew|state_restored)"/);
  expect(server.stderr()).not.toContain('secret key');
  const { customers } = await gatehouse(dataDir, 'customers', 'list');
  expect((customers as { name: string }[]).map(({ name }) => name)).toEqual(['demo', 'Second']);
  expect(await decisions(server)).toEqual(decisionsBefore);
  expect((await bearer(server.url, key, 'GET', '/v1/lists')).json['data']).toHaveLength(1);
  expect((await bearer(server.url, key, 'GET', '/v1/webhooks')).json['data']).toHaveLength(1);
  const arrivedBefore = receiver.arrivals.length;
  expect((await decideTo(server.url, key, 'ALLOW')).status).toBe(200);
  await receiver.arrived(arrivedBefore + 1);
  expect((await decideTo(server.url, key, 'BLOCK')).json['reasons']).toContain('list_block');
  expect((await decide(server.url, secondKey)).status).toBe(200);
  const { json } = await bearer(server.url, key, 'GET', '/v1/webhooks/deliveries?status=succeeded');
  expect((json['data'] as { request_id: string }[]).map((row) => row.request_id)).toContain(labelled);
}

describe('a restore beside the running server', () => {
  test('A backup of a running server is restored into a new folder while that server goes on', async () => {
    // The server of the test before runs on its restored folder.
    const home = join(folder, 'third');
    const dataDir = join(home, 'data');
    const taken = await gatehouse(server.dataDir, 'backup', join(home, 'backup'));
    const decidedUpTo = await decisions(server);
    const refused = await commandAsProcess(['--data-dir', server.dataDir, 'restore', String(taken['folder'])]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/is served by process \d+/) as string]);
    mkdirSync(dataDir);
    copyFileSync(join(folder, 'safe', 'master.key'), join(dataDir, 'master.key'));
    const restored = await gatehouse(dataDir, 'restore', String(taken['folder']));
    const tables = restored['tables'] as { table: string; rows_in_backup: number; rows_restored: number }[];
    for (const { rows_in_backup: before, rows_restored: after } of tables) expect(after).toBe(before);
    const rows = Object.fromEntries(tables.map((one) => [one.table, one.rows_restored]));
    expect(rows).toMatchObject({ customers: 2, 'api-keys': 6, lists: 1, labels: 1, webhooks: 1 });
    expect((await decide(server.url, secondKey)).status).toBe(200);
    const other = await startServer({ dataDir, env: ALLOWED });
    expect(other.stdout()).toContain('"code":"backup_restored"');
    expect(other.stderr()).not.toContain('secret key');
    const seen = await decisions(other);
    expect(decidedUpTo).toEqual(expect.arrayContaining(seen));
    expect(seen).toEqual(expect.arrayContaining(decisionsBefore));
    expect((await decideTo(other.url, key, 'BLOCK')).json['reasons']).toContain('list_block');
    await other.stop();
  });
});
