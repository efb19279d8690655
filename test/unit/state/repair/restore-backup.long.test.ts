import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENVIRONMENT_FORMATS } from '../../../../src/kernel/formats.ts';
import { backup, rotateBackups } from '../../../../src/state/repair/backup.ts';
import { ensureUsable, type Usable } from '../../../../src/state/repair/ensure-usable.ts';
import { markRestoring, readMarker } from '../../../../src/state/repair/marker.ts';
import { openMasterKey, proveMasterKey } from '../../../../src/state/repair/master-key.ts';
import { ENVIRONMENT_NAMES } from '../../../../src/state/tables/table-names.ts';
import { restoreBackup } from '../../../../src/state/repair/restore-backup.ts';
import { RevocationFile } from '../../../../src/state/feed/revocations.ts';
import { acquireServerLock } from '../../../../src/state/repair/server-lock.ts';
import { command, commandAsProcess, MAIN } from '../../../support/command-line.ts';
import { contentOf, environmentVersions, setVersion } from '../../../support/format-versions.ts';
import { IS_FULL } from '../../../support/long.ts';
import { writesOf } from '../../../support/writes.ts';
import { open, registryEntries, tempFolder, value } from '../support.ts';

const START_MS = 1_700_000_000_000;
const ROWS = 1000;
/** Whether this system can limit the size of a process's files. */
const CAN_LIMIT = spawnSync('prlimit', ['--version']).status === 0;

let folder: string;
/** The data directory that was backed up, its backup, and the master key of both. */
let original: string;
let whole: string;
let masterKey: string;
let revoked: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-restore-'));
  original = join(folder, 'original');
  whole = join(folder, 'whole');
  mkdirSync(original);
  await ensure(original);
  const opened = openMasterKey(original, undefined);
  if (opened.kind === 'fault' || proveMasterKey(original, opened.key, () => null) !== null) throw new Error('no key');
  masterKey = readFileSync(join(original, 'master.key'), 'utf8').trim();
  const store = open(original);
  const { number } = await value(writesOf(store).customers.create('Acme', START_MS));
  const { secret } = await value(writesOf(store).apiKeys.createPair(number, null, 1));
  revoked = secret.key.hash;
  await value(writesOf(store).registry.putMany(registryEntries(ROWS)));
  const made = await backup(store, original, whole);
  if (made.kind === 'fault') throw new Error(made.detail);
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function ensure(dataDir: string, repair = true): Promise<Usable> {
  return ensureUsable({ dataDir, simulated: false, repair, nowMs: START_MS });
}

function codes(usable: Usable): string[] {
  return usable.kind === 'fault' ? [usable.code] : usable.notices.map(({ code }) => code);
}

/** Returns a copy of the backup for a test that changes it. */
function copyOfBackup(): string {
  const copy = join(tempFolder(), 'copy');
  cpSync(whole, copy, { recursive: true });
  return copy;
}

/**
 * Starts the directory and checks that nothing is lost. `looksAgain` starts it once more: each start is a process, and the second one
 * depends only on what the first one left.
 */
async function expectWhole(dataDir: string, looksAgain = IS_FULL): Promise<void> {
  const usable = await ensure(dataDir);
  expect(codes(usable)).toEqual(['backup_restored']);
  expect(usable.kind === 'ok' && usable.firstStart).toBe(false);
  if (looksAgain) expect(codes(await ensure(dataDir))).toEqual([]);
  const store = open(dataDir);
  expect(store.registry.count()).toBe(ROWS);
  expect(store.customers.all().map(({ name }) => name)).toEqual(['Acme']);
  await store.close();
}

describe('a restore into an empty data directory', () => {
  test('A restore brings back every row, counts them, and the next start is not a first start', async () => {
    const dataDir = join(tempFolder(), 'data');
    const restored = await restoreBackup({ folder: whole, dataDir, masterKey });
    expect(restored).toMatchObject({ kind: 'ok', unchecked: 0, isKeyProved: true, absent: ['extract'] });
    if (restored.kind === 'fault') return;
    expect(restored.tables).toContainEqual({
      environment: 'state',
      table: 'registry',
      inBackup: ROWS,
      restored: ROWS,
    });
    expect(restored.tables.map(({ table }) => table)).toContain('decisions');
    expect(restored.bytes).toBe(
      ['state', 'hot'].reduce((sum, name) => sum + statSync(join(whole, name, 'data.mdb')).size, 0),
    );
    await expectWhole(dataDir, true);
  });

  test('The files that an operator supplies before a restore are kept, and everything that is written is private', async () => {
    const dataDir = tempFolder();
    copyFileSync(join(original, 'master.key'), join(dataDir, 'master.key'));
    mkdirSync(join(dataDir, 'geoip'));
    writeFileSync(join(dataDir, 'geoip', 'city.mmdb'), 'mine');
    expect(await restoreBackup({ folder: whole, dataDir, masterKey: undefined })).toMatchObject({ isKeyProved: true });
    expect(readFileSync(join(dataDir, 'geoip', 'city.mmdb'), 'utf8')).toBe('mine');
    for (const name of ['state/data.mdb', 'hot/data.mdb', 'gatehouse.json', 'revoked-keys.backup.log']) {
      expect(statSync(join(dataDir, name)).mode & 0o077).toBe(0);
    }
    await expectWhole(dataDir);
  });

  test('An automatic backup is restored without the decision log, and the start reports no damage', async () => {
    const home = join(tempFolder(), 'home');
    cpSync(original, home, { recursive: true });
    const store = open(home);
    const made = await rotateBackups(store, home, 3, START_MS);
    await store.close();
    const dataDir = join(tempFolder(), 'data');
    const restored = await restoreBackup({ folder: made.kind === 'ok' ? made.folder : '', dataDir, masterKey });
    expect(restored).toMatchObject({ kind: 'ok', absent: ['hot', 'extract'] });
    await expectWhole(dataDir);
    expect(readdirSync(dataDir).filter((name) => name.includes('damaged'))).toEqual([]);
    expect(await environmentVersions(dataDir)).toEqual(
      ENVIRONMENT_NAMES.map((name) => ENVIRONMENT_FORMATS[name].version),
    );
  });

  test.each(['the copy inside the backup', 'a file that the operator supplies'])(
    'A key that was revoked after the backup stays revoked if %s knows it',
    async (which) => {
      const home = join(tempFolder(), 'home');
      cpSync(original, home, { recursive: true });
      const source = copyOfBackup();
      new RevocationFile(home).append([[revoked, 5]]);
      const dataDir = tempFolder();
      if (which.startsWith('the copy')) new RevocationFile(home).copyInto(source);
      else copyFileSync(join(home, 'revoked-keys.log'), join(dataDir, 'revoked-keys.log'));
      expect(await restoreBackup({ folder: source, dataDir, masterKey })).toMatchObject({ kind: 'ok', revokedKeys: 1 });
      await ensure(dataDir);
      const store = open(dataDir);
      const keys = store.apiKeys.loadAll().map(({ hash, revokedAtSeconds }) => [hash, revokedAtSeconds]);
      await store.close();
      expect(keys).toContainEqual([revoked, 5]);
    },
  );
});

describe('a data directory that nothing may be restored into', () => {
  test.each([
    ['a file of somebody else', (dir: string) => writeFileSync(join(dir, 'notes.txt'), 'mine'), 'notes.txt'],
    ['a data directory', (dir: string) => cpSync(original, dir, { recursive: true }), 'gatehouse.json'],
    [
      'a store without a marker',
      (dir: string) => cpSync(join(original, 'state'), join(dir, 'state'), { recursive: true }),
      'state',
    ],
  ])('A restore over %s is refused by name, and nothing is changed', async (_, fill, named) => {
    const dataDir = tempFolder();
    fill(dataDir);
    const before = [readdirSync(dataDir), contentOf(dataDir)];
    const refused = await restoreBackup({ folder: whole, dataDir, masterKey });
    expect(refused).toMatchObject({ kind: 'fault', code: 'restore_refused' });
    expect(refused.kind === 'fault' && refused.detail).toContain(`is not empty (`);
    expect(refused.kind === 'fault' && refused.detail).toContain(named);
    expect([readdirSync(dataDir), contentOf(dataDir)]).toEqual(before);
  });

  test('A data directory that is a file is refused', async () => {
    const dataDir = join(tempFolder(), 'file');
    writeFileSync(dataDir, '');
    expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ code: 'restore_refused' });
  });

  test('A data directory whose lock a server holds is refused, even if it is still empty', async () => {
    const dataDir = tempFolder();
    const locked = await acquireServerLock(dataDir, 0);
    expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ code: 'data_dir_in_use' });
    if (locked.kind === 'ok') await locked.lock.release();
    expect(readMarker(dataDir)).toEqual({ kind: 'absent' });
    expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ kind: 'ok' });
  });
});

describe('a backup that is not restored', () => {
  const flip = (path: string): void => {
    const bytes = readFileSync(path);
    // The risk of a row, 90 as a 32-bit float.
    const at = bytes.indexOf('42b40000', 0, 'hex');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };
  const rewriteMarker = (dir: string, changes: object): void => {
    const path = join(dir, 'gatehouse.json');
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...changes }));
  };
  const cut = (path: string): void => writeFileSync(path, readFileSync(path).subarray(0, statSync(path).size / 2));
  const state = (dir: string): string => join(dir, 'state', 'data.mdb');

  test.each<[string, (dir: string) => void]>([
    ['has no state', (dir) => rmSync(join(dir, 'state'), { recursive: true })],
    ['has an empty state', (dir) => writeFileSync(state(dir), '')],
    ['has a truncated state', (dir) => cut(state(dir))],
    ['has a flipped bit in a value', (dir) => flip(state(dir))],
    ['has lost its decision log', (dir) => rmSync(join(dir, 'hot'), { recursive: true })],
    ['has a truncated decision log', (dir) => writeFileSync(join(dir, 'hot', 'data.mdb'), 'torn')],
    ['has no marker', (dir) => rmSync(join(dir, 'gatehouse.json'))],
    ['has a marker that names no environment', (dir) => rewriteMarker(dir, { backup_environments: [] })],
    ['has a marker that does not name state', (dir) => rewriteMarker(dir, { backup_environments: ['hot'] })],
    [
      'has a decision log that its marker does not name',
      (dir) => rewriteMarker(dir, { backup_environments: ['state'] }),
    ],
    ['has a damaged marker', (dir) => writeFileSync(join(dir, 'gatehouse.json'), '{')],
    ['has no copy of the revoked keys', (dir) => rmSync(join(dir, 'revoked-keys.backup.log'))],
    [
      'has a damaged line of revoked keys',
      (dir) => writeFileSync(join(dir, 'revoked-keys.backup.log'), `${'a'.repeat(64)} 5\n`),
    ],
    ['is half of a restore', (dir) => markRestoring(dir)],
  ])('A backup that %s is refused before anything is written', async (_, harm) => {
    const source = copyOfBackup();
    harm(source);
    const dataDir = join(tempFolder(), 'data');
    const refused = await restoreBackup({ folder: source, dataDir, masterKey });
    expect(refused).toMatchObject({ kind: 'fault', code: 'restore_refused' });
    expect(refused.kind === 'fault' && refused.detail).toContain(source);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('A folder that does not exist, a data directory and an unfinished backup are refused', async () => {
    const partial = join(tempFolder(), 'copy.partial-7');
    cpSync(whole, partial, { recursive: true });
    for (const source of [join(folder, 'nothing'), original, partial]) {
      const dataDir = join(tempFolder(), 'data');
      expect(await restoreBackup({ folder: source, dataDir, masterKey })).toMatchObject({ code: 'restore_refused' });
      expect(existsSync(dataDir)).toBe(false);
    }
  });

  test.each(['directory', 'state', 'hot'] as const)(
    'A backup of a newer build, by its %s, is refused with the exit code 78',
    async (what) => {
      const source = copyOfBackup();
      await setVersion(source, what, 99);
      const dataDir = join(tempFolder(), 'data');
      const ran = await command(['--data-dir', dataDir, 'restore', source], {
        env: { GATEHOUSE_MASTER_KEY: masterKey },
      });
      expect([ran.code, ran.out]).toEqual([78, '']);
      expect(ran.err).toMatch(/has format version 99, and this build reads versions up to \d+: a newer build/);
      expect(existsSync(dataDir)).toBe(false);
    },
  );

  test.each<[string, string | undefined, RegExp]>([
    ['no master key', undefined, /needs the master key .* Set GATEHOUSE_MASTER_KEY, or copy .*master\.key/],
    ['another master key', 'ab'.repeat(32), /GATEHOUSE_MASTER_KEY is not the master key/],
    ['a text that is no key', 'secret', /GATEHOUSE_MASTER_KEY contains no key/],
  ])('With %s a restore is refused before anything is written', async (_, given, message) => {
    const dataDir = join(tempFolder(), 'data');
    const refused = await restoreBackup({ folder: whole, dataDir, masterKey: given });
    expect(refused).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(refused.kind === 'fault' && refused.detail).toMatch(message);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('The wrong file master.key in the data directory refuses the restore', async () => {
    const dataDir = tempFolder();
    writeFileSync(join(dataDir, 'master.key'), `${'ab'.repeat(32)}\n`);
    const refused = await restoreBackup({ folder: whole, dataDir, masterKey: undefined });
    expect(refused).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(readdirSync(dataDir)).toEqual(['master.key']);
  });
});

describe('a restore that was killed', () => {
  /** Steps of a restore up to which it may have come. */
  const LEFT: readonly [string, (dir: string) => void][] = [
    ['marked the directory', () => {}],
    [
      'copied half of the state',
      (dir) => {
        mkdirSync(join(dir, 'state'));
        writeFileSync(join(dir, 'state', 'data.mdb'), readFileSync(join(whole, 'state', 'data.mdb')).subarray(0, 8192));
      },
    ],
    [
      'copied everything',
      (dir) => {
        for (const name of ['state', 'hot', 'revoked-keys.backup.log']) {
          cpSync(join(whole, name), join(dir, name), { recursive: true });
        }
      },
    ],
  ];

  test.each(LEFT)(
    'A restore that was killed after it had %s is refused by a start and a command, and can be repeated',
    async (_, leave) => {
      const dataDir = tempFolder();
      markRestoring(dataDir);
      leave(dataDir);
      const before = contentOf(dataDir);
      expect([codes(await ensure(dataDir)), codes(await ensure(dataDir, false))]).toEqual([
        ['restore_incomplete'],
        ['restore_incomplete'],
      ]);
      const ran = await command(['--data-dir', dataDir, 'customers', 'create', 'Bolt']);
      expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('run `gatehouse restore` again') as string]);
      expect(contentOf(dataDir)).toEqual(before);
      expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ kind: 'ok' });
      await expectWhole(dataDir);
    },
  );

  test('A restore whose process is killed while it writes leaves a directory that is refused or whole', async () => {
    const dataDir = tempFolder();
    const child = spawn(process.execPath, [MAIN, '--data-dir', dataDir, 'restore', whole], {
      env: { GATEHOUSE_MASTER_KEY: masterKey },
      stdio: 'ignore',
    });
    const exited = once(child, 'exit');
    // Behind the marker come the copies and their check, which takes a process of its own.
    while (child.exitCode === null && !existsSync(join(dataDir, 'gatehouse.json'))) await setImmediate();
    child.kill('SIGKILL');
    await exited;
    if (readMarker(dataDir).kind === 'restoring') {
      expect(codes(await ensure(dataDir))).toEqual(['restore_incomplete']);
      expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ kind: 'ok' });
    }
    await expectWhole(dataDir);
  });

  test.skipIf(!CAN_LIMIT)('A restore that cannot write leaves the directory as empty as it was', () => {
    const dataDir = tempFolder();
    writeFileSync(join(dataDir, 'master.key'), `${masterKey}\n`);
    const words = ['--fsize=40000', process.execPath, MAIN, '--data-dir', dataDir, 'restore', whole];
    const { status, stderr } = spawnSync('prlimit', words, { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, expect.stringContaining('file too large') as string]);
    const left = readdirSync(dataDir).filter((name) => !name.startsWith('server.lock'));
    expect(left).toEqual(['master.key']);
  });

  test('A restored directory is not restored over again', async () => {
    const dataDir = tempFolder();
    expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ kind: 'ok' });
    expect(await restoreBackup({ folder: whole, dataDir, masterKey })).toMatchObject({ code: 'restore_refused' });
    await expectWhole(dataDir);
  });
});

describe('the command restore', () => {
  test('It prints the rows before and after for people, and as one JSON object with --json', async () => {
    const env = { GATEHOUSE_MASTER_KEY: masterKey };
    const forPeople = await command(['--data-dir', join(tempFolder(), 'data'), 'restore', whole], { env });
    expect([forPeople.code, forPeople.err]).toEqual([0, '']);
    expect(forPeople.out).toMatch(/│ state +│ registry +│ 1000 +│ 1000 +│/);
    expect(forPeople.out).toContain('The master key is the right one.');
    expect(forPeople.out).toContain('Not in the backup, so the next start creates it empty: extract.');
    const dataDir = join(tempFolder(), 'data');
    const ran = await commandAsProcess(['--json', '--data-dir', dataDir, 'restore', whole], { env });
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(JSON.parse(ran.out)).toMatchObject({
      folder: whole,
      data_dir: dataDir,
      rows_unchecked: 0,
      revoked_keys: 0,
      master_key_proved: true,
      not_in_backup: ['extract'],
      tables: expect.arrayContaining([
        { environment: 'state', table: 'registry', rows_in_backup: ROWS, rows_restored: ROWS },
      ]) as unknown,
    });
  });

  test('A refusal has exit code 1, an error code with --json, and no output otherwise', async () => {
    const dataDir = tempFolder();
    writeFileSync(join(dataDir, 'notes.txt'), '');
    const ran = await command(['--json', '--data-dir', dataDir, 'restore', whole]);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ error: { code: 'restore_refused' } });
  });
});
