import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/base/brand.ts';
import type { Delivery, DeliveryId, WebhookId } from '../../../src/core/webhook.ts';
import { newRow } from '../../../src/deliver/due.ts';
import { RowWriter } from '../../../src/deliver/row-writer.ts';
import { DELIVERIES_WAITING_MAX } from '../../../src/limits.ts';
import type { StoreWrite } from '../../../src/store/durable.ts';

let failures: number;
let inserts: { readonly ids: readonly string[]; readonly mark: number }[];
let stored: string[];
let faults: number;
let writer: RowWriter;

beforeEach(() => {
  vi.useFakeTimers();
  [failures, inserts, stored, faults] = [0, [], [], 0];
  writer = new RowWriter(
    {
      insert(rows, mark): Promise<StoreWrite<null>> {
        inserts.push({ ids: rows.map(({ id }) => id), mark });
        if (failures === 0) return Promise.resolve({ kind: 'ok', value: null });
        failures--;
        return Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'no' });
      },
      onStored: (rows) => void stored.push(...rows.map(({ id }) => id)),
      onFault: () => faults++,
    },
    5,
  );
});
afterEach(() => void vi.useRealTimers());

function rows(...ids: readonly string[]): Delivery[] {
  const customer = 7 as CustomerNumber;
  const due = { customer, requestId: 'req_1', event: 'BLOCK', createdAtMs: 0, body: Buffer.alloc(2) } as const;
  const webhook = { id: 'wh_1' as WebhookId, url: 'https://receiver.test/' };
  return ids.map((id) => newRow(due, id as DeliveryId, webhook, 'decision'));
}

test('all rows of a turn go into one write, with the newest sequence', async () => {
  writer.add(rows('a', 'b'), 6);
  writer.add(rows('c'), 7);
  expect(inserts).toEqual([]);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(inserts).toEqual([{ ids: ['a', 'b', 'c'], mark: 7 }]);
  expect(stored).toEqual(['a', 'b', 'c']);
});

test('rows that the store refused come again before newer ones, and the mark never passes them by', async () => {
  failures = 2;
  writer.add(rows('a'), 6);
  await vi.advanceTimersByTimeAsync(500);
  writer.add(rows('b'), 7);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(faults).toBe(2);
  expect(inserts.map(({ ids }) => ids[0])).toEqual(['a', 'a', 'a']);
  expect(stored).toEqual(['a', 'b']);
  expect(inserts.at(-1)?.mark).toBe(7);
});

test('past its bound rows are left to the journal, whose mark stands still from then on', async () => {
  failures = 1;
  const many = rows(...Array.from({ length: DELIVERIES_WAITING_MAX }, (_none, at) => `d${at}`));
  expect(writer.add(many, 6)).toBe(true);
  expect(writer.add(rows('too many'), 7)).toBe(false);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(writer.add(rows('later'), 8)).toBe(true);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(writer.deferred).toBe(1);
  expect(stored).toHaveLength(DELIVERIES_WAITING_MAX + 1);
  // Entry 7 has no row: a start must read on behind what was stored before it.
  expect(Math.max(...inserts.map(({ mark }) => mark))).toBe(5);
});
