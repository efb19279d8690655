import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { backup, listBackups, rotateBackups } from '../../../src/state/backup.ts';
import { ensureUsable, type Usable } from '../../../src/state/ensure-usable.ts';
import { IS_FULL } from '../../support/long.ts';
import { delivery } from './deliveries-support.ts';
import { hashOf, open, tempFolder, value } from './support.ts';

const START_MS = 1_700_000_000_000;

function ensure(dataDir: string, extra: { simulated?: boolean | null; repair?: boolean } = {}): Promise<Usable> {
  return ensureUsable({ dataDir, simulated: false, repair: true, nowMs: START_MS, ...extra });
}

function codes(usable: Usable): string[] {
  return usable.kind === 'fault' ? [usable.code] : usable.notices.map((notice) => notice.code);
}

/** Whether it has a backup → a data directory that is only copied. */
const made = new Map<boolean, Promise<string>>();
afterAll(async () => {
  for (const dataDir of made.values()) rmSync(await dataDir, { recursive: true, force: true });
});

/** Returns a started data directory with a thousand registry rows, and optionally a backup of it. */
async function started(withBackup: boolean): Promise<string> {
  const source = made.get(withBackup) ?? makeStarted(withBackup);
  made.set(withBackup, source);
  const dataDir = tempFolder();
  cpSync(await source, dataDir, { recursive: true });
  return dataDir;
}

async function makeStarted(withBackup: boolean): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  expect(codes(await ensure(dataDir))).toEqual(['first_start']);
  const store = open(dataDir);
  await value(store.customers.create('Acme', START_MS));
  const rows = Array.from({ length: 1000 }, (_, i) => ({
    fingerprintHash: hashOf(i),
    risk: 90,
    customers: 3,
    firstSeenSeconds: 1,
    lastSeenSeconds: 2,
  }));
  await value(store.registry.putMany(rows));
  if (withBackup) await rotateBackups(store, dataDir, 3, START_MS);
  await store.close();
  return dataDir;
}

function damage(file: string, how: (fd: number, size: number) => void): void {
  const fd = openSync(file, 'r+');
  how(fd, statSync(file).size);
  closeSync(fd);
}

function zero(fd: number, size: number): void {
  writeSync(fd, Buffer.alloc(size), 0, size, 0);
}

const BIT_FLIP = 'with one flipped bit in a value';
const DAMAGES: readonly [string, (file: string) => void][] = [
  ['truncated to half', (file) => damage(file, (fd, size) => ftruncateSync(fd, Math.floor(size / 2)))],
  ['truncated to its meta pages', (file) => damage(file, (fd) => ftruncateSync(fd, 8192))],
  ['of no bytes', (file) => damage(file, (fd) => ftruncateSync(fd, 0))],
  ['all zeros', (file) => damage(file, zero)],
  [
    'zeroed behind its meta pages',
    (file) => damage(file, (fd, size) => writeSync(fd, Buffer.alloc(size - 8192), 0, size - 8192, 8192)),
  ],
  ['missing', (file) => rmSync(file)],
  [
    BIT_FLIP,
    (file) => {
      const bytes = readFileSync(file);
      // The risk of a row, 90 as a 32-bit float, in every copy in the file.
      for (let at = bytes.indexOf('42b40000', 0, 'hex'); at !== -1; at = bytes.indexOf('42b40000', at + 1, 'hex')) {
        bytes[at] = (bytes[at] ?? 0) ^ 1;
      }
      writeFileSync(file, bytes);
    },
  ],
];

/** The effect of damage depends on the environment, its detection on the damage only: the first test covers all kinds. */
const FEWER_DAMAGES = IS_FULL ? DAMAGES : DAMAGES.filter((_, at) => at % 3 === 0);

/** Each further check is a process. Its result depends on the repair and not on the damage: one kind of damage is enough. */
function looksAgain(harm: (file: string) => void): boolean {
  return IS_FULL || harm === DAMAGES[1]?.[1];
}

describe('a damaged state environment', () => {
  test.each(DAMAGES)('%s: a damaged state is detected and replaced by the newest backup', async (_, harm) => {
    const dataDir = await started(true);
    harm(join(dataDir, 'state', 'data.mdb'));
    if (looksAgain(harm)) expect(codes(await ensure(dataDir, { repair: false }))).toEqual(['store_unusable']);
    expect(codes(await ensure(dataDir))).toEqual(['state_restored']);
    if (looksAgain(harm)) expect(codes(await ensure(dataDir))).toEqual([]);
    expect(readdirSync(dataDir).some((name) => name.startsWith('state.restoring') || name === 'restoring')).toBe(false);
    const store = open(dataDir);
    expect(store.registry.count()).toBe(1000);
    // Numbers given out after the backup are not reused.
    expect((await value(store.customers.create('Bolt', START_MS))).number).toBeGreaterThan(1_000_000);
    await store.close();
  });

  test.each(FEWER_DAMAGES)(
    '%s: a damaged state without a backup is a fault, and nothing is changed',
    async (_, harm) => {
      const dataDir = await started(false);
      harm(join(dataDir, 'state', 'data.mdb'));
      const before = readdirSync(dataDir).sort();
      expect(codes(await ensure(dataDir))).toEqual(['store_lost']);
      expect(readdirSync(dataDir).sort()).toEqual(before);
    },
  );

  test('A damaged backup is skipped in favour of an older one', async () => {
    const dataDir = await started(true);
    const store = open(dataDir);
    await rotateBackups(store, dataDir, 3, START_MS + 1000);
    await store.close();
    writeFileSync(join(listBackups(dataDir)[0] ?? '', 'state', 'data.mdb'), '');
    writeFileSync(join(dataDir, 'state', 'data.mdb'), '');
    const usable = await ensure(dataDir);
    expect(usable.kind === 'ok' && usable.notices[0]?.detail).toContain('20231114T221320000Z');
  });
});

describe('a damaged hot environment', () => {
  test.each(FEWER_DAMAGES.filter(([name]) => name !== BIT_FLIP))(
    '%s: a damaged hot is recreated empty and keeps the replay journal',
    async (_, harm) => {
      const dataDir = await started(false);
      writeFileSync(join(dataDir, 'hot', 'journal'), 'kept');
      harm(join(dataDir, 'hot', 'data.mdb'));
      expect(codes(await ensure(dataDir))).toEqual(['hot_begun_anew']);
      const store = open(dataDir);
      expect(store.registry.count()).toBe(1000);
      await store.close();
      expect(readFileSync(join(dataDir, 'hot', 'journal'), 'utf8')).toBe('kept');
      if (looksAgain(harm)) expect(codes(await ensure(dataDir))).toEqual([]);
    },
  );
});

describe('a damaged extract environment', () => {
  // Half of an empty one contains all of its pages, so it is not damaged.
  test.each(DAMAGES.slice(1, 4))(
    '%s: a damaged extract is recreated empty, and nothing else is lost',
    async (_, harm) => {
      const dataDir = await started(false);
      harm(join(dataDir, 'extract', 'data.mdb'));
      expect(codes(await ensure(dataDir))).toEqual(['extract_begun_anew']);
      const store = open(dataDir);
      expect(store.registry.count()).toBe(1000);
      expect([...(store.extract?.extractions.open() ?? [])]).toEqual([]);
      await store.close();
      if (looksAgain(harm)) expect(codes(await ensure(dataDir))).toEqual([]);
    },
  );
});

describe('the marker of a data directory', () => {
  test('A start that was interrupted before it wrote the marker is repeated', async () => {
    const dataDir = tempFolder();
    const store = open(dataDir);
    await store.close();
    expect(codes(await ensure(dataDir))).toEqual(['first_start']);
    rmSync(join(dataDir, 'gatehouse.json'));
    writeFileSync(join(dataDir, 'state', 'data.mdb'), 'torn');
    expect(codes(await ensure(dataDir))).toEqual(['first_start']);
  });

  test.each([
    ['a store with data', false, () => {}],
    [
      'a damaged store that was larger than a new one',
      false,
      (dir: string) => writeFileSync(join(dir, 'state', 'data.mdb'), Buffer.alloc(200_000)),
    ],
    [
      'a damaged store and a journal',
      false,
      (dir: string) => {
        damage(join(dir, 'state', 'data.mdb'), zero);
        mkdirSync(join(dir, 'hot', 'replay'));
        writeFileSync(join(dir, 'hot', 'replay', 'replay-0000000001.log'), '');
      },
    ],
    ['backups and no store', true, (dir: string) => rmSync(join(dir, 'state'), { recursive: true })],
  ])(
    'A marker missing beside %s is a fault that explains what to do, and nothing is created',
    async (_, withBackup, harm) => {
      const dataDir = await started(withBackup);
      rmSync(join(dataDir, 'gatehouse.json'));
      harm(dataDir);
      const before = readdirSync(dataDir).sort();
      const usable = await ensure(dataDir);
      expect(usable).toMatchObject({ kind: 'fault', code: 'data_dir_unusable' });
      expect(usable.kind === 'fault' && usable.detail).toMatch(
        /gatehouse\.json is missing .*Copy it back from .*backup/,
      );
      expect(readdirSync(dataDir).sort()).toEqual(before);
    },
  );

  test('A lost marker can be repaired as the fault explains, and nothing else is lost', async () => {
    const dataDir = await started(false);
    rmSync(join(dataDir, 'gatehouse.json'));
    const usable = await ensure(dataDir);
    const content = /contains (\{.*?\})\./.exec(usable.kind === 'fault' ? usable.detail : '')?.[1];
    writeFileSync(join(dataDir, 'gatehouse.json'), content ?? '');
    expect(codes(await ensure(dataDir))).toEqual([]);
    const store = open(dataDir);
    expect(store.registry.count()).toBe(1000);
    await store.close();
  });

  test('Without the right to repair, a first start is a fault', async () => {
    const dataDir = tempFolder();
    expect(codes(await ensure(dataDir, { repair: false }))).toEqual(['store_lost']);
    expect(existsSync(join(dataDir, 'state'))).toBe(false);
  });

  test('The virtual clock and real time cannot share a data directory', async () => {
    const real = tempFolder();
    const simulated = tempFolder();
    await ensure(real);
    await ensure(simulated, { simulated: true });
    expect(codes(await ensure(real, { simulated: true }))).toEqual(['simulated_time_mismatch']);
    expect(codes(await ensure(simulated))).toEqual(['simulated_time_mismatch']);
    expect(codes(await ensure(simulated, { simulated: true }))).toEqual([]);
    expect(codes(await ensure(simulated, { simulated: null }))).toEqual([]);
  });

  test('A damaged marker is a fault', async () => {
    const dataDir = tempFolder();
    await ensure(dataDir);
    writeFileSync(join(dataDir, 'gatehouse.json'), '{');
    expect(codes(await ensure(dataDir))).toEqual(['data_dir_unusable']);
  });

  test('A data directory that is a file is a fault, not an exception', async () => {
    const dataDir = join(tempFolder(), 'file');
    writeFileSync(dataDir, '');
    expect(codes(await ensure(dataDir))).toEqual(['data_dir_unusable']);
  });
});

describe('a data directory copied from a backup', () => {
  test('A data directory copied from a backup has its data, advances its counters once, and is not a first start', async () => {
    const dataDir = await started(false);
    const store = open(dataDir);
    const folder = join(tempFolder(), 'copy');
    expect(await backup(store, dataDir, folder)).toMatchObject({ kind: 'ok' });
    await store.close();
    const restored = join(tempFolder(), 'data');
    cpSync(folder, restored, { recursive: true });
    expect(codes(await ensure(restored, { repair: false }))).toEqual(['store_unusable']);
    const usable = await ensure(restored);
    expect(codes(usable)).toEqual(['backup_restored']);
    expect(usable.kind === 'ok' && usable.firstStart).toBe(false);
    expect(codes(await ensure(restored))).toEqual([]);
    const again = open(restored);
    expect(again.registry.count()).toBe(1000);
    const { number } = await value(again.customers.create('Bolt', START_MS));
    expect([number > 1_000_000, number < 2_000_000]).toEqual([true, true]);
    await again.close();
    expect(readdirSync(restored).filter((name) => name.includes('damaged'))).toEqual([]);
  });
});

describe('backups of the store', () => {
  test('Automatic backups keep the newest ones, and a backup into a non-empty folder is refused', async () => {
    const dataDir = await started(false);
    const store = open(dataDir);
    for (let hour = 0; hour < 4; hour++) {
      expect(await rotateBackups(store, dataDir, 2, START_MS + hour * 3_600_000)).toMatchObject({ kind: 'ok' });
    }
    expect(listBackups(dataDir).map((folder) => folder.slice(-19))).toEqual([
      '20231115T011320000Z',
      '20231115T001320000Z',
    ]);
    expect(await backup(store, dataDir, dataDir)).toMatchObject({ kind: 'fault', code: 'backup_refused' });
    const folder = join(tempFolder(), 'deep', 'copy');
    expect(await backup(store, dataDir, folder)).toMatchObject({ kind: 'ok', folder });
    await store.close();
    const copy = open(folder);
    expect(copy.registry.count()).toBe(1000);
    await copy.close();
  });
});

describe('deliveries', () => {
  const FILE = join('deliveries', 'data.mdb');
  const row = delivery(1);

  /** Returns a started data directory with a delivery that is also in a backup, if there is one. */
  async function withDelivery(withBackup: boolean): Promise<string> {
    const dataDir = await started(false);
    const store = open(dataDir);
    await value(store.deliveries.insert([row], 7));
    if (withBackup) await rotateBackups(store, dataDir, 3, START_MS);
    await store.close();
    return dataDir;
  }

  async function found(dataDir: string): Promise<{ readonly row: unknown; readonly upTo: number }> {
    const store = open(dataDir);
    const { deliveries } = store;
    const result = { row: deliveries.find(row.customer, row.id), upTo: deliveries.storedUpToSequence() };
    await store.close();
    return result;
  }

  test.each(DAMAGES)('A file %s is quarantined and replaced by that of the newest backup', async (what, how) => {
    const dataDir = await withDelivery(true);
    if (what === BIT_FLIP) return;
    how(join(dataDir, FILE));
    expect(codes(await ensure(dataDir))).toEqual(['deliveries_restored']);
    expect(readdirSync(dataDir).some((name) => name.startsWith('deliveries.damaged-'))).toBe(true);
    expect(await found(dataDir)).toEqual({ row, upTo: 7 });
    expect(codes(await ensure(dataDir))).toEqual([]);
  });

  test('A missing file is replaced by that of the newest backup', async () => {
    const dataDir = await withDelivery(true);
    rmSync(join(dataDir, 'deliveries'), { recursive: true });
    expect(codes(await ensure(dataDir))).toEqual(['deliveries_restored']);
    expect(await found(dataDir)).toEqual({ row, upTo: 7 });
  });

  test('Without a backup a damaged file is recreated empty, and the journal is read from its beginning', async () => {
    const dataDir = await withDelivery(false);
    damage(join(dataDir, FILE), zero);
    expect(codes(await ensure(dataDir, { repair: false }))).toEqual(['store_unusable']);
    expect(codes(await ensure(dataDir))).toEqual(['deliveries_begun_anew']);
    expect(await found(dataDir)).toEqual({ row: null, upTo: 0 });
  });

  test('A state restored from a backup leaves the deliveries as they are', async () => {
    const dataDir = await withDelivery(true);
    const store = open(dataDir);
    const newer = delivery(1);
    await value(store.deliveries.insert([newer], 8));
    await store.close();
    damage(join(dataDir, 'state', 'data.mdb'), zero);
    expect(codes(await ensure(dataDir))).toEqual(['state_restored']);
    expect(await found(dataDir)).toEqual({ row, upTo: 8 });
  });
});
