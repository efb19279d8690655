import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { listBackups, rotateBackups } from '../../src/state/repair/backup.ts';
import { openStore } from '../../src/state/feed/open-store.ts';
import { MAIN } from '../support/command-line.ts';
import { decide, get } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { blockOnList, decideTo } from '../support/webhooks.ts';

/** Starts on damaged files, and how an operator learns of them. */

const folders: string[] = [];
let server: RunningServer | null = null;
afterEach(async () => {
  await server?.stop();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'gatehouse-damage-'));
  folders.push(folder);
  return folder;
}

/** A stopped data directory with a block-list entry and an automatic backup. Every test works on a copy. */
let template: string;
let key: string;
beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'gatehouse-damage-'));
  const first = await startServer({ dataDir: template });
  ({ secretKey: key } = first);
  await blockOnList(first.url, key);
  await first.stop();
  const dataDir = template;
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new Error(opened.detail);
  const made = await rotateBackups(opened.store, dataDir, 3, Date.now());
  await opened.store.close();
  if (made.kind === 'fault') throw new Error(made.detail);
});
afterAll(() => rmSync(template, { recursive: true, force: true }));

/** Returns a copy of the template, in `folder`. */
function stopped(folder = newFolder()): string {
  cpSync(template, folder, { recursive: true, preserveTimestamps: true });
  return folder;
}

interface Reported {
  readonly store: string;
  readonly backups: Readonly<Record<string, unknown>>;
  readonly metrics: string;
  readonly log: readonly Readonly<Record<string, unknown>>[];
}

async function report(running: RunningServer): Promise<Reported> {
  const { url } = running;
  const { json } = await get(url, '/readyz');
  const layers = json['layers'] as Record<string, Record<string, unknown>>;
  const lines = running
    .stdout()
    .split('\n')
    .filter((line) => line.includes('"msg":"store"'));
  return {
    store: String(layers['store']?.['detail']),
    backups: layers['backups'] ?? {},
    metrics: (await get(url, '/metrics')).text,
    log: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('a start on a damaged store', () => {
  test('A damaged state is restored, and the log, /readyz and the metrics report it until the next start, which names the newest backup', async () => {
    const dataDir = stopped();
    writeFileSync(join(dataDir, 'state', 'data.mdb'), 'torn');
    server = await startServer({ dataDir });
    const repaired = await report(server);
    expect(repaired.log).toMatchObject([{ level: 'error', code: 'state_restored' }]);
    expect(repaired.store).toBe(
      'this start did not find the store as the last one left it, see the log: state_restored',
    );
    expect(repaired.metrics).toContain('gatehouse_store_repairs_total{code="state_restored"} 1');
    expect(repaired.metrics).toContain('gatehouse_store_repairs_total{code="hot_begun_anew"} 0');
    expect(server.stderr()).not.toContain('secret key');
    expect((await decideTo(server.url, key, 'BLOCK')).json['reasons']).toContain('list_block');
    await server.stop();
    server = await startServer({ dataDir, env: { GATEHOUSE_BACKUP_MINUTES: '0' } });
    const next = await report(server);
    expect([next.log, next.store]).toEqual([[], '']);
    expect(next.metrics).toContain('gatehouse_store_repairs_total{code="state_restored"} 0');
    expect(next.backups).toMatchObject({ state: 'absent', version: expect.stringMatching(/^\d{4}-.*Z$/) as string });
    expect(next.metrics).toContain('gatehouse_backups 1');
    expect(next.metrics).toMatch(/gatehouse_backup_age_seconds [0-9.]+/);
    expect(next.metrics).toContain('gatehouse_backup_failures_total 0');
  });

  test('A damaged decision log is reported as an error, and decisions go on', async () => {
    const dataDir = stopped();
    writeFileSync(join(dataDir, 'hot', 'data.mdb'), 'torn');
    server = await startServer({ dataDir });
    const { log, metrics } = await report(server);
    expect(log).toMatchObject([{ level: 'error', code: 'hot_begun_anew' }]);
    expect(metrics).toContain('gatehouse_store_repairs_total{code="hot_begun_anew"} 1');
    expect((await decide(server.url, key)).status).toBe(200);
  });
});

/** User and group without rights of their own, for which file permissions count although the tests may run as root. */
const NOBODY = 65_534;
const IS_ROOT = process.getuid?.() === 0;
const AS_NOBODY = IS_ROOT ? { uid: NOBODY, gid: NOBODY } : {};
const canRun = spawnSync(process.execPath, [MAIN, '--version'], { ...AS_NOBODY, cwd: '/' }).status === 0;

/** Gives a folder and everything below it to the user of the server. */
function giveAway(path: string): void {
  if (!IS_ROOT) return;
  chownSync(path, NOBODY, NOBODY);
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveAway(join(path, name));
}

describe.skipIf(!canRun)('a start on files with wrong permissions', () => {
  const serve = (dataDir: string) =>
    spawnSync(process.execPath, [MAIN, 'serve'], {
      ...AS_NOBODY,
      cwd: '/',
      encoding: 'utf8',
      timeout: 60_000,
      env: {
        GATEHOUSE_DATA_DIR: dataDir,
        GATEHOUSE_PORT: '0',
        GATEHOUSE_GEOIP_PACKAGES: '0',
        GATEHOUSE_VELOCITY_MB: '16',
      },
    });

  test.each<[string, (dir: string) => string, number]>([
    ['state that it may not read', (dir) => join(dir, 'state', 'data.mdb'), 0o000],
    ['state that it may only read', (dir) => join(dir, 'state', 'data.mdb'), 0o400],
    ['folder of the state that it may not enter', (dir) => join(dir, 'state'), 0o000],
    ['decision log that it may not read', (dir) => join(dir, 'hot', 'data.mdb'), 0o000],
    [
      'backup that it may not read, beside a damaged state',
      (dir) => join(listBackups(dir)[0] ?? '', 'state', 'data.mdb'),
      0o000,
    ],
  ])('A start with a %s fails, and quarantines and replaces nothing', async (what, pathIn, mode) => {
    // Not below the folder of the tests, which only this user may enter.
    const dataDir = join(newFolder('/tmp'), 'data');
    chmodSync(join(dataDir, '..'), 0o755);
    stopped(dataDir);
    if (what.includes('damaged')) writeFileSync(join(dataDir, 'state', 'data.mdb'), 'torn');
    giveAway(dataDir);
    const before = readdirSync(dataDir).sort();
    chmodSync(pathIn(dataDir), mode);
    const { status, stderr, signal } = serve(dataDir);
    chmodSync(pathIn(dataDir), 0o700);
    expect([status, signal]).toEqual([1, null]);
    expect(stderr).toMatch(/permission denied|EACCES|not permitted/i);
    expect(readdirSync(dataDir).sort()).toEqual(before);
    expect(existsSync(join(dataDir, 'restoring'))).toBe(false);
  });
});
