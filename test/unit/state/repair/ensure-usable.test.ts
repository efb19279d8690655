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
import { newId } from '../../../../src/kernel/ids.ts';
import { backup, listBackups, rotateBackups } from '../../../../src/state/repair/backup.ts';
import { openEnvironment } from '../../../../src/state/tables/environment.ts';
import { ensureUsable, type Usable } from '../../../../src/state/repair/ensure-usable.ts';
import { IS_FULL } from '../../../support/long.ts';
import { open, registryEntries, tempFolder, value } from '../support.ts';
import { writesOf } from '../../../support/writes.ts';

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
  await value(writesOf(store).customers.create('Acme', START_MS));
  await value(writesOf(store).registry.putMany(registryEntries(1000)));
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

const PAGE_BYTES = 4_096;
const BRANCH = 0x01;
const LEAF = 0x02;
/**
 * Byte offsets within a page: its kind, the bytes of its table of nodes, and that table, to whose beginning all offsets of nodes refer.
 * Source: `MDB_page` in lmdb's mdb.c.
 */
const KIND_AT = 18;
const NODE_BYTES_AT = 20;
const NODES_AT = 24;
/** Offset of the key within a node. Source: `MDB_node`. */
const NODE_KEY_AT = 8;

/** Changes every page of a kind that has rows of the registry or leads to them. */
function changePages(file: string, kind: number, change: (page: Buffer) => void): void {
  const bytes = readFileSync(file);
  for (let at = 2 * PAGE_BYTES; at < bytes.length; at += PAGE_BYTES) {
    const page = bytes.subarray(at, at + PAGE_BYTES);
    const nodes = page.readUInt16LE(NODE_BYTES_AT) / 2;
    const isRegistry = page.includes('42b40000', 0, 'hex') || kind === BRANCH;
    if ((page.readUInt16LE(KIND_AT) & kind) !== 0 && nodes >= 4 && isRegistry) change(page);
  }
  writeFileSync(file, bytes);
}

/** Damage of a few bytes that no check sum of a value shows. */
const SMALL_DAMAGES: readonly [string, (file: string) => void][] = [
  [
    'a page that lists one row twice and another not at all',
    (file) => changePages(file, LEAF, (page) => page.copyWithin(NODES_AT + 2, NODES_AT, NODES_AT + 2)),
  ],
  [
    'a page whose rows are out of order',
    (file) =>
      changePages(file, LEAF, (page) => {
        const first = page.readUInt16LE(NODES_AT);
        page.copyWithin(NODES_AT, NODES_AT + 2, NODES_AT + 4);
        page.writeUInt16LE(first, NODES_AT + 2);
      }),
  ],
  [
    'an inner page with a changed key',
    (file) =>
      changePages(file, BRANCH, (page) => {
        const key = NODES_AT + page.readUInt16LE(NODES_AT + 2) + NODE_KEY_AT;
        page[key] = (page[key] ?? 0) ^ 0x80;
      }),
  ],
  [
    'a table with a changed name',
    (file) => {
      const bytes = readFileSync(file);
      for (let at = bytes.indexOf('api-keys'); at !== -1; at = bytes.indexOf('api-keys', at + 1))
        bytes.write('api-keyz', at);
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
    expect((await value(writesOf(store).customers.create('Bolt', START_MS))).number).toBeGreaterThan(1_000_000);
    await store.close();
  });

  test.each(SMALL_DAMAGES)('A state with %s is detected and replaced by the newest backup', async (_, harm) => {
    const dataDir = await started(true);
    const file = join(dataDir, 'state', 'data.mdb');
    const before = readFileSync(file);
    harm(file);
    expect(readFileSync(file).equals(before)).toBe(false);
    expect(codes(await ensure(dataDir))).toEqual(['state_restored']);
    const store = open(dataDir);
    expect(store.registry.count()).toBe(1000);
    await store.close();
  });

  test('A table that this build does not know, or that an older build did not have, is no damage', async () => {
    const dataDir = await started(true);
    const root = openEnvironment(dataDir, 'state', false);
    const later = root.openDB<Buffer, Buffer>({ name: 'later', encoding: 'binary', keyEncoding: 'binary' });
    await later.put(Buffer.from([1]), Buffer.from([1]));
    await root.close();
    expect(codes(await ensure(dataDir))).toEqual([]);
    const older = await started(true);
    const without = openEnvironment(older, 'state', false);
    await without.openDB<Buffer, Buffer>({ name: 'labels', encoding: 'binary', keyEncoding: 'binary' }).drop();
    await without.close();
    expect(codes(await ensure(older))).toEqual([]);
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
      // In an environment without rows, the second half of the file has only free pages.
      const filled = open(dataDir);
      for (let n = 0; n < 1_000; n++) filled.outcomes?.put(newId('req', START_MS + n), 'failed');
      await filled.outcomes?.flush(START_MS);
      await filled.close();
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
    const { number } = await value(writesOf(again).customers.create('Bolt', START_MS));
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
    // The machine's clock was set back.
    expect(await rotateBackups(store, dataDir, 2, START_MS)).toMatchObject({ kind: 'ok' });
    expect(listBackups(dataDir).map((folder) => folder.slice(-19))).toEqual([
      '20231115T011320000Z',
      '20231114T221320000Z',
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
