import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { COUNTER_WINDOWS, type EventCounter, type HistoryEvent } from '../../../src/risk/history.ts';
import { World } from './events.ts';

const HOUR_MS = 3_600_000;
const WINDOWS_MS = {
  '10m': HOUR_MS / 6,
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
  '30d': 720 * HOUR_MS,
};

function counter(fields: Partial<EventCounter> = {}): EventCounter {
  const subject = 'anna';
  return { id: 1, kind: 'count', window: '1h', subject, counts: true, member: '', value: 0, ...fields };
}

/** Returns the value of the counter after the event. */
function see(world: World, fields: Partial<EventCounter>, others: Partial<HistoryEvent> = {}): number | undefined {
  return world.see({ counters: [counter(fields)], ...others }).counters.get(fields.id ?? 1);
}

describe("counters of the customer's own", () => {
  test('A count includes the event, is exact up to 20, and close beyond', () => {
    const world = new World();
    for (let n = 1; n <= 20; n++) expect(see(world, {})).toBe(n);
    for (let n = 21; n <= 200; n++) see(world, {});
    expect(see(world, {})).toBeGreaterThan(190);
    expect(see(world, {})).toBeLessThan(210);
  });

  test('A sum adds to a thousandth, negative numbers too, and stays finite', () => {
    const world = new World();
    const add = (value: number): number | undefined => see(world, { kind: 'sum', value });
    expect([add(0.1), add(0.2), add(1_999_999.99), add(-0.29), add(0)]).toEqual([
      0.1, 0.3, 2_000_000.29, 2_000_000, 2_000_000,
    ]);
    expect(Number.isFinite(add(1e300))).toBe(true);
    expect(Number.isFinite(add(-1e300))).toBe(true);
  });

  test('A distinct number counts each member once, exactly up to 30', () => {
    const world = new World();
    for (let n = 1; n <= 30; n++) expect(see(world, { kind: 'distinct', member: `card-${n}` })).toBe(n);
    expect(see(world, { kind: 'distinct', member: 'card-1' })).toBe(30);
    for (let n = 31; n <= 200; n++) see(world, { kind: 'distinct', member: `card-${n}` });
    const many = see(world, { kind: 'distinct', member: 'card-1' }) ?? 0;
    expect(many / 200).toBeGreaterThan(0.8);
    expect(many / 200).toBeLessThan(1.2);
  });

  test.each(COUNTER_WINDOWS)('What is older than %s no longer counts, whatever its kind', (window) => {
    for (const kind of ['count', 'sum', 'distinct'] as const) {
      const world = new World();
      see(world, { kind, window, value: 5, member: 'a' });
      world.wait(WINDOWS_MS[window] * 0.9);
      const both = { count: 2, sum: 10, distinct: 2 }[kind];
      expect(see(world, { kind, window, value: 5, member: 'b' })).toBe(both);
      world.wait(WINDOWS_MS[window] * 0.2);
      expect(see(world, { kind, window, value: 5, member: 'c' })).toBe(both);
      world.wait(WINDOWS_MS[window] * 1.1);
      expect(see(world, { kind, window, counts: false })).toBe(0);
    }
  });

  test('A sum weights the oldest fourteenth of its window by the part of it that is inside', () => {
    const partMs = WINDOWS_MS['24h'] / 14;
    const world = new World();
    const left = (): number | undefined => see(world, { kind: 'sum', window: '24h', counts: false });
    see(world, { kind: 'sum', window: '24h', value: 100 });
    world.wait(WINDOWS_MS['24h'] + partMs / 4);
    expect(left()).toBeCloseTo(75, 1);
    world.wait(partMs / 2);
    expect(left()).toBeCloseTo(25, 1);
    world.wait(partMs / 4);
    expect(left()).toBe(0);
  });

  test('An event that does not count only reads', () => {
    for (const kind of ['count', 'sum', 'distinct'] as const) {
      const world = new World();
      expect(see(world, { kind, counts: false })).toBe(0);
      see(world, { kind, value: 7, member: 'a' });
      const known = { count: 1, sum: 7, distinct: 1 }[kind];
      expect([see(world, { kind, counts: false }), see(world, { kind, counts: false })]).toEqual([known, known]);
    }
  });

  test('Subjects, declarations, customers and kinds of key are counted apart', () => {
    const world = new World();
    see(world, {});
    expect(see(world, { subject: 'bert' })).toBe(1);
    expect(see(world, { id: 2 })).toBe(1);
    expect(see(world, {}, { customer: 8 as CustomerNumber })).toBe(1);
    expect(see(world, {}, { publicKey: true })).toBe(1);
    expect(see(world, {})).toBe(2);
  });
});
