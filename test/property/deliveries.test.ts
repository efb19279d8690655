import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/kernel/ids.ts';
import type { Delivery, DeliveryId } from '../../src/work/webhook.ts';
import type { Deliveries } from '../../src/state/tables/delivery-table.ts';
import type { DeliveryUpdate } from '../../src/state/tables/deliveries/row.ts';
import { bounded, delivery, NOW, success, walk } from '../unit/state/deliveries-support.ts';
import { customer, open, tempFolder, value } from '../unit/state/support.ts';
import { timesInFull } from '../support/long.ts';
import { ANY_CHARACTER } from '../support/any-text.ts';

/** Compares the log with a list that holds, filters and evicts every delivery. */

const BOUNDS = { endedPerCustomerMax: 5, keepMs: 100_000, perWrite: 3, scanRowsMax: 4, sliceRowsMax: 3 };
const ENDPOINTS = [newId('wh', NOW), newId('wh', NOW + 1), newId('ext', NOW)];
const customers = fc.constantFrom(1, 2, 0xffff_ffff);
const endpoints = fc.constantFrom(...ENDPOINTS);

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      customer: customers,
      endpointId: endpoints,
      /** Ids are not always created in order: clocks are set back, and journals contain old ones. */
      ages: fc.array(fc.constantFrom(0, 0, 0, 1, 7_000, 90_000), { minLength: 1, maxLength: 8 }),
      isSkipped: fc.boolean(),
      isAwaited: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
      ends: fc.boolean(),
      isAwaited: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('skip' as const), endpointId: endpoints, rowsMax: fc.nat(4) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 5_000, 60_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('prune' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 7 }) }) },
);

class Model {
  rows: Delivery[] = [];
  nowMs = NOW;

  make(given: { customer: number; endpointId: string; isSkipped: boolean }, ageMs: number): Delivery {
    const extra = given.isSkipped
      ? ({ status: 'skipped', error: 'unhealthy', completedAtMs: this.nowMs } as const)
      : {};
    return delivery(given.customer, { endpointId: given.endpointId, ...extra }, this.nowMs - ageMs);
  }

  insert(rows: readonly Delivery[]): void {
    this.rows.push(...rows);
    this.#evict();
  }

  apply({ id, attempt, ...state }: DeliveryUpdate): void {
    const at = this.rows.findIndex((row) => row.id === id);
    const row = this.rows[at];
    if (row?.status !== 'pending') return;
    const isNew = attempt !== null && attempt.attempt > (row.attempts.at(-1)?.attempt ?? 0);
    this.rows[at] = { ...row, ...state, attempts: isNew ? [...row.attempts, attempt] : row.attempts };
    this.#evict();
  }

  pending(endpointId: string): Delivery[] {
    return sorted(this.rows.filter((row) => row.endpointId === endpointId && row.status === 'pending'));
  }

  prune(): void {
    const oldest = newId('dlv', this.nowMs - BOUNDS.keepMs).slice(0, 14);
    this.rows = this.rows.filter((row) => row.status === 'pending' || row.id.slice(0, 14) >= oldest);
  }

  #evict(): void {
    for (const number of new Set(this.rows.map((row) => row.customer))) {
      const ended = sorted(this.rows.filter((row) => row.customer === number && row.status !== 'pending'));
      const gone = new Set(ended.slice(0, Math.max(0, ended.length - BOUNDS.endedPerCustomerMax)));
      this.rows = this.rows.filter((row) => !gone.has(row));
    }
  }
}

function sorted(rows: readonly Delivery[]): Delivery[] {
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

async function expectSame(deliveries: Deliveries, model: Model, limit: number): Promise<void> {
  const newestFirst = sorted(model.rows).reverse();
  for (const number of [1, 2, 0xffff_ffff]) {
    const mine = newestFirst.filter((row) => row.customer === number);
    expect(await walk(deliveries, number, { limit })).toEqual(mine.map(({ id }) => id));
    for (const status of ['pending', 'succeeded', 'skipped'] as const) {
      const wanted = mine.filter((row) => row.status === status);
      expect(await walk(deliveries, number, { limit, status })).toEqual(wanted.map(({ id }) => id));
    }
    for (const row of mine) expect(deliveries.find(customer(number), row.id)).toEqual(row);
  }
  const pending = model.rows.filter((row) => row.status === 'pending');
  expect(deliveries.pendingCount()).toBe(pending.length);
  expect([...deliveries.endpointsWithPending()].sort()).toEqual(
    [...new Set(pending.map((row) => row.endpointId))].sort(),
  );
  const ofWebhooks = pending.filter(({ endpointId }) => endpointId.startsWith('wh_'));
  const times = ofWebhooks.map((row) => Math.floor(row.createdAtMs / 1_000) * 1_000);
  expect(deliveries.oldestPendingMs()).toBe(times.length === 0 ? null : Math.min(...times));
  for (const endpointId of ENDPOINTS) {
    const [first] = model.pending(endpointId);
    expect(deliveries.pendingOf(endpointId, null, 100)).toEqual(model.pending(endpointId));
    expect(deliveries.pendingOf(endpointId, first?.id ?? null, 2)).toEqual(
      model.pending(endpointId).slice(first === undefined ? 0 : 1, first === undefined ? 2 : 3),
    );
  }
}

describe('the log of deliveries', () => {
  test('The log of deliveries always returns the same as a list of all deliveries', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const folder = tempFolder();
        let store = open(folder);
        let deliveries = bounded(store, BOUNDS);
        const model = new Model();
        for (const one of steps) {
          switch (one.kind) {
            case 'insert': {
              const rows = one.ages.map((ageMs) => model.make(one, ageMs));
              const written = deliveries.insert(rows, 0);
              if (one.isAwaited) await value(written);
              model.insert(rows);
              break;
            }
            case 'apply': {
              const rows = one.picks.flatMap((pick) => model.rows[pick % Math.max(1, model.rows.length)] ?? []);
              const updates = rows.map((row) =>
                one.ends
                  ? success(row, model.nowMs)
                  : { ...success(row), status: 'pending' as const, completedAtMs: null, nextAttemptAtMs: model.nowMs },
              );
              const written = deliveries.apply(updates);
              if (one.isAwaited) await value(written);
              for (const update of updates) model.apply(update);
              break;
            }
            case 'skip': {
              const order = { error: 'gone', nowMs: model.nowMs, rowsMax: one.rowsMax + 1, after: null } as const;
              const { count } = await value(deliveries.skipPending(one.endpointId, order));
              const rows = model.pending(one.endpointId).slice(0, order.rowsMax);
              expect(count).toBe(rows.length);
              for (const row of rows) {
                const end = { ...success(row, model.nowMs), elapsedMs: row.elapsedMs, attempt: null };
                model.apply({ ...end, status: 'skipped', error: 'gone' });
              }
              break;
            }
            case 'pass':
              model.nowMs += one.ms;
              break;
            case 'prune':
              await deliveries.settled();
              for (let round = 0; round < 12; round++) await value(deliveries.prune(model.nowMs, 100));
              model.prune();
              break;
            case 'reopen':
              await deliveries.settled();
              await store.close();
              store = open(folder);
              deliveries = bounded(store, BOUNDS);
              break;
            case 'read':
              await deliveries.settled();
              await expectSame(deliveries, model, one.limit);
              break;
          }
        }
        await deliveries.settled();
        await expectSame(deliveries, model, 3);
        await store.close();
      }),
      { numRuns: timesInFull(60), seed: 2_611 },
    );
  });

  test('The log of deliveries returns a row as it was written, whatever it contains', async () => {
    const store = open(tempFolder());
    const text = fc.string({ maxLength: 200, unit: ANY_CHARACTER });
    const ms = fc.integer({ min: 1, max: 2 ** 47 });
    const error = fc.constantFrom(null, 'timeout', 'unhealthy', 'dns_error', 'gone');
    const attempt = fc.record({
      attempt: fc.integer({ min: 1, max: 255 }),
      startedAtMs: fc.nat(2 ** 31),
      durationMs: fc.nat(2 ** 31),
      statusCode: fc.constantFrom(null, 100, 204, 599),
      error,
    });
    const row = fc.record({
      id: ms.map((at) => newId('dlv', at) as DeliveryId),
      customer: fc.integer({ min: 1, max: 0xffff_ffff }).map(customer),
      endpointId: fc.oneof(
        ms.map((at) => newId('wh', at)),
        ms.map((at) => newId('ext', at)),
      ),
      url: text.map((some) => `https://x/${encodeURI(some.replaceAll(/\p{Surrogate}/gu, ''))}é`),
      event: fc.constantFrom('ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'extraction.records', 'extraction.failed'),
      requestId: ms.map((at) => newId('req', at)),
      status: fc.constantFrom('pending', 'succeeded', 'failed', 'skipped'),
      trigger: fc.constantFrom('decision', 'probe', 'test', 'manual', 'extraction'),
      attempts: fc.array(attempt, { maxLength: 7 }),
      error,
      elapsedMs: fc.nat(2 ** 31),
      createdAtMs: ms,
      completedAtMs: fc.option(ms),
      nextAttemptAtMs: fc.option(ms),
      body: fc.uint8Array({ maxLength: 10_000 }).map((bytes) => Buffer.from(bytes)),
    }) satisfies fc.Arbitrary<Delivery>;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(row, { maxLength: 5, selector: ({ id }) => id }), async (rows) => {
        await value(store.deliveries.insert(rows, 0));
        for (const one of rows) expect(store.deliveries.find(one.customer, one.id)).toEqual(one);
      }),
      { numRuns: timesInFull(60), seed: 77 },
    );
    await store.close();
  });
});
