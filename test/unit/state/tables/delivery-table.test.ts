import { describe, expect, test, vi } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import type { Delivery, DeliveryId } from '../../../../src/work/webhook.ts';
import type { SkipOrder, Skipped } from '../../../../src/state/tables/delivery-table.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { DELIVERY_PAGES_PER_CUSTOMER_MAX } from '../../../../src/kernel/delivery-limits.ts';
import { bounded, delivery, idsOf, ALL, NOW, success, walk } from '../deliveries-support.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';
import { freeSlices } from '../../../support/slices.ts';
import { writesOf } from '../../../support/writes.ts';

const DAY = 86_400_000;
const WH = newId('wh', NOW);
const EXT = newId('ext', NOW);

/** Returns deliveries to one endpoint, a second apart, oldest first. */
function series(number: number, count: number, extra: Partial<Delivery> = {}, atMs = NOW): Delivery[] {
  return Array.from({ length: count }, (_, i) => delivery(number, { endpointId: WH, ...extra }, atMs + i * 1_000));
}

const skipped = { status: 'skipped', error: 'unhealthy', completedAtMs: NOW } as const;

describe('a stored delivery', () => {
  test('A delivery is read back with all its fields, also after a restart', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const rows = [
      delivery(1, { url: 'https://exämple.com/?a=1', body: Buffer.alloc(100_000, 'x') }),
      delivery(1, {
        endpointId: EXT,
        event: 'extraction.completed',
        trigger: 'extraction',
        status: 'failed',
        error: 'shutdown',
        elapsedMs: 7_512_345,
        completedAtMs: NOW + 1,
        nextAttemptAtMs: NOW + 2,
        body: Buffer.alloc(0),
        attempts: [
          { attempt: 1, startedAtMs: NOW, durationMs: 5_000, statusCode: null, error: 'dns_error' },
          { attempt: 2, startedAtMs: NOW + 9_000, durationMs: 0, statusCode: 503, error: 'http_status' },
        ],
      }),
      delivery(0xffff_ffff, skipped),
    ];
    await value(store.deliveries.insert(rows, 3));
    for (const row of rows) expect(store.deliveries.find(row.customer, row.id)).toEqual(row);
    await store.close();
    const again = open(folder);
    const { deliveries } = again;
    for (const row of rows) expect(deliveries.find(row.customer, row.id)).toEqual(row);
    expect(deliveries.storedUpToSequence()).toBe(3);
    expect(deliveries.endpointsWithPending()).toEqual([rows[0]?.endpointId]);
    await again.close();
  });

  test('An erasure removes 500 ended rows of the named decisions at a time, and leaves those to be sent', async () => {
    const store = tempStore();
    const rows = series(1, 1_100, { ...skipped, requestId: newId('req', NOW) });
    const [waiting] = series(1, 1, { requestId: rows[0]?.requestId ?? '' }) as [Delivery];
    const [other] = series(1, 1, skipped) as [Delivery];
    await value(store.deliveries.insert([...rows, waiting, other], 1));
    const transactions = vi.spyOn(store.state, 'transaction');
    const requestIds = new Set([waiting.requestId]);
    const erased = await value(store.deliveries.erase(customer(1), requestIds, freeSlices()));
    expect([erased, transactions.mock.calls.length]).toEqual([{ removed: 1_100, waiting: 1 }, 3]);
    expect((await idsOf(store.deliveries, 1)).sort()).toEqual([waiting.id, other.id].sort());
  });

  test('Deliveries can be read once earlier inserts have settled, without awaiting the insert itself', async () => {
    const { deliveries } = tempStore();
    const rows = series(1, 600);
    const writing = deliveries.insert(rows, 1);
    await deliveries.settled();
    expect(await idsOf(deliveries, 1)).toHaveLength(600);
    await writing;
  });

  test('A delivery belongs to its customer only', async () => {
    const { deliveries } = tempStore();
    const row = delivery(2);
    await value(deliveries.insert([row], 0));
    for (const number of [1, 3]) {
      expect(deliveries.find(customer(number), row.id)).toBeNull();
      expect(await idsOf(deliveries, number)).toEqual([]);
      await value(deliveries.apply([{ ...success(row), customer: customer(number) }]));
    }
    expect(deliveries.find(row.customer, row.id)?.status).toBe('pending');
    expect(deliveries.find(row.customer, 'dlv_x' as DeliveryId)).toBeNull();
  });

  test('A delivery is updated by its attempts until it ends, and never afterwards', async () => {
    const { deliveries } = tempStore();
    const row = delivery(1);
    await value(deliveries.insert([row], 0));
    const first = {
      attempt: 1,
      startedAtMs: NOW + 5,
      durationMs: 31.6,
      statusCode: 500,
      error: 'http_status',
    } as const;
    const waiting = {
      ...success(row),
      attempt: first,
      status: 'pending',
      completedAtMs: null,
      nextAttemptAtMs: NOW + 2_000,
      elapsedMs: 40,
    } as const;
    await value(deliveries.apply([waiting]));
    // A transaction that was refused in its second half is repeated completely.
    await value(deliveries.apply([waiting]));
    const attempts = [{ ...first, durationMs: 32 }];
    const after = { ...row, attempts, nextAttemptAtMs: NOW + 2_000, elapsedMs: 40 };
    expect(deliveries.find(row.customer, row.id)).toEqual(after);
    expect(deliveries.pendingOf(row.endpointId, null, 10)).toEqual([after]);
    const second = success(after);
    await value(deliveries.apply([second]));
    const ended = {
      ...after,
      status: 'succeeded',
      attempts: [...attempts, second.attempt],
      nextAttemptAtMs: null,
      completedAtMs: NOW + 50,
      elapsedMs: 12,
    };
    expect(deliveries.find(row.customer, row.id)).toEqual(ended);
    expect(deliveries.pendingOf(row.endpointId, null, 10)).toEqual([]);
    await value(deliveries.apply([{ ...waiting, status: 'failed', error: 'timeout' }]));
    expect(deliveries.find(row.customer, row.id)).toEqual(ended);
  });

  test('Inserting an existing delivery again changes nothing', async () => {
    const { deliveries } = tempStore();
    const row = delivery(1);
    await value(deliveries.insert([row], 1));
    await value(deliveries.apply([success(row)]));
    await value(deliveries.insert([row], 2));
    expect(deliveries.find(row.customer, row.id)?.status).toBe('succeeded');
    expect(deliveries.pendingCount()).toBe(0);
  });

  test.each([
    ['id', { id: 'dlv_1' as DeliveryId }],
    ['endpoint', { endpointId: 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
    ['request id', { requestId: 'x' }],
  ])('A delivery without a valid %s is rejected before anything is written', async (_, extra) => {
    const { deliveries } = tempStore();
    await expect(deliveries.insert([delivery(1), delivery(1, extra)], 9)).rejects.toThrow('needs');
    expect([await idsOf(deliveries, 1), deliveries.storedUpToSequence()]).toEqual([[], 0]);
  });
});

describe('the mark of stored outbox entries', () => {
  test('The mark increases with the rows of its call and never decreases', async () => {
    const { deliveries } = tempStore();
    expect(deliveries.storedUpToSequence()).toBe(0);
    await value(deliveries.insert([delivery(1)], 2 ** 40));
    await value(deliveries.insert([], 5));
    expect(deliveries.storedUpToSequence()).toBe(2 ** 40);
    await value(deliveries.insert([], 2 ** 40 + 1));
    expect(deliveries.storedUpToSequence()).toBe(2 ** 40 + 1);
  });

  test('The mark of overlapping calls is never ahead of their rows', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { perWrite: 4 });
    const marks: { mark: number; rows: number }[] = [];
    const calls = Array.from({ length: 9 }, (_, i) => deliveries.insert(series(1, 7), i + 1));
    const watch = setInterval(() => {
      marks.push({ mark: deliveries.storedUpToSequence(), rows: deliveries.pendingOf(WH, null, 100).length });
    });
    await Promise.all(calls.map(value));
    clearInterval(watch);
    for (const { mark, rows } of marks) expect(rows).toBeGreaterThanOrEqual(7 * mark);
    expect([deliveries.storedUpToSequence(), (await idsOf(deliveries, 1)).length]).toEqual([9, 63]);
  });
});

describe('a write of deliveries that the store refuses', () => {
  test('A refused write is reported, affects only its own call, and leaves the counts correct', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { perWrite: 4, endedPerCustomerMax: 5 });
    await value(deliveries.insert(series(1, 3), 1));
    const refusing = vi.spyOn(store.state, 'transaction').mockRejectedValueOnce(new Error('MDB_MAP_FULL'));
    const first = deliveries.insert(series(1, 6), 2);
    const second = deliveries.insert(series(1, 2), 3);
    expect(await first).toMatchObject({ kind: 'fault', code: 'store_full' });
    expect((await second).kind).toBe('ok');
    refusing.mockRestore();
    await deliveries.settled();
    expect([deliveries.pendingCount(), (await idsOf(deliveries, 1)).length]).toEqual([5, 5]);
    expect(deliveries.storedUpToSequence()).toBe(3);
  });
});

describe('a page of deliveries', () => {
  test('A page of deliveries is sorted newest first and continues where the previous one ended', async () => {
    const { deliveries } = tempStore();
    const rows = series(1, 25);
    await value(deliveries.insert([...rows, ...series(2, 3)], 0));
    const ids = rows.map(({ id }) => id).reverse();
    for (const limit of [1, 4, 25, 26]) expect(await walk(deliveries, 1, { limit })).toEqual(ids);
    expect(await idsOf(deliveries, 1, { after: ids[9] as DeliveryId, limit: 2 })).toEqual([ids[10], ids[11]]);
  });

  test.each([10_000, 3])('A page of deliveries is filtered if a call scans %i rows', async (scanRowsMax) => {
    const store = tempStore();
    const deliveries = bounded(store, { scanRowsMax });
    const block = series(1, 9);
    const review = series(1, 8, { event: 'REVIEW', endpointId: newId('wh', NOW) }, NOW + 500);
    const extraction = series(1, 4, { event: 'extraction.records', endpointId: EXT }, NOW + 700);
    const retried = delivery(1, { requestId: block[2]?.requestId ?? '', trigger: 'manual' }, NOW + DAY);
    await value(deliveries.insert([...block, ...review, ...extraction, retried], 0));
    await value(deliveries.apply(review.slice(0, 3).map((row) => success(row))));
    const ids = (rows: readonly (Delivery | undefined)[]): string[] =>
      rows
        .map((row) => row?.id ?? '')
        .sort()
        .reverse();
    expect(await walk(deliveries, 1)).toEqual(ids([...block, ...review, ...extraction, retried]));
    expect(await walk(deliveries, 1, { event: 'REVIEW', limit: 2 })).toEqual(ids(review));
    expect(await walk(deliveries, 1, { webhookId: WH })).toEqual(ids(block));
    expect(await walk(deliveries, 1, { webhookId: EXT, limit: 1 })).toEqual(ids(extraction));
    expect(await walk(deliveries, 1, { status: 'succeeded' })).toEqual(ids(review.slice(0, 3)));
    expect(await walk(deliveries, 1, { status: 'pending', event: 'REVIEW' })).toEqual(ids(review.slice(3)));
    expect(await walk(deliveries, 1, { requestId: block[2]?.requestId ?? '' })).toEqual(ids([block[2], retried]));
    for (const none of [
      { webhookId: 'x' },
      { requestId: 'wh_x' },
      { webhookId: newId('wh', 1) },
      { status: 'failed' as const },
    ]) {
      expect(await walk(deliveries, 1, none)).toEqual([]);
    }
    expect(await walk(deliveries, 2)).toEqual([]);
  });

  test('A page that scans many rows yields to the event loop, and other pages of the customer wait for it', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { sliceRowsMax: 10 });
    await value(deliveries.insert(series(1, 95), 0));
    const ended: string[] = [];
    let turns = 0;
    let isScanning = true;
    const turn = (): void => {
      turns++;
      if (isScanning) setImmediate(turn);
    };
    setImmediate(turn);
    const scan = idsOf(deliveries, 1, { status: 'failed' }).then((ids) => {
      isScanning = false;
      ended.push(`scan ${ids.length}`);
    });
    const behind = idsOf(deliveries, 1, { limit: 1 }).then((ids) => ended.push(`behind ${ids.length}`));
    await Promise.all([scan, behind]);
    expect(turns).toBeGreaterThanOrEqual(9);
    expect(ended).toEqual(['scan 0', 'behind 1']);
  });

  test('A page does not wait for those of other customers', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { sliceRowsMax: 1 });
    await value(deliveries.insert([...series(1, 50), ...series(2, 1)], 0));
    const ended: number[] = [];
    const asked = [1, 2].map((number) => walk(deliveries, number).then(() => ended.push(number)));
    await Promise.all(asked);
    expect(ended).toEqual([2, 1]);
  });

  test('A page stays sorted and without duplicates while rows are added, ended and removed', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { sliceRowsMax: 4, endedPerCustomerMax: 30 });
    const rows = series(1, 60);
    await value(deliveries.insert(rows, 0));
    const reading = idsOf(deliveries, 1, { webhookId: WH });
    const writing = (async () => {
      for (let from = 0; from < 60; from += 5) {
        // The older half of the ended rows is evicted for the newer half.
        await value(deliveries.apply(rows.slice(from, from + 5).map((row) => success(row))));
        await value(deliveries.insert(series(1, 2, {}, NOW + 1_000 + from), 0));
      }
    })();
    const ids = await reading;
    await writing;
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    const all = new Set(ids);
    const kept = rows.slice(30).filter(({ id }) => deliveries.find(customer(1), id) !== null);
    expect(kept.length).toBe(30);
    for (const { id } of kept) expect(all.has(id)).toBe(true);
  });

  test('A customer with too many concurrent page requests is rejected, and no other customer', async () => {
    const { deliveries } = tempStore();
    await value(deliveries.insert([...series(1, 1), ...series(2, 1)], 0));
    const asked = Array.from({ length: DELIVERY_PAGES_PER_CUSTOMER_MAX + 3 }, () => deliveries.page(customer(1), ALL));
    const other = idsOf(deliveries, 2);
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'page')).toHaveLength(DELIVERY_PAGES_PER_CUSTOMER_MAX);
    expect(kinds.slice(-3)).toEqual(['busy', 'busy', 'busy']);
    expect(await other).toHaveLength(1);
    expect(await idsOf(deliveries, 1)).toHaveLength(1);
  });

  test('A page that cannot be read does not block those queued behind it', async () => {
    const { deliveries } = tempStore();
    await value(deliveries.insert(series(1, 1), 0));
    const broken = {
      ...ALL,
      get limit(): number {
        throw new Error('it breaks');
      },
    };
    const failing = deliveries.page(customer(1), broken);
    const behind = idsOf(deliveries, 1);
    await expect(failing).rejects.toThrow('it breaks');
    expect(await behind).toHaveLength(1);
  });
});

describe('pending deliveries in the store', () => {
  test('Pending deliveries are listed by endpoint, oldest first, a part at a time', async () => {
    const { deliveries } = tempStore();
    const mine = series(1, 7);
    const other = series(2, 2, { endpointId: EXT });
    await value(deliveries.insert([...mine.toReversed(), ...other, delivery(1, { endpointId: WH, ...skipped })], 0));
    expect(deliveries.pendingOf(WH, null, 100)).toEqual(mine);
    expect(deliveries.pendingOf(WH, null, 2)).toEqual(mine.slice(0, 2));
    expect(deliveries.pendingOf(WH, mine[1]?.id ?? null, 3)).toEqual(mine.slice(2, 5));
    expect(deliveries.pendingOf(EXT, null, 100)).toEqual(other);
    expect(deliveries.pendingOf(newId('wh', 1), null, 100)).toEqual([]);
    expect(deliveries.pendingOf('nothing', null, 100)).toEqual([]);
    expect([...deliveries.endpointsWithPending()].sort()).toEqual([EXT, WH].sort());
    await value(deliveries.apply(other.map((row) => success(row))));
    expect(deliveries.endpointsWithPending()).toEqual([WH]);
  });

  test('Pending deliveries and the oldest of them are counted, before and after a restart', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const { deliveries } = store;
    expect([deliveries.pendingCount(), deliveries.oldestPendingMs()]).toEqual([0, null]);
    const rows = series(1, 5, {}, NOW + 400);
    await value(deliveries.insert(rows.toReversed(), 0));
    expect([deliveries.pendingCount(), deliveries.oldestPendingMs()]).toEqual([5, NOW]);
    await value(deliveries.apply(rows.slice(0, 2).map((row) => success(row))));
    expect([deliveries.pendingCount(), deliveries.oldestPendingMs()]).toEqual([3, NOW + 2_000]);
    await store.close();
    const again = open(folder);
    expect([again.deliveries.pendingCount(), again.deliveries.oldestPendingMs()]).toEqual([3, NOW + 2_000]);
    await value(again.deliveries.apply(rows.slice(2).map((row) => success(row))));
    expect([again.deliveries.pendingCount(), again.deliveries.oldestPendingMs()]).toEqual([0, null]);
    await again.close();
  });

  test('Pending deliveries are skipped in bounded steps, except those to be kept', async () => {
    const { deliveries } = tempStore();
    const rows = series(1, 10);
    const probe = delivery(1, { endpointId: WH, trigger: 'probe' }, NOW + 3_500);
    const other = delivery(1, {}, NOW);
    await value(deliveries.insert([...rows, probe, other], 0));
    await value(deliveries.apply([{ ...success(rows[4] as Delivery), status: 'pending', completedAtMs: null }]));
    let after: DeliveryId | null = null;
    const counts: number[] = [];
    do {
      const order: SkipOrder = { error: 'unhealthy', nowMs: NOW + 9, rowsMax: 4, after };
      const isSkipped = ({ trigger }: Pick<Delivery, 'trigger'>): boolean => trigger !== 'probe';
      const part: Skipped = await value(deliveries.skipPending(WH, { ...order, isSkipped }));
      counts.push(part.count);
      after = part.next;
    } while (after !== null);
    expect(counts).toEqual([4, 3, 3]);
    const end = { status: 'skipped', error: 'unhealthy', completedAtMs: NOW + 9 };
    expect(deliveries.find(customer(1), rows[0]?.id as DeliveryId)).toEqual({ ...rows[0], ...end });
    expect(deliveries.find(customer(1), rows[4]?.id as DeliveryId)).toMatchObject({
      ...end,
      attempts: [{ attempt: 1 }],
    });
    expect(deliveries.pendingOf(WH, null, 10)).toEqual([probe]);
    const all = { error: 'gone', nowMs: NOW, rowsMax: 100, after: null } as const;
    expect(await value(deliveries.skipPending(WH, all))).toEqual({ count: 1, next: null });
    expect(deliveries.endpointsWithPending()).toEqual([other.endpointId]);
  });
});

describe('the limit of the delivery log per customer', () => {
  test('The limit of the delivery log evicts the oldest ended rows and never a pending one', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { endedPerCustomerMax: 4, perWrite: 3 });
    const rows = series(1, 12);
    const apart = series(2, 5);
    await value(deliveries.insert([...rows, ...apart], 0));
    expect(await idsOf(deliveries, 1)).toHaveLength(12);
    const finish = (numbers: readonly number[]): Promise<null> =>
      value(deliveries.apply(numbers.map((n) => success(rows[n] as Delivery))));
    const left = async (): Promise<number[]> =>
      (await idsOf(deliveries, 1)).map((id) => rows.findIndex((row) => row.id === id));
    await finish([11, 10, 9, 8, 7]);
    expect(await left()).toEqual([11, 10, 9, 8, 6, 5, 4, 3, 2, 1, 0]);
    // Older than rows evicted before.
    await finish([2, 0]);
    expect(await left()).toEqual([11, 10, 9, 8, 6, 5, 4, 3, 1]);
    await finish([6, 1, 5]);
    expect(await left()).toEqual([11, 10, 9, 8, 4, 3]);
    expect(deliveries.evicted).toBe(6);
    expect(await idsOf(deliveries, 2)).toHaveLength(5);
    await value(deliveries.insert(series(1, 2, skipped, NOW + DAY), 0));
    expect(await left()).toEqual([-1, -1, 11, 10, 4, 3]);
  });

  test('The cost of an eviction does not depend on the number of pending rows before it', async () => {
    const store = tempStore();
    const deliveries = bounded(store, { endedPerCustomerMax: 10 });
    const rows = table(store.state, 'deliveries');
    await value(deliveries.insert(series(1, 3_000), 0));
    await value(deliveries.insert(series(1, 12, skipped, NOW + DAY), 0));
    // In addition to the removed rows, a call scans a bounded number of rows and continues there.
    await value(deliveries.insert(series(1, 12, skipped, NOW + DAY), 0));
    await value(deliveries.insert(series(1, 12, skipped, NOW + DAY), 0));
    await value(deliveries.insert(series(1, 12, skipped, NOW + DAY), 0));
    expect(await idsOf(deliveries, 1, { status: 'skipped' })).toHaveLength(10);
    const getRange = vi.spyOn(rows.constructor.prototype as typeof rows, 'getRange');
    const late = series(1, 30, skipped, NOW - DAY);
    await value(deliveries.insert(late, 0));
    expect(getRange).not.toHaveBeenCalled();
    getRange.mockRestore();
    expect((await idsOf(deliveries, 1, { status: 'skipped' })).some((id) => late.some((row) => row.id === id))).toBe(
      false,
    );
  });
});

describe('the retention of deliveries', () => {
  test('Ended deliveries older than 30 days are removed in bounded steps, and pending ones stay', async () => {
    const { deliveries } = tempStore();
    const old = series(1, 10);
    const young = series(1, 3, {}, NOW + 5 * DAY);
    const others = series(9, 4);
    await value(deliveries.insert([...old, ...young, ...others], 0));
    await value(deliveries.apply([...old.slice(3), ...young, ...others].map((row) => success(row))));
    const at = NOW + 30 * DAY + 20_000;
    expect(await value(deliveries.prune(NOW + 30 * DAY, 100))).toBe(0);
    let removed = 0;
    for (let round = 0; round < 12; round++) {
      const some = await value(deliveries.prune(at, 5));
      expect(some).toBeLessThanOrEqual(5);
      removed += some;
    }
    expect(removed).toBe(11);
    expect(await idsOf(deliveries, 1)).toEqual([...old.slice(0, 3), ...young].map(({ id }) => id).reverse());
    expect(await idsOf(deliveries, 9)).toEqual([]);
  });

  test('Pruning does not get stuck at a customer whose old rows are all pending', async () => {
    const { deliveries } = tempStore();
    const others = series(9, 4);
    await value(deliveries.insert([...series(1, 10), ...others], 0));
    await value(deliveries.apply(others.map((row) => success(row))));
    for (let round = 0; round < 6; round++) await deliveries.prune(NOW + 31 * DAY, 5);
    expect([(await idsOf(deliveries, 1)).length, (await idsOf(deliveries, 9)).length]).toEqual([10, 0]);
  });
});

describe('a data directory without tables of deliveries', () => {
  test('A data directory of a version without deliveries opens, gets its tables, and then opens read-only as well', async () => {
    const folder = tempFolder();
    const before = open(folder);
    const account = await value(writesOf(before).customers.create('Acme', NOW / 1_000));
    for (const name of ['webhooks', 'deliveries', 'deliveries-pending'] as const)
      await table(before.state, name).drop();
    await before.close();
    const store = open(folder);
    expect(store.customers.findById(account.id)).not.toBeNull();
    const row = delivery(1);
    await value(store.deliveries.insert([row], 1));
    const reader = open(folder, true);
    expect(reader.deliveries.find(row.customer, row.id)).toEqual(row);
    expect(reader.webhooks.loadAll()).toEqual([]);
    expect(await idsOf(reader.deliveries, 1, ALL)).toEqual([row.id]);
    await reader.close();
    await store.close();
  });
});
