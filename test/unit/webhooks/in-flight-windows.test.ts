import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { DeliveryId } from '../../../src/work/webhook.ts';
import { InFlightWindows, type EndpointWindow, type HandedOut } from '../../../src/webhooks/in-flight-windows.ts';
import {
  DELIVERIES_HELD_MAX,
  DELIVERIES_HELD_PER_ENDPOINT_MAX,
  DELIVERIES_HELD_TROUBLED_MAX,
} from '../../../src/kernel/delivery-limits.ts';

function handedOut(id: string): HandedOut {
  const rest = { trigger: 'decision', requestId: 'req_1', createdAtMs: 0, attempts: 0 } as const;
  return { customer: 7 as CustomerNumber, id: id as DeliveryId, ...rest };
}

function fill(windows: InFlightWindows, window: EndpointWindow, count: number): void {
  for (let at = 0; at < count; at++) windows.take(window, handedOut(`${window.id}/${at}`));
}

describe('windows', () => {
  test('A single endpoint has its maximum of slots, which are released as deliveries end', () => {
    const windows = new InFlightWindows();
    const window = windows.of('a', false);
    expect(windows.room(window)).toBe(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    fill(windows, window, DELIVERIES_HELD_PER_ENDPOINT_MAX);
    expect(windows.room(window)).toBe(0);
    windows.finish(window, 'a/0');
    windows.finish(window, 'a/0');
    windows.finish(window, 'never handed out');
    expect(windows.room(window)).toBe(1);
    expect(windows.held).toBe(DELIVERIES_HELD_PER_ENDPOINT_MAX - 1);
  });

  test('An endpoint with its full share leaves the queue and returns when half of its deliveries have ended', () => {
    const windows = new InFlightWindows();
    const window = windows.of('a', false);
    fill(windows, window, DELIVERIES_HELD_PER_ENDPOINT_MAX);
    windows.line(window);
    expect(windows.next()).toBeNull();
    for (let at = 0; at < DELIVERIES_HELD_PER_ENDPOINT_MAX / 2 - 1; at++) windows.finish(window, `a/${at}`);
    expect(windows.next()).toBeNull();
    windows.finish(window, `a/${DELIVERIES_HELD_PER_ENDPOINT_MAX / 2 - 1}`);
    expect(windows.next()).toBe(window);
  });

  test('With many endpoints, each one gets an equal share of the total', () => {
    const windows = new InFlightWindows();
    const all = Array.from({ length: 10_000 }, (_none, at) => windows.of(`e${at}`, false));
    for (const window of all) windows.line(window);
    for (let window = windows.next(); window !== null; window = windows.next()) {
      fill(windows, window, windows.room(window));
      windows.line(window);
    }
    expect(windows.held).toBe(DELIVERIES_HELD_MAX);
    expect(new Set(all.map(({ held }) => held.size))).toEqual(new Set([DELIVERIES_HELD_MAX / 10_000]));
  });

  test('Failing endpoints never get all slots, and healthy ones are served first', () => {
    const windows = new InFlightWindows();
    const count = DELIVERIES_HELD_MAX / DELIVERIES_HELD_PER_ENDPOINT_MAX;
    for (let at = 0; at < count; at++) {
      const window = windows.of(`dead${at}`, true);
      fill(windows, window, windows.room(window));
      windows.line(window);
    }
    expect(windows.held).toBe(DELIVERIES_HELD_TROUBLED_MAX);
    const healthy = windows.of('healthy', false);
    expect(windows.room(healthy)).toBeGreaterThan(50);
    windows.line(healthy);
    expect(windows.next()).toBe(healthy);
    expect(windows.next()).toBeNull();
  });

  test('An endpoint that changes between failing and healthy keeps the counts consistent', () => {
    const windows = new InFlightWindows();
    const window = windows.of('a', false);
    fill(windows, window, 10);
    windows.line(window);
    windows.learn(window, true);
    windows.learn(window, false);
    windows.learn(window, true);
    expect(windows.next()).toBe(window);
    for (let at = 0; at < 10; at++) windows.finish(window, `a/${at}`);
    windows.drained(window);
    expect(windows.held).toBe(0);
    expect(windows.find('a')).toBeUndefined();
  });

  test('Deliveries held by a dead worker are queued again', () => {
    const windows = new InFlightWindows();
    const [a, b] = [windows.of('a', false), windows.of('b', true)];
    fill(windows, a, 5);
    fill(windows, b, 5);
    windows.loseAll();
    expect(windows.held).toBe(0);
    expect([windows.next(), windows.next(), windows.next()]).toEqual([a, b, null]);
  });
});
