import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { testCustomerOf } from '../../../src/kernel/test-customers.ts';
import type { HistoryEvent } from '../../../src/risk/history.ts';
import { HEAD_OWNERS } from '../../../src/velocity/layout.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { ownerOf } from '../../../src/velocity/shares.ts';
import { SnapshotWriter } from '../../../src/velocity/snapshot-writer.ts';
import { loadSnapshot } from '../../../src/velocity/snapshot.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { HASH_KEY, networksOf, SECOND, World } from './events.ts';

const TABLE_BYTES = 4 * 2 ** 20;
/** A few times the capacity of the table. */
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

/** The history of each person, without the trace, which depends on the location of the records and is one buffer for all events. */
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
  ])('A flood of new requests by %s changes no count of others', (_who, by) => {
    const world = quietWorld();
    flood(world, by);
    expect(visitAll(world)).toEqual(expected);
  });

  test('A flood by public keys of a dozen customers at once changes no count of others', () => {
    const world = quietWorld();
    for (let n = 0; n < FLOOD_REQUESTS; n++) {
      world.velocity.observe([world.event(stranger(caller(20 + (n % 12), true), n))]);
    }
    expect(visitAll(world)).toEqual(expected);
  });

  test('Test keys of all customers keep a twentieth of a full table, and change no count of live keys', () => {
    const world = quietWorld();
    flood(world, caller(10));
    for (let n = 0; n < 2 * FLOOD_REQUESTS; n++) {
      const by = { customer: testCustomerOf(caller(7 + (n % 3)).customer), publicKey: n % 2 === 0 };
      world.velocity.observe([world.event(stranger(by, 100_000 + n))]);
    }
    const words = new Uint32Array(world.memory.words);
    const used = [false, true].map(
      (isPublic) => words[HEAD_OWNERS + ownerOf(testCustomerOf(caller(7).customer), isPublic)],
    );
    const share = ((used[0] ?? 0) + (used[1] ?? 0)) / readVelocityStats(world.memory).capacity;
    expect(share).toBeGreaterThan(0.03);
    expect(share).toBeLessThan(0.052);
    expect(visitAll(world)).toEqual(expected);
  });

  test('A flood with a restart in the middle changes no count of others', async () => {
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

  test('Public keys take a quarter of a full table from its large customer, and almost nothing from the others', () => {
    const world = fullWorld();
    const expected = visitAll(quietWorld());
    flood(world, caller(12, true));
    const { capacity, publicUsed, refused } = readVelocityStats(world.memory);
    expect(publicUsed / capacity).toBeGreaterThan(0.2);
    expect(publicUsed / capacity).toBeLessThan(0.27);
    // Each request creates 7 records, and some for crowds, whose number does not depend on the size of the table.
    expect(refused / (FLOOD_REQUESTS * 7)).toBeLessThan(0.15);
    // In a full table a group may contain only records of small customers: one record of a few thousand is evicted.
    const same = visitAll(world).filter((told, n) => isDeepStrictEqual(told, expected[n]));
    expect(same.length / expected.length).toBeGreaterThan(0.98);
  });

  test("A small customer's new records replace those of the large one", () => {
    const world = fullWorld();
    const by = caller(13);
    for (let n = 0; n < PEOPLE; n++) world.see(person(by, n));
    flood(world, caller(11), 750);
    for (let n = 0; n < PEOPLE; n++) expect(world.see(person(by, n)).session.isFirstEvent).toBe(false);
  });

  test('Two customers that need the whole table get half each', () => {
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
    // In groups that contain only records of small customers.
    expect(refused).toBeLessThan(100);
  });
});
