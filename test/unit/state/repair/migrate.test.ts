import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { EnvironmentFormat } from '../../../../src/kernel/formats.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import { migrateEnvironment } from '../../../../src/state/repair/migrate.ts';
import { sumFits } from '../../../../src/state/tables/value.ts';
import { environmentVersion, forgetVersions } from '../../../support/format-versions.ts';
import { hashOf, open, tempFolder, value } from '../support.ts';
import { writesOf } from '../../../support/writes.ts';

const DIST = new URL('../../../../dist/src/state/repair/', import.meta.url).href;
/** More rows than are copied at a time. */
const ROWS = 2_500;

/** Returns a directory without versions whose registry has many rows. */
async function unversioned(): Promise<string> {
  const dataDir = tempFolder();
  expect(await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: 1 })).toMatchObject({ kind: 'ok' });
  const store = open(dataDir);
  const rows = Array.from({ length: ROWS }, (_, n) => ({
    fingerprintHash: hashOf(n),
    risk: 90,
    customers: 3,
    firstSeenSeconds: 1,
    lastSeenSeconds: 2,
  }));
  await value(writesOf(store).registry.putMany(rows));
  await store.close();
  await forgetVersions(dataDir);
  return dataDir;
}

/** Returns length of value → number of rows, for the registry; throws on a wrong check sum. */
async function lengths(dataDir: string): Promise<Record<number, number>> {
  const store = open(dataDir);
  const table = store.state.openDB<Buffer, Buffer>({ name: 'registry', encoding: 'binary', keyEncoding: 'binary' });
  const counts: Record<number, number> = {};
  for (const { key, value: stored } of table.getRange()) {
    if (!sumFits(key, stored)) throw new Error('a check sum is wrong');
    counts[stored.length] = (counts[stored.length] ?? 0) + 1;
  }
  await store.close();
  return counts;
}

const LENGTH = 28;
const append = (_: Uint8Array, stored: Uint8Array): Uint8Array => Buffer.concat([stored, Buffer.from([7])]);

/** A format of three versions, whose second step rewrites all rows of the registry. */
function formatWith(rewrite: EnvironmentFormat['steps'][number]['rows'][string]): EnvironmentFormat {
  return {
    path: 'state',
    version: 3,
    steps: [
      { from: 1, rows: {} },
      { from: 2, rows: { registry: rewrite } },
    ],
  };
}

describe('the migration of an environment', () => {
  test('A step rewrites each row once, and the version is recorded', async () => {
    const dataDir = await unversioned();
    expect(await migrateEnvironment(dataDir, 'state', formatWith(append))).toEqual({ kind: 'ok', value: 1 });
    expect(await environmentVersion(dataDir, 'state')).toBe(3);
    expect(await lengths(dataDir)).toEqual({ [LENGTH + 1]: ROWS });
    expect(await migrateEnvironment(dataDir, 'state', formatWith(append))).toEqual({ kind: 'ok', value: 3 });
    expect(await lengths(dataDir)).toEqual({ [LENGTH + 1]: ROWS });
  });

  test('A step can remove rows', async () => {
    const dataDir = await unversioned();
    const half = formatWith((key, stored) => ((key[31] ?? 0) % 2 === 0 ? stored : null));
    expect(await migrateEnvironment(dataDir, 'state', half)).toMatchObject({ kind: 'ok' });
    expect(await lengths(dataDir)).toEqual({ [LENGTH]: ROWS / 2 });
  });

  test('A step that throws changes nothing, and the steps before it are kept', async () => {
    const dataDir = await unversioned();
    let rows = 0;
    const failing = formatWith((key, stored) => {
      if (++rows === 1_700) throw new Error('a row cannot be read');
      return append(key, stored);
    });
    expect(await migrateEnvironment(dataDir, 'state', failing)).toEqual({
      kind: 'fault',
      code: 'store_write_failed',
      detail: 'state cannot be migrated: a row cannot be read',
    });
    expect(await environmentVersion(dataDir, 'state')).toBe(2);
    expect(await lengths(dataDir)).toEqual({ [LENGTH]: ROWS });
  });

  test.each([1, 1_700, ROWS])('A process killed at row %i of a step leaves the step to the next start', async (row) => {
    const dataDir = await unversioned();
    const killed = spawnSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { migrateEnvironment } from '${DIST}migrate.js';
       let rows = 0;
       const rewrite = (key, value) => {
         if (++rows === ${row}) process.kill(process.pid, 'SIGKILL');
         return Buffer.concat([value, Buffer.from([7])]);
       };
       const steps = [{ from: 1, rows: {} }, { from: 2, rows: { registry: rewrite } }];
       await migrateEnvironment(${JSON.stringify(dataDir)}, 'state', { path: 'state', version: 3, steps });`,
    ]);
    expect(killed.signal).toBe('SIGKILL');
    expect(await environmentVersion(dataDir, 'state')).toBe(2);
    expect(await lengths(dataDir)).toEqual({ [LENGTH]: ROWS });
    expect(await migrateEnvironment(dataDir, 'state', formatWith(append))).toEqual({ kind: 'ok', value: 2 });
    expect(await lengths(dataDir)).toEqual({ [LENGTH + 1]: ROWS });
  });
});
