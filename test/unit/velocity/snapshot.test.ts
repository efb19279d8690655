import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../../src/risk/history.ts';
import { createVelocityMemory, type VelocityMemory } from '../../../src/velocity/memory.ts';
import { SnapshotWriter } from '../../../src/velocity/snapshot-writer.ts';
import { loadSnapshot, SNAPSHOT_NAME, type SnapshotLoaded } from '../../../src/velocity/snapshot.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { DAY, HASH_KEY, HOUR, LISBON, networksOf, NOW_MS, SECOND, users, World } from './events.ts';

const MIB = 2 ** 20;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'velocity-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function visitor(n: number): Partial<HistoryEvent> {
  return {
    sessionId: `s${n}`,
    entities: users(`u${n}`),
    networks: networksOf(`81.${n & 255}.2.${n % 7}`),
    eventType: n % 2 === 0 ? 'login' : 'payment',
    device: `d${n % 50}`,
    ...(n % 3 === 0 ? { place: LISBON, country: 'PT' } : {}),
  };
}

function busyWorld(): World {
  const world = new World(4 * MIB);
  for (let n = 0; n < 2_000; n++) world.wait(SECOND).see(visitor(n % 500));
  return world;
}

/** The histories that a velocity store returns for the same visitors afterwards. */
function sayOf(world: World): unknown[] {
  return Array.from({ length: 500 }, (_, n) => world.wait(SECOND / 10).see(visitor(n)));
}

function load(memory: VelocityMemory, nowMs: number): SnapshotLoaded {
  return loadSnapshot(folder, memory, nowMs);
}

async function saved(world: World): Promise<void> {
  expect(await new SnapshotWriter(folder, world.memory).save(world.nowMs)).toMatchObject({ kind: 'saved' });
}

function usedOf(memory: VelocityMemory): number {
  return readVelocityStats(memory).used;
}

describe('a snapshot', () => {
  test('A snapshot that does not exist is reported as absent', () => {
    expect(load(createVelocityMemory(MIB, HASH_KEY), NOW_MS)).toEqual({ kind: 'absent' });
  });

  test.each([4, 2, 16])('A snapshot restores everything known, from a table of 4 MiB into one of %i', async (mib) => {
    const world = busyWorld();
    await saved(world);
    const memory = createVelocityMemory(mib * MIB, HASH_KEY);
    const used = usedOf(world.memory);
    expect(load(memory, world.nowMs + 5 * SECOND)).toEqual({
      kind: 'loaded',
      records: used,
      skipped: 0,
      ageSeconds: 5,
    });
    expect(usedOf(memory)).toBe(used);
    const again = new World(0, memory);
    again.nowMs = world.nowMs;
    expect(sayOf(again)).toEqual(sayOf(world));
  });

  test('A snapshot loaded into a smaller table keeps the newest records', async () => {
    const world = busyWorld();
    await saved(world);
    const memory = createVelocityMemory(MIB / 8, HASH_KEY);
    const loaded = load(memory, world.nowMs);
    expect(loaded).toMatchObject({ kind: 'loaded' });
    const { capacity, used } = readVelocityStats(memory);
    expect(used).toBeLessThanOrEqual(capacity);
    expect(used).toBeGreaterThan(capacity * 0.9);
    const again = new World(0, memory);
    again.nowMs = world.nowMs;
    expect(again.see({ ...visitor(499), entities: [], device: null }).session.isFirstEvent).toBe(false);
  });

  test('A snapshot excludes records that were not seen for 30 days', async () => {
    const world = busyWorld();
    await saved(world);
    const memory = createVelocityMemory(4 * MIB, HASH_KEY);
    expect(load(memory, world.nowMs + 31 * DAY)).toMatchObject({
      kind: 'loaded',
      records: 0,
      skipped: usedOf(world.memory),
    });
    expect(usedOf(memory)).toBe(0);
  });

  test('A snapshot of an empty table is valid', async () => {
    await saved(new World());
    expect(load(createVelocityMemory(MIB, HASH_KEY), NOW_MS + HOUR)).toMatchObject({ kind: 'loaded', records: 0 });
  });

  test('A snapshot that was made with another hash key is quarantined', async () => {
    const world = busyWorld();
    await saved(world);
    const memory = createVelocityMemory(4 * MIB, Buffer.from('another key 1234'));
    const loaded = load(memory, NOW_MS);
    expect(loaded).toMatchObject({ kind: 'set_aside', detail: 'it was made with another hash key' });
    expect(readdirSync(folder)).toEqual([`${SNAPSHOT_NAME}.damaged-2026-11-21T12-00-00-000Z`]);
    expect(load(memory, NOW_MS)).toEqual({ kind: 'absent' });
  });

  test('A snapshot corrupt or truncated anywhere is quarantined, leaves the table empty, and three of them are kept', async () => {
    const world = busyWorld();
    await saved(world);
    const file = join(folder, SNAPSHOT_NAME);
    const good = join(folder, 'good');
    copyFileSync(file, good);
    const bytes = readFileSync(good);
    const memory = createVelocityMemory(4 * MIB, HASH_KEY);
    const damages: (readonly [string, Buffer])[] = [
      ['empty', Buffer.alloc(0)],
      ['longer', Buffer.concat([bytes, Buffer.from([0])])],
      ['foreign', Buffer.from('something else entirely, and long enough for a head')],
      ['another format', Buffer.concat([bytes.subarray(0, 4), Buffer.from([9]), bytes.subarray(5)])],
    ];
    let seed = 20_261_121;
    const random = (below: number): number => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) % below;
    for (let n = 0; n < 60; n++) {
      const at = n < 20 ? n * 2 : random(bytes.length);
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random(8));
      damages.push([`flipped at ${at}`, flipped], [`cut at ${at}`, bytes.subarray(0, at)]);
    }
    damages.forEach(([name, damaged], n) => {
      writeFileSync(file, damaged);
      expect([name, load(memory, NOW_MS + n).kind]).toEqual([name, 'set_aside']);
      expect([name, usedOf(memory)]).toEqual([name, 0]);
    });
    expect(readdirSync(folder).filter((name) => name.includes('.damaged-'))).toHaveLength(3);
    copyFileSync(good, file);
    expect(load(memory, world.nowMs)).toMatchObject({ kind: 'loaded', records: usedOf(world.memory) });
  });

  test('A snapshot that cannot be written or read is reported and does not throw', async () => {
    const notAFolder = join(folder, 'file');
    writeFileSync(notAFolder, '');
    const world = new World();
    expect(await new SnapshotWriter(notAFolder, world.memory).save(NOW_MS)).toMatchObject({ kind: 'failed' });
    expect(loadSnapshot(notAFolder, world.memory, NOW_MS)).toMatchObject({ kind: 'failed' });
  });

  test('A snapshot saved twice at once is complete, and contains the events before the later call', async () => {
    const world = busyWorld();
    const writer = new SnapshotWriter(folder, world.memory);
    const first = writer.save(world.nowMs);
    await Promise.resolve();
    world.see({ sessionId: 'late' });
    const results = await Promise.all([first, writer.save(world.nowMs), writer.save(world.nowMs)]);
    expect(results.map(({ kind }) => kind)).toEqual(['saved', 'saved', 'saved']);
    const memory = createVelocityMemory(4 * MIB, HASH_KEY);
    expect(load(memory, world.nowMs)).toMatchObject({ kind: 'loaded', records: usedOf(world.memory) });
    expect(readdirSync(folder)).toEqual([SNAPSHOT_NAME]);
  });

  test('A snapshot taken during writes is complete, and contains everything known before', async () => {
    const world = busyWorld();
    const known = usedOf(world.memory);
    const progress = { isDone: false };
    const saving = new SnapshotWriter(folder, world.memory).save(world.nowMs).finally(() => (progress.isDone = true));
    for (let n = 0; !progress.isDone; n++) {
      for (let i = 0; i < 50; i++) world.see(visitor((n + i) % 500));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await saving).toMatchObject({ kind: 'saved' });
    const memory = createVelocityMemory(4 * MIB, HASH_KEY);
    const loaded = load(memory, world.nowMs);
    expect(loaded.kind === 'loaded' && loaded.records).toBeGreaterThanOrEqual(known);
  });
});
