import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENVIRONMENT_FORMATS, FILE_FORMATS } from '../../../src/kernel/formats.ts';
import { backup, listBackups, rotateBackups } from '../../../src/state/repair/backup.ts';
import { ensureUsable, type Usable } from '../../../src/state/repair/ensure-usable.ts';
import { readMarker } from '../../../src/state/repair/marker.ts';
import { RevocationFile } from '../../../src/state/feed/revocations.ts';
import { command } from '../../support/command-line.ts';
import {
  contentOf,
  ENVIRONMENT_NAMES,
  environmentVersions,
  forgetVersions,
  setEnvironmentVersion,
  setVersion,
  type Versioned,
} from '../../support/format-versions.ts';
import { customer, hashOf, open, tempFolder, value } from './support.ts';
import { writesOf } from '../../support/writes.ts';

const NOW_MS = 1_700_000_000_000;
const CURRENT = [3, 3, 2];

/** Returns the version that this build writes. */
function versionOf(what: Versioned): number {
  return { ...FILE_FORMATS, ...ENVIRONMENT_FORMATS }[what].version;
}

function ensure(dataDir: string, repair = true): Promise<Usable> {
  return ensureUsable({ dataDir, simulated: false, repair, nowMs: NOW_MS });
}

function codes(usable: Usable): string[] {
  return usable.kind === 'fault' ? [usable.code] : usable.notices.map(({ code }) => code);
}

/** A started data directory with a block-list entry, a revoked key and a backup, which is only copied. */
let template: string;
beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  await ensure(template);
  const store = open(template);
  const entry = { fingerprintHash: hashOf(1), action: 'block', note: null, expiresAtSeconds: null } as const;
  await value(writesOf(store).lists.put(customer(1), entry, 1));
  const { secret } = await value(writesOf(store).apiKeys.createPair(customer(1), null, 1));
  await value(writesOf(store).apiKeys.revoke(secret.key.hash, 5));
  await rotateBackups(store, template, 3, NOW_MS);
  await store.close();
});
afterAll(() => rmSync(template, { recursive: true, force: true }));

/** Returns a copy of the template. */
function started(): string {
  const dataDir = tempFolder();
  cpSync(template, dataDir, { recursive: true });
  return dataDir;
}

async function isBlocked(dataDir: string): Promise<boolean> {
  const store = open(dataDir);
  const found = store.lists.find(customer(1), hashOf(1), 1);
  await store.close();
  return found === 'block';
}

function markerVersion(dataDir: string): number | null {
  const read = readMarker(dataDir);
  return read.kind === 'found' ? read.marker.format_version : null;
}

describe('a data directory of a newer build', () => {
  test.each(['directory', 'revocations', ...ENVIRONMENT_NAMES] as const)(
    'The version 99 of %s is refused with its path, and nothing is changed',
    async (what) => {
      const dataDir = started();
      const path = await setVersion(dataDir, what, 99);
      const before = contentOf(dataDir);
      const usable = await ensure(dataDir);
      expect(codes(usable)).toEqual(['data_dir_newer']);
      expect(usable.kind === 'fault' && usable.detail).toContain(
        `${path} has format version 99, and this build reads versions up to ${versionOf(what)}: a newer build of Gatehouse wrote it. Nothing was changed.`,
      );
      expect(codes(await ensure(dataDir, false))).toEqual(['data_dir_newer']);
      expect(contentOf(dataDir)).toEqual(before);
    },
  );

  test('A marker whose other fields changed is newer, not damaged', async () => {
    const dataDir = started();
    writeFileSync(join(dataDir, 'gatehouse.json'), '{"format_version":5,"clock":"real"}');
    expect(codes(await ensure(dataDir))).toEqual(['data_dir_newer']);
  });

  test('A newer environment beside a damaged one is refused before the damaged one is quarantined', async () => {
    const dataDir = started();
    await setVersion(dataDir, 'state', 99);
    writeFileSync(join(dataDir, 'hot', 'data.mdb'), 'torn');
    const before = contentOf(dataDir);
    expect(codes(await ensure(dataDir))).toEqual(['data_dir_newer']);
    expect(contentOf(dataDir)).toEqual(before);
  });

  test('A damaged state is not replaced by a backup of a newer build', async () => {
    const dataDir = started();
    await setVersion(listBackups(dataDir)[0] ?? '', 'state', 99);
    writeFileSync(join(dataDir, 'state', 'data.mdb'), 'torn');
    const before = contentOf(dataDir);
    expect(codes(await ensure(dataDir))).toEqual(['data_dir_newer']);
    expect(contentOf(dataDir)).toEqual(before);
  });

  test.each([['customers', 'list'], ['keys', 'list'], ['backup']])(
    'The command %s refuses the directory of a newer build with exit code 78',
    async (...words) => {
      const dataDir = started();
      await setVersion(dataDir, 'hot', 99);
      const target = words[0] === 'backup' ? [join(tempFolder(), 'copy')] : [];
      const ran = await command(['--data-dir', dataDir, ...words, ...target]);
      expect(ran.code).toBe(78);
      expect(ran.err).toMatch(/hot has format version 99, and this build reads versions up to 3/);
    },
  );
});

describe('a data directory of an older build', () => {
  test('A directory without versions is migrated once and keeps its data', async () => {
    const dataDir = started();
    await forgetVersions(dataDir);
    const usable = await ensure(dataDir);
    expect(codes(usable)).toEqual(['migrated']);
    expect(usable.kind === 'ok' && usable.notices[0]?.detail).toBe(
      'the data directory from format version 1 to 4; state from format version 1 to 3; ' +
        'hot from format version 1 to 3; extract from format version 1 to 2',
    );
    expect(await environmentVersions(dataDir)).toEqual(CURRENT);
    expect(markerVersion(dataDir)).toBe(4);
    expect(await isBlocked(dataDir)).toBe(true);
    expect(codes(await ensure(dataDir))).toEqual([]);
  });

  test.each([0, 1, 2, 3])(
    'A migration that was killed after %i environments is completed by the next start',
    async (done) => {
      const dataDir = started();
      for (const name of ENVIRONMENT_NAMES.slice(done)) await setEnvironmentVersion(dataDir, name, null);
      expect(codes(await ensure(dataDir))).toEqual(done === 3 ? [] : ['migrated']);
      expect(await environmentVersions(dataDir)).toEqual(CURRENT);
      expect(await isBlocked(dataDir)).toBe(true);
    },
  );

  test('A command neither uses nor migrates the directory of an older build, whose server may be running', async () => {
    const dataDir = started();
    await setVersion(dataDir, 'directory', 1);
    const before = contentOf(dataDir);
    const ran = await command(['--data-dir', dataDir, 'customers', 'list']);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/has format version 1, and this build uses version 4: stop the server of the older build/);
    expect(contentOf(dataDir)).toEqual(before);
    await setVersion(dataDir, 'directory', 4);
    await setEnvironmentVersion(dataDir, 'state', null);
    expect(codes(await ensure(dataDir, false))).toEqual(['store_unusable']);
  });

  test('A first start records all versions', async () => {
    const dataDir = tempFolder();
    expect(codes(await ensure(dataDir))).toEqual(['first_start']);
    expect([markerVersion(dataDir), ...(await environmentVersions(dataDir))]).toEqual([4, ...CURRENT]);
  });

  test('An environment that is recreated empty records its version', async () => {
    const dataDir = started();
    writeFileSync(join(dataDir, 'hot', 'data.mdb'), 'torn');
    expect(codes(await ensure(dataDir))).toEqual(['hot_begun_anew']);
    expect(await environmentVersions(dataDir)).toEqual(CURRENT);
  });

  test('A backup of an older build is migrated when it replaces a damaged state', async () => {
    const dataDir = started();
    await setEnvironmentVersion(listBackups(dataDir)[0] ?? '', 'state', null);
    writeFileSync(join(dataDir, 'state', 'data.mdb'), 'torn');
    expect(codes(await ensure(dataDir))).toEqual(['state_restored']);
    expect(await environmentVersions(dataDir)).toEqual(CURRENT);
    expect(await isBlocked(dataDir)).toBe(true);
  });

  test('A directory copied from a backup of an older build is migrated', async () => {
    const dataDir = started();
    const store = open(dataDir);
    const copy = join(tempFolder(), 'copy');
    expect(await backup(store, dataDir, copy)).toMatchObject({ kind: 'ok' });
    await store.close();
    await setVersion(copy, 'directory', 1);
    await setEnvironmentVersion(copy, 'state', null);
    await setEnvironmentVersion(copy, 'hot', null);
    rmSync(join(dataDir, 'state'), { recursive: true });
    cpSync(copy, dataDir, { recursive: true });
    expect(codes(await ensure(dataDir))).toEqual(['migrated', 'backup_restored']);
    expect([markerVersion(dataDir), ...(await environmentVersions(dataDir))]).toEqual([4, ...CURRENT]);
    expect(await isBlocked(dataDir)).toBe(true);
    expect(codes(await ensure(dataDir))).toEqual([]);
  });
});

describe('the version of the file of revoked keys', () => {
  const NAME = 'revoked-keys.log';

  test('A new file and a backup’s copy begin with the version', () => {
    const folder = tempFolder();
    const file = new RevocationFile(folder);
    file.append([['a'.repeat(64), 5]]);
    file.copyInto(folder);
    for (const name of [NAME, 'revoked-keys.backup.log']) {
      expect(readFileSync(join(folder, name), 'utf8')).toMatch(/^format 2 [0-9a-f]{8}\na{64} 5 [0-9a-f]{8}\n$/);
    }
  });

  test('A file without a version gets one at the next start and keeps its keys', async () => {
    const dataDir = started();
    const path = join(dataDir, NAME);
    const text = readFileSync(path, 'utf8').replace(/^format.*\n/m, '');
    writeFileSync(path, text);
    const known = [...new RevocationFile(dataDir).read()];
    expect(known).toHaveLength(1);
    await ensure(dataDir);
    expect(readFileSync(path, 'utf8')).toMatch(/\nformat 2 [0-9a-f]{8}\n$/);
    expect([...new RevocationFile(dataDir).read()]).toEqual(known);
    await ensure(dataDir);
    expect(readFileSync(path, 'utf8').match(/^format/gm)).toHaveLength(1);
  });

  test('A version with a wrong check sum is ignored', () => {
    const folder = tempFolder();
    appendFileSync(join(folder, NAME), 'format 99 00000000\n');
    expect(new RevocationFile(folder).newerFile()).toBeNull();
  });
});
