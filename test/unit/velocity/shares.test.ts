import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CustomerNumber } from '../../../src/base/brand.ts';
import type { HistoryEvent } from '../../../src/core/history.ts';
import { HEAD_OWNERS } from '../../../src/velocity/layout.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { ownerOf } from '../../../src/velocity/shares.ts';
import { SnapshotWriter } from '../../../src/velocity/snapshot-writer.ts';
import { loadSnapshot } from '../../../src/velocity/snapshot.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { HASH_KEY, networksOf, SECOND, World } from './events.ts';

const TABLE_BYTES = 4 * 2 ** 20;
/** A few times what the table holds. */
const FLOOD_REQUESTS = 6_500;
const PEOPLE = 75;

interface Caller {
  readonly customer: CustomerNumber;
  readonly publicKey: boolean;
}

function caller(customer: number, publicKey = false): Caller {
  return { customer: customer as CustomerNumber, publicKey };
}

const HONEST = [caller(7), caller(8), caller(8, true), caller(9)];

function person(by: Caller, n: number): Partial<HistoryEvent> {
  return {
    ...by,
    eventType: 'login',
    sessionId: `s${n}`,
    entities: [
      { name: 'user_id', value: `u${n}` },
      { name: 'email', value: `e${n}@shop.example` },
    ],
    networks: networksOf(`81.2.${n >> 8}.${n & 255}`),
    device: `d${n}`,
  };
}

/** Everything is new in each request: a session, an address, a device and four entities. */
function stranger(by: Caller, n: number): Partial<HistoryEvent> {
  return {
    ...by,
    eventType: 'login',
    sessionId: `x${n}`,
    entities: Array.from({ length: 4 }, (_, at) => ({ name: `key${at}`, value: `x${n}` })),
    networks: networksOf(`82.${n >> 16}.${(n >> 8) & 255}.${n & 255}`),
    device: `x${n}`,
  };
}

/** What is told of each person. Not the trace, which says where it is remembered, and is one piece of memory for all events. */
function visitAll(world: World): unknown[] {
  return HONEST.flatMap((by) =>
    Array.from({ length: PEOPLE }, (_, n) => {
      const { trace: _trace, ...told } = world.see(person(by, n));
      return told;
    }),
  );
}

function flood(world: World, by: Caller, requests = FLOOD_REQUESTS): void {
  for (let n = 0; n < requests; n++) world.velocity.observe([world.event(stranger(by, n))]);
}

function quietWorld(): World {
  const world = new World(TABLE_BYTES);
  visitAll(world);
  return world.wait(SECOND);
}

describe('a flood of requests that are all new', () => {
  const expected = visitAll(quietWorld());

  test.each([
    ['a public key of another customer', caller(10, true)],
    ['a public key of the same customer', caller(7, true)],
    ['the secret key of another customer', caller(10)],
  ])('by %s changes no count of others', (_who, by) => {
    const world = quietWorld();
    flood(world, by);
    expect(visitAll(world)).toEqual(expected);
  });

  test('by public keys of a dozen customers at once changes no count of others', () => {
    const world = quietWorld();
    for (let n = 0; n < FLOOD_REQUESTS; n++) {
      world.velocity.observe([world.event(stranger(caller(20 + (n % 12), true), n))]);
    }
    expect(visitAll(world)).toEqual(expected);
  });

  test('after a restart in its middle changes no count of others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'velocity-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const by = caller(10, true);
    const world = quietWorld();
    flood(world, by);
    await new SnapshotWriter(folder, world.memory).save(world.nowMs);
    const memory = createVelocityMemory(TABLE_BYTES, HASH_KEY);
    expect(loadSnapshot(folder, memory, world.nowMs)).toMatchObject({ kind: 'loaded' });
    expect(readVelocityStats(memory).publicUsed).toBeGreaterThan(0.9 * readVelocityStats(world.memory).publicUsed);
    const again = new World(0, memory);
    again.nowMs = world.nowMs;
    for (let n = 0; n < FLOOD_REQUESTS; n++) again.velocity.observe([again.event(stranger(by, FLOOD_REQUESTS + n))]);
    expect(visitAll(again)).toEqual(expected);
  });
});

describe('in a table that a large customer has filled', () => {
  function fullWorld(): World {
    const world = quietWorld();
    flood(world, caller(11), 6_250);
    expect(readVelocityStats(world.memory).used).toBeGreaterThan(0.99 * readVelocityStats(world.memory).capacity);
    return world;
  }

  test('public keys take a quarter of it from that customer, and next to nothing from the others', () => {
    const world = fullWorld();
    const expected = visitAll(quietWorld());
    flood(world, caller(12, true));
    const { capacity, publicUsed, refused } = readVelocityStats(world.memory);
    expect(publicUsed / capacity).toBeGreaterThan(0.2);
    expect(publicUsed / capacity).toBeLessThan(0.27);
    // Of 7 records a request, and some of crowds, which are the same for a table of any size.
    expect(refused / (FLOOD_REQUESTS * 7)).toBeLessThan(0.15);
    // In a full table a group may hold records of small customers alone: one record of a few thousand gives way.
    const same = visitAll(world).filter((told, n) => isDeepStrictEqual(told, expected[n]));
    expect(same.length / expected.length).toBeGreaterThan(0.98);
  });

  test('a small customer’s new records take the place of the large one’s', () => {
    const world = fullWorld();
    const by = caller(13);
    for (let n = 0; n < PEOPLE; n++) world.see(person(by, n));
    flood(world, caller(11), 750);
    for (let n = 0; n < PEOPLE; n++) expect(world.see(person(by, n)).session.isFirstEvent).toBe(false);
  });

  test('two customers who want all of it get half each', () => {
    const world = fullWorld();
    for (let n = 0; n < 10_000; n++) {
      world.velocity.observe([world.event(stranger(caller(14 - (n % 2) * 3), 12_500 + n))]);
    }
    const { capacity, refused } = readVelocityStats(world.memory);
    const words = new Uint32Array(world.memory.words);
    for (const { customer } of [caller(11), caller(14)]) {
      const used = words[HEAD_OWNERS + ownerOf(customer, false)] ?? 0;
      expect(Math.abs(used / capacity - 0.5)).toBeLessThan(0.05);
    }
    // Where only small customers have records.
    expect(refused).toBeLessThan(100);
  });
});
