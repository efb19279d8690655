import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { HistoryEvent } from '../../../src/risk/history.ts';
import { event, World } from './events.ts';

function order(value: number, fields: Partial<HistoryEvent> = {}): HistoryEvent {
  return event({ eventType: 'payment', amount: { value, currency: 'EUR' }, ...fields });
}

describe('amounts of orders', () => {
  test('The usual amount is the median of the earlier ones, within a fifth', () => {
    const world = new World();
    expect(world.see(order(80))?.amounts).toEqual({ value: 80, usual: 0, known: 0 });
    for (const value of [20, 60, 80, 95, 400, 9_000]) world.see(order(value));
    const { usual = 0, known } = world.see(order(100))?.amounts ?? {};
    expect(known).toBe(7);
    expect(usual / 80).toBeGreaterThan(0.8);
    expect(usual / 80).toBeLessThan(1.2);
  });

  test('Currencies, event types, customers and kinds of key have a median of their own', () => {
    const world = new World();
    for (let n = 0; n < 5; n++) world.see(order(50));
    const others: readonly Partial<HistoryEvent>[] = [
      { amount: { value: 50, currency: 'JPY' } },
      { eventType: 'checkout' },
      { customer: 8 as CustomerNumber },
      { publicKey: true },
    ];
    for (const fields of others) expect(world.see(order(50, fields))?.amounts?.known).toBe(0);
    expect(world.see(event({ eventType: 'payment' }))?.amounts).toBeNull();
  });

  test('The usual amount follows the prices, and takes any amount', () => {
    const world = new World();
    for (let n = 0; n < 6_000; n++) world.see(order(10));
    for (let n = 0; n < 6_000; n++) world.see(order(1_000));
    const { usual = 0, known = 0 } = world.see(order(1_000))?.amounts ?? {};
    expect(known).toBeLessThan(4_096);
    expect(usual / 1_000).toBeGreaterThan(0.8);
    expect(usual / 1_000).toBeLessThan(1.25);
    for (const value of [1e-300, 1e300]) expect(Number.isFinite(world.see(order(value))?.amounts?.usual)).toBe(true);
  });
});
