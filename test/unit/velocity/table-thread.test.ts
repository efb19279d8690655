import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { loadSnapshot, SNAPSHOT_NAME } from '../../../src/velocity/snapshot.ts';
import { openTableMaintenance } from '../../../src/velocity/table-thread.ts';
import { HASH_KEY, NOW_MS, users, World } from './events.ts';

const MIB = 2 ** 20;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'velocity-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['in turns of the calling thread', 4 * MIB],
  ['in a thread', 64 * MIB],
])('With upkeep %s, the last snapshot waits for no order that is still running', async (_where, bytes) => {
  const world = new World(bytes);
  for (let n = 0; n < 100; n++) world.see({ entities: users(`u${n}`) });
  const table = openTableMaintenance(folder, world.memory);
  // The background thread gives way to all other processes, so that any of these may take seconds.
  const touched = table.touch();
  const earlier = table.save(world.nowMs);
  const saved = await table.finish(world.nowMs);
  expect(saved).toMatchObject({ kind: 'saved' });
  await touched;
  await earlier;
  expect(readdirSync(folder)).toEqual([SNAPSHOT_NAME]);
  const loaded = loadSnapshot(folder, createVelocityMemory(bytes, HASH_KEY), NOW_MS);
  expect(loaded).toMatchObject({ kind: 'loaded', records: saved.kind === 'saved' ? saved.records : -1 });
});

test('An order after the end starts no thread', async () => {
  const table = openTableMaintenance(folder, createVelocityMemory(64 * MIB, HASH_KEY));
  await table.finish(NOW_MS);
  expect(await table.save(NOW_MS)).toEqual({ kind: 'failed', detail: 'the service stops' });
});
