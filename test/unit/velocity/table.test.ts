import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { KIND_ENTITY, KIND_SESSION, HEAD_WORDS, SEEN_MIN } from '../../../src/velocity/layout.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { Table } from '../../../src/velocity/table.ts';
import { leastCpuMs } from '../../support/cpu-time.ts';
import { HASH_KEY, NOW_MS } from './events.ts';

const NOW = NOW_MS / 1_000;
const DAY = 86_400;
const ONE_GROUP = 1_088 + 960;

function tableOf(bytes: number): { table: Table; stats: () => ReturnType<typeof readVelocityStats> } {
  const memory = createVelocityMemory(bytes, HASH_KEY);
  return { table: new Table(memory), stats: () => readVelocityStats(memory) };
}

describe('the table', () => {
  test('The table stays within its bytes, and a size without room for a record is rejected', () => {
    for (const bytes of [ONE_GROUP, 5_000, 1_000_000]) {
      expect(createVelocityMemory(bytes, HASH_KEY).words.byteLength).toBeLessThanOrEqual(bytes);
    }
    expect(() => createVelocityMemory(ONE_GROUP - 1, HASH_KEY)).toThrow(RangeError);
    expect(() => createVelocityMemory(ONE_GROUP, HASH_KEY.subarray(1))).toThrow(RangeError);
  });

  test('The table finds the records it created, by key and kind', () => {
    const { table, stats } = tableOf(1e6);
    const record = table.take(1, 2, KIND_SESSION, NOW);
    expect(table.isNew).toBe(true);
    expect(table.find(1, 2, KIND_SESSION, NOW)).toBe(record);
    expect(table.find(1, 2, KIND_ENTITY, NOW)).toBe(0);
    expect(table.find(2, 2, KIND_SESSION, NOW)).toBe(0);
    expect(table.find(1, 3, KIND_SESSION, NOW)).toBe(0);
    expect(table.take(1, 2, KIND_SESSION, NOW + 5)).toBe(record);
    expect([table.isNew, table.restSeconds]).toEqual([false, 5]);
    expect(stats()).toMatchObject({ used: 1, made: 1, evicted: 0, lost: 0 });
  });

  test('The table forgets records after 30 days', () => {
    const { table } = tableOf(1e6);
    table.take(1, 2, KIND_ENTITY, NOW);
    expect(table.find(1, 2, KIND_ENTITY, NOW + 30 * DAY)).not.toBe(0);
    expect(table.find(1, 2, KIND_ENTITY, NOW + 60 * DAY + 1)).toBe(0);
    table.take(1, 2, KIND_ENTITY, NOW + 60 * DAY + 1);
    expect(table.isNew).toBe(true);
  });

  test('The table evicts the least recently seen record, and counts evicted records that still counted', () => {
    const { table, stats } = tableOf(ONE_GROUP);
    for (let n = 0; n < 7; n++) table.take(n, 0, KIND_ENTITY, NOW + n);
    table.find(0, 0, KIND_ENTITY, NOW + 10);
    table.take(7, 0, KIND_ENTITY, NOW + 11);
    expect(stats()).toMatchObject({ used: 7, capacity: 7, evicted: 1 });
    expect(table.find(1, 0, KIND_ENTITY, NOW + 11)).toBe(0);
    expect(table.find(0, 0, KIND_ENTITY, NOW + 11)).not.toBe(0);
  });

  test('The table evicts expired records before older ones that still count', () => {
    const { table, stats } = tableOf(ONE_GROUP);
    for (let n = 0; n < 6; n++) table.take(n, 0, KIND_ENTITY, NOW);
    table.take(6, 0, KIND_SESSION, NOW + DAY);
    table.take(7, 0, KIND_ENTITY, NOW + 3 * DAY);
    expect(table.find(6, 0, KIND_SESSION, NOW + 3 * DAY)).toBe(0);
    expect(stats()).toMatchObject({ used: 7, evicted: 0 });
  });

  test('A record that replaces an evicted one is zeroed', () => {
    const { table } = tableOf(ONE_GROUP);
    for (let n = 0; n < 50; n++) {
      const record = table.take(n, n, KIND_ENTITY, NOW + n);
      const words = table.words.subarray(record, record + 32);
      expect([...words]).toEqual([n, ...Array.from({ length: 31 }, () => 0)]);
      words.fill(0xffffffff, 1);
    }
  });

  test('The table waits for a worker that died only until its slot is old, then reuses the slot', () => {
    const { table, stats } = tableOf(ONE_GROUP);
    const record = table.take(1, 2, KIND_ENTITY, NOW);
    const tagAt = [...table.words.keys()].find((at) => at >= HEAD_WORDS && table.words[at + 1] === NOW) ?? 0;
    // As a worker leaves it between claiming the slot and publishing the record.
    table.words[tagAt + 1] = (NOW & 0xffff) + 1;
    expect(table.words[tagAt + 1]).toBeLessThan(SEEN_MIN);
    expect(table.find(1, 2, KIND_ENTITY, NOW + 5)).toBe(0);
    const ms = leastCpuMs(20, () => {
      for (let n = 0; n < 1_000; n++) table.find(1, 2, KIND_ENTITY, NOW + 11);
    });
    expect(ms).toBeLessThan(20);
    for (let n = 10; n < 17; n++) expect(table.take(n, 0, KIND_ENTITY, NOW + 11)).not.toBe(0);
    expect(table.find(16, 0, KIND_ENTITY, NOW + 11)).not.toBe(0);
    expect(stats()).toMatchObject({ used: 7, evicted: 0 });
    expect(record).toBeGreaterThan(0);
  });

  test('The table stores 1,000,000 keys within its configured size', () => {
    const bytes = 16 * 2 ** 20;
    const { table, stats } = tableOf(bytes);
    for (let n = 0; n < 1_000_000; n++) {
      table.take(Math.imul(n, 0x9e3779b1), Math.imul(n, 0x85ebca6b), KIND_ENTITY, NOW + Math.floor(n / 10_000));
    }
    const { used, capacity, made, evicted } = stats();
    expect(table.words.buffer.byteLength).toBeLessThanOrEqual(bytes);
    expect([used, made]).toEqual([capacity, 1_000_000]);
    expect(evicted).toBe(made - capacity);
  });

  test('The table is nearly full before it evicts anything', () => {
    const { table, stats } = tableOf(4 * 2 ** 20);
    const keys = Math.floor(stats().capacity * 0.7);
    let word = 1;
    const random = (): number => (word = (Math.imul(word, 1_664_525) + 1_013_904_223) | 0) ^ (word >>> 15);
    for (let n = 0; n < keys; n++) table.take(random(), random(), KIND_ENTITY, NOW);
    expect(stats().evicted / keys).toBeLessThan(0.005);
  });
});

describe('a worker that is interrupted just before its record is finished', () => {
  test('An interrupted worker releases its record if another one has created it meanwhile in a lower slot', () => {
    const memory = createVelocityMemory(1e6, HASH_KEY);
    const [slow, quick] = [new Table(memory), new Table(memory)];
    // A record is created first in the group of the key's low half. Here that group lies after the group of the high half, so the second
    // worker takes the lower slot.
    const low = 0xf000_0000;
    const high = 1;
    const { compareExchange } = Atomics;
    let made = 0;
    const spy = vi.spyOn(Atomics, 'compareExchange').mockImplementation(((
      words: Uint32Array,
      at: number,
      expected: number,
      value: number,
    ) => {
      // The step with which the first worker finishes its record.
      if (value === NOW && made === 0) {
        made = -1;
        made = quick.take(low, high, KIND_SESSION, NOW);
        expect(quick.isNew).toBe(true);
      }
      return compareExchange(words, at, expected, value);
    }) as typeof Atomics.compareExchange);
    onTestFinished(() => spy.mockRestore());
    const record = slow.take(low, high, KIND_SESSION, NOW);
    expect([record, slow.isNew]).toEqual([made, false]);
    expect(readVelocityStats(memory)).toMatchObject({ used: 1, made: 1, lost: 0 });
    expect(quick.find(low, high, KIND_SESSION, NOW)).toBe(made);
  });
});
