import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/work/webhook.ts';
import { listBackups, rotateBackups } from '../../../src/state/backup.ts';
import { Counters } from '../../../src/state/counters.ts';
import { Deliveries } from '../../../src/state/delivery-table.ts';
import { synced } from '../../../src/state/durable.ts';
import { ensureUsable } from '../../../src/state/ensure-usable.ts';
import { openEnvironment, table } from '../../../src/state/environment.ts';
import { RowCounters } from '../../../src/state/row-counters.ts';
import { environmentVersions, setEnvironmentVersion, setVersion } from '../../support/format-versions.ts';
import { delivery, success } from './deliveries-support.ts';
import { customer, open, tempFolder, value } from './support.ts';

const DIST = new URL('../../../dist/src/', import.meta.url).href;
/** More rows than are copied per transaction. */
const ROWS = 2_300;
const SEQUENCE = 4_711;

function ensure(dataDir: string): ReturnType<typeof ensureUsable> {
  return ensureUsable({ dataDir, simulated: false, repair: true, nowMs: 1_700_000_000_000 });
}

interface Older {
  readonly dataDir: string;
  readonly pending: readonly Delivery[];
  readonly ended: readonly Delivery[];
}

/** Returns a directory whose `state` has version 2 and holds the deliveries. */
async function older(keepBackup = false): Promise<Older> {
  const dataDir = tempFolder();
  await ensure(dataDir);
  if (keepBackup) {
    const store = open(dataDir);
    await rotateBackups(store, dataDir, 3, 1_700_000_000_000);
    await store.close();
  }
  const rows = Array.from({ length: ROWS }, (_, n) => delivery(1 + (n % 3)));
  const ended = rows.filter((_, n) => n % 2 === 0);
  for (const folder of [dataDir, ...listBackups(dataDir)]) {
    await putOldRows(folder, rows, ended);
    await setEnvironmentVersion(folder, 'state', 2);
    await setVersion(folder, 'directory', 2);
    rmSync(join(folder, 'deliveries'), { recursive: true });
  }
  return { dataDir, pending: rows.filter((row) => !ended.includes(row)), ended };
}

/** Writes rows as version 2 did: the same tables, in `state`. */
async function putOldRows(folder: string, rows: readonly Delivery[], ended: readonly Delivery[]): Promise<void> {
  const root = openEnvironment(folder, 'state', false);
  const tables = { rows: table(root, 'deliveries'), pending: table(root, 'deliveries-pending') };
  const rowCounters = new RowCounters(table(root, 'tallies'));
  const old = new Deliveries(root, tables, rowCounters, new Counters(table(root, 'meta')));
  await value(old.insert(rows, SEQUENCE));
  await value(old.apply(ended.map((row) => success(row))));
  await synced(root);
  await root.close();
}

async function expectMoved({ dataDir, pending, ended }: Older): Promise<void> {
  expect(await environmentVersions(dataDir)).toEqual([3, 2, 2, 2]);
  const store = open(dataDir);
  const { deliveries } = store;
  expect(deliveries.storedUpToSequence()).toBe(SEQUENCE);
  expect(deliveries.pendingCount()).toBe(pending.length);
  for (const row of pending) expect(deliveries.find(row.customer, row.id)).toEqual(row);
  for (const row of ended) expect(deliveries.find(row.customer, row.id)?.status).toBe('succeeded');
  expect(deliveries.pendingOf(pending[0]?.endpointId ?? '', null, 9)).toEqual([pending[0]]);
  const root = openEnvironment(dataDir, 'deliveries', true);
  const counters = new RowCounters(table(root, 'deliveries-tallies'));
  for (const number of [1, 2, 3])
    expect(counters.get('deliveries', customer(number))).toBe(
      ended.filter((row) => row.customer === customer(number)).length,
    );
  await root.close();
  expect(table(store.state, 'deliveries').getCount() + table(store.state, 'deliveries-pending').getCount()).toBe(0);
  expect(store.counters.get('dueStored')).toBe(0);
  await store.close();
}

describe('deliveries in state', () => {
  test('They move to their own environment, with the mark of the journal and the number of ended rows', async () => {
    const before = await older();
    const usable = await ensure(before.dataDir);
    expect(usable.kind === 'ok' && usable.notices.map(({ code }) => code)).toEqual(['migrated']);
    await expectMoved(before);
  });

  test.each([1, 700, ROWS])('A start that is killed at row %i is completed by the next one', async (row) => {
    const before = await older();
    const killed = spawnSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { RowCounters } from '${DIST}state/row-counters.js';
       import { migrateEnvironment } from '${DIST}state/migrate.js';
       let rows = 0;
       const add = RowCounters.prototype.add;
       RowCounters.prototype.add = function (...given) {
         rows += given[2];
         const done = add.apply(this, given);
         if (2 * rows >= ${row}) process.kill(process.pid, 'SIGKILL');
         return done;
       };
       await migrateEnvironment(${JSON.stringify(before.dataDir)}, 'state');`,
    ]);
    expect(killed.signal).toBe('SIGKILL');
    expect(existsSync(join(before.dataDir, 'deliveries', 'data.mdb'))).toBe(true);
    expect(await ensure(before.dataDir)).toMatchObject({ kind: 'ok' });
    await expectMoved(before);
  });

  test('Those of a backup of an older build are kept when it replaces a damaged state', async () => {
    const before = await older(true);
    rmSync(join(before.dataDir, 'state', 'data.mdb'));
    const usable = await ensure(before.dataDir);
    expect(usable.kind === 'ok' && usable.notices.map(({ code }) => code)).toEqual(['state_restored']);
    await expectMoved(before);
  });
});
