import { describe, expect, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { newId } from '../../../../src/kernel/ids.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { type KeptRow, LearningRows } from '../../../../src/state/tables/learning-row-table.ts';
import { freeSlices } from '../../../support/slices.ts';
import { tempStore } from '../support.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 20_000 * DAY_MS;
const CUSTOMER = 7 as CustomerNumber;

function row(occurredAtMs: number, more: Partial<KeptRow> = {}): KeptRow {
  return {
    requestId: newId('req', occurredAtMs),
    occurredAtMs,
    kept: 'sample',
    eventType: 'login',
    decision: 'ALLOW',
    session: 's1',
    accounts: ['a1'],
    features: Buffer.from([1, 2, 3]),
    rate: 0.05,
    policyVersion: 'v1',
    ...more,
  };
}

function open(rowsMax?: number): LearningRows {
  const { hot } = tempStore();
  if (hot === null) throw new Error('the store is open for reading only');
  return new LearningRows(hot, table(hot, 'learning-rows'), rowsMax);
}

function read(rows: LearningRows, nowMs: number, customer: CustomerNumber | null = null): KeptRow[] {
  const found: KeptRow[] = [];
  for (const _slice of rows.read(customer, nowMs, (_customer, one) => found.push(one))) continue;
  return found;
}

describe('rows kept to learn from', () => {
  test('A row is read as it was kept, once for a decision, and only of the customer', async () => {
    const rows = open();
    const first = row(NOW_MS);
    rows.keep(CUSTOMER, first);
    rows.keep(CUSTOMER, { ...first, kept: 'label', session: null });
    rows.keep((CUSTOMER + 1) as CustomerNumber, row(NOW_MS));
    expect(await rows.flush(NOW_MS)).toBeNull();
    expect(read(rows, NOW_MS, CUSTOMER)).toEqual([{ ...first, kept: 'label', session: null }]);
    expect(read(rows, NOW_MS)).toHaveLength(2);
  });

  test('Rows are removed 120 days after their decision, also of a customer without new ones', async () => {
    const rows = open();
    rows.keep(CUSTOMER, row(NOW_MS));
    rows.keep(CUSTOMER, row(NOW_MS + 1));
    await rows.flush(NOW_MS);
    expect(read(rows, NOW_MS + 120 * DAY_MS)).toHaveLength(2);
    await rows.flush(NOW_MS + 120 * DAY_MS + 1);
    await rows.flush(NOW_MS + 120 * DAY_MS + 1);
    expect(read(rows, NOW_MS)).toHaveLength(1);
  });

  test('A customer may keep them for a shorter time', async () => {
    const rows = open();
    const other = (CUSTOMER + 1) as CustomerNumber;
    for (const of of [CUSTOMER, other]) rows.keep(of, row(NOW_MS));
    const keptMsOf = (of: CustomerNumber): number => (of === other ? 30 * DAY_MS : 120 * DAY_MS);
    for (let n = 0; n < 3; n++) await rows.flush(NOW_MS + 30 * DAY_MS + 1, keptMsOf);
    expect([read(rows, NOW_MS, CUSTOMER).length, read(rows, NOW_MS, other).length]).toEqual([1, 0]);
  });

  test('The oldest rows of a customer with too many are removed', async () => {
    const rows = open(3);
    for (let n = 0; n < 4; n++) rows.keep(CUSTOMER, row(NOW_MS + n));
    await rows.flush(NOW_MS + 10);
    for (let n = 4; n < 6; n++) rows.keep(CUSTOMER, row(NOW_MS + n));
    await rows.flush(NOW_MS + 10);
    await rows.flush(NOW_MS + 10);
    expect(read(rows, NOW_MS + 10).map(({ occurredAtMs }) => occurredAtMs - NOW_MS)).toEqual([3, 4, 5]);
  });

  test('An erasure removes 500 rows at a time, and only those about the person', async () => {
    const { hot } = tempStore();
    if (hot === null) throw new Error('the store is open for reading only');
    const rows = new LearningRows(hot, table(hot, 'learning-rows'));
    for (let n = 0; n < 1_201; n++) rows.keep(CUSTOMER, row(NOW_MS + n, { accounts: [n === 7 ? 'a2' : 'a1'] }));
    await rows.flush(NOW_MS + 2_000);
    const batches = vi.spyOn(hot, 'batch');
    const isAbout = ({ accounts }: KeptRow): boolean => accounts.includes('a1');
    const erased = await rows.erase(CUSTOMER, isAbout, freeSlices(), NOW_MS + 2_000);
    expect([erased, batches.mock.calls.length]).toEqual([{ kind: 'ok', value: 1_200 }, 3]);
    expect(read(rows, NOW_MS + 2_000).map(({ accounts }) => accounts)).toEqual([['a2']]);
  });
});
