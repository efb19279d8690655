import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, nthHash } from '../support/manage.ts';
import { decide, gatehouse } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { decideTo, eventually, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

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
    .replaceAll('npm run -s gatehouse --', `'${process.execPath}' '${MAIN}'`)
    .replace(/^npm start\n$/m, '');
  execFileSync('sh', ['-euc', script], { cwd, env: { PATH: process.env['PATH'] } });
}

let folder: string;
let receiver: Receiver;
let server: RunningServer;
let key: string;
let revokedKey: string;
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
  await bearer(server.url, key, 'POST', '/v1/lists', { fingerprint_hash: nthHash(1), action: 'block' });
  await decideTo(server.url, key, 'ALLOW');
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
    run(documented('Restoring a backup')[0] ?? '', join(folder, 'first'));
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
    run(documented('Restoring a backup')[1] ?? '', home);
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
  expect((await gatehouse(dataDir, 'customers', 'list'))['customers']).toHaveLength(1);
  expect(await decisions(server)).toEqual(decisionsBefore);
  expect((await bearer(server.url, key, 'GET', '/v1/lists')).json['data']).toHaveLength(1);
  expect((await bearer(server.url, key, 'GET', '/v1/webhooks')).json['data']).toHaveLength(1);
  expect((await decideTo(server.url, key, 'ALLOW')).status).toBe(200);
}
