import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Delivery, DeliveryId, WebhookId } from '../../../src/work/webhook.ts';
import { newRow } from '../../../src/webhooks/due-delivery.ts';
import { type DueRows, RowWriter } from '../../../src/webhooks/row-writer.ts';
import { DELIVERIES_WAITING_MAX } from '../../../src/kernel/delivery-limits.ts';
import type { StoreWrite } from '../../../src/state/tables/durable.ts';

let failures: number;
let inserts: { readonly ids: readonly string[]; readonly mark: number }[];
let stored: string[];
let faults: number;
let writer: RowWriter;
/** Contents of the journal; entries up to `written` can be read. */
let journal: DueRows[];
let written: number;
let told: (number | 'behind')[];
let opened: number;
/** How often opening the journal fails, and the reported errors. */
let unreadable: number;
let unread: unknown[];

beforeEach(() => {
  vi.useFakeTimers();
  [failures, inserts, stored, faults] = [0, [], [], 0];
  [journal, written, told, opened] = [[], Infinity, [], 0];
  [unreadable, unread] = [0, []];
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
      gatherMs: 100,
      openBacklog(after) {
        if (unreadable > 0) {
          unreadable--;
          throw new Error('no descriptors');
        }
        opened++;
        let read = after;
        return {
          next: () => {
            const next = journal.filter(({ sequence }) => sequence > read && sequence <= written).slice(0, 2);
            read = next.at(-1)?.sequence ?? read;
            return next;
          },
          isWritten: (sequence) => sequence <= written,
          close: () => opened--,
        };
      },
      onBehind: () => told.push('behind'),
      onCaughtUp: (count) => told.push(count),
      onUnread: (error) => unread.push(error),
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

test('All rows of one turn of the event loop go into one write, with the newest sequence', async () => {
  writer.add(rows('a', 'b'), 6);
  writer.add(rows('c'), 7);
  expect(inserts).toEqual([]);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(inserts).toEqual([{ ids: ['a', 'b', 'c'], mark: 7 }]);
  expect(stored).toEqual(['a', 'b', 'c']);
});

test('Rows of one tenth of a second go into one write, unless somebody waits for them', async () => {
  writer.add(rows('a'), 6);
  await vi.advanceTimersByTimeAsync(60);
  writer.add(rows('b'), 7);
  expect(inserts).toEqual([]);
  await vi.advanceTimersByTimeAsync(60);
  expect(inserts).toEqual([{ ids: ['a', 'b'], mark: 7 }]);
  writer.add(rows('c'), 8);
  await vi.advanceTimersByTimeAsync(10);
  await writer.settled();
  expect(inserts.slice(1)).toEqual([{ ids: ['c'], mark: 8 }]);
  writer.add(rows('d'), 9);
  await vi.advanceTimersByTimeAsync(10);
  writer.add(rows('in no journal'), 0);
  await vi.advanceTimersByTimeAsync(1);
  expect(inserts.slice(2)).toEqual([{ ids: ['d', 'in no journal'], mark: 9 }]);
});

test('Rows that the store refused are written before newer ones, and the mark never passes them', async () => {
  failures = 2;
  writer.add(rows('a'), 6);
  await vi.advanceTimersByTimeAsync(500);
  expect(writer.lastFault).toMatchObject({ code: 'store_write_failed' });
  writer.add(rows('b'), 7);
  await vi.runAllTimersAsync();
  await writer.settled();
  expect(faults).toBe(2);
  expect(writer.lastFault).toBeNull();
  expect(inserts.map(({ ids }) => ids[0])).toEqual(['a', 'a', 'a']);
  expect(stored).toEqual(['a', 'b']);
  expect(inserts.at(-1)?.mark).toBe(7);
});

/** Adds an entry as the decide path does: to the journal, then to the writer. */
function owe(sequence: number, ...ids: readonly string[]): boolean {
  const due = { sequence, rows: rows(...ids) };
  journal.push(due);
  return writer.add(due.rows, sequence);
}

test('Entries beyond the memory limit are deferred to the journal and read from there in order once the others are written', async () => {
  const many = Array.from({ length: DELIVERIES_WAITING_MAX }, (_none, at) => `d${at}`);
  expect(owe(6, ...many)).toBe(true);
  expect(owe(7, 'e', 'f')).toBe(false);
  expect(writer.add(rows('in no journal'), 0)).toBe(false);
  expect([writer.isBehind, writer.waiting, writer.deferred]).toEqual([true, DELIVERIES_WAITING_MAX, 2]);
  await vi.advanceTimersByTimeAsync(0);
  // There is room again, but entry 7 must come first.
  expect(owe(8, 'g')).toBe(false);
  await vi.runAllTimersAsync();
  expect(stored).toEqual([...many, 'e', 'f', 'g']);
  expect([writer.isBehind, writer.waiting, opened]).toEqual([false, 0, 0]);
  expect(told).toEqual(['behind', 3]);
  expect(owe(9, 'h')).toBe(true);
  await vi.runAllTimersAsync();
  expect(stored.at(-1)).toBe('h');
  const marks = inserts.map(({ mark }) => mark);
  expect(marks).toEqual(marks.toSorted((a, b) => a - b));
  expect(inserts.at(-1)?.mark).toBe(9);
});

test('The writer waits for an entry that is staged but not written yet', async () => {
  written = 6;
  writer.resume(7);
  journal.push({ sequence: 6, rows: rows('a') }, { sequence: 7, rows: rows('b') });
  await vi.advanceTimersByTimeAsync(100);
  expect([stored, writer.isBehind]).toEqual([['a'], true]);
  written = 7;
  await vi.advanceTimersByTimeAsync(100);
  expect([stored, writer.isBehind, told]).toEqual([['a', 'b'], false, ['behind', 2]]);
});

test('Entries without remaining rows complete the reading of the journal like any others', async () => {
  writer.resume(8);
  journal.push({ sequence: 6, rows: [] }, { sequence: 7, rows: [] }, { sequence: 8, rows: [] });
  await vi.advanceTimersByTimeAsync(100);
  expect([stored, writer.isBehind, told]).toEqual([[], false, ['behind', 0]]);
  // The mark has passed them, so that the next start does not read them again.
  expect(inserts).toEqual([{ ids: [], mark: 8 }]);
  expect(owe(9, 'a')).toBe(true);
  await vi.advanceTimersByTimeAsync(100);
  expect(inserts.slice(1)).toEqual([{ ids: ['a'], mark: 9 }]);
});

test('A journal that cannot be read is retried, and no caller waits forever', async () => {
  unreadable = 2;
  writer.resume(6);
  journal.push({ sequence: 6, rows: rows('a') });
  await vi.advanceTimersByTimeAsync(500);
  expect([unread.length, stored, writer.isBehind]).toEqual([1, [], true]);
  await writer.settled();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([unread.length, stored, writer.isBehind]).toEqual([2, ['a'], false]);
});

test('A stop does not wait for a journal that cannot be read', async () => {
  unreadable = Infinity;
  writer.resume(6);
  await vi.advanceTimersByTimeAsync(500);
  const closed = writer.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await closed;
  expect(stored).toEqual([]);
});

test('Deferred rows count for their endpoint and customer until they are read', async () => {
  journal.push({ sequence: 6, rows: rows('a') });
  written = 5;
  writer.resume(6);
  expect(owe(7, 'b', 'c')).toBe(false);
  expect([writer.waitingOf('wh_1'), writer.waitingOfCustomer(7 as CustomerNumber)]).toEqual([2, 2]);
  written = Infinity;
  await vi.runAllTimersAsync();
  expect(stored).toEqual(['a', 'b', 'c']);
  expect([writer.waitingOf('wh_1'), writer.waitingOfCustomer(7 as CustomerNumber)]).toEqual([0, 0]);
});

test('The mark advances by whole entries, even within a backlog', async () => {
  for (let sequence = 6; sequence < 66; sequence++)
    owe(sequence, ...Array.from({ length: 20 }, (_none, at) => `${sequence}/${at}`));
  await vi.runAllTimersAsync();
  expect(inserts.map(({ ids, mark }) => [ids.length, mark])).toEqual([
    [1_000, 55],
    [200, 65],
  ]);
});

test('Waiting rows count for their endpoint and customer until they can be read', async () => {
  failures = 1;
  owe(6, 'a', 'b');
  expect([writer.waitingOf('wh_1'), writer.waitingOfCustomer(7 as CustomerNumber)]).toEqual([2, 2]);
  await vi.advanceTimersByTimeAsync(500);
  expect(writer.waitingOf('wh_1')).toBe(2);
  await vi.runAllTimersAsync();
  expect([writer.waitingOf('wh_1'), writer.waitingOfCustomer(7 as CustomerNumber)]).toEqual([0, 0]);
});

test('A stop writes the rows in memory and leaves the others to the journal', async () => {
  owe(6, 'a');
  writer.resume(8);
  journal.push({ sequence: 7, rows: rows('b') });
  const closed = writer.close();
  await vi.runAllTimersAsync();
  await closed;
  expect(stored).toEqual(['a']);
  expect(inserts.at(-1)?.mark).toBe(6);
});
