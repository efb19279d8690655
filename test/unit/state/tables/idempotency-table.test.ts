import { expect, test } from 'vitest';
import { durably } from '../../../../src/state/tables/durable.ts';
import {
  IDEMPOTENCY_KEEP_MS,
  Idempotency,
  type IdempotentKey,
} from '../../../../src/state/tables/idempotency-table.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { RowCounters } from '../../../../src/state/tables/row-counters.ts';
import { customer, tempStore, value } from '../support.ts';

const SEALING = Buffer.alloc(32, 7);

test('A customer has a maximum number of idempotency keys, and an expired one makes room', async () => {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store is read-only');
  const { root } = extract;
  const rowCounters = new RowCounters(table(root, 'extract-tallies'));
  const idempotency = new Idempotency(root, table(root, 'idempotency'), rowCounters, 2);
  const request = (key: string, number = 1): IdempotentKey => ({
    customer: customer(number),
    key,
    bodySha256: Buffer.alloc(32),
  });
  const put = (one: IdempotentKey, nowMs: number): Promise<void> =>
    value(durably(root, () => idempotency.put(SEALING, one, Buffer.from('{}'), nowMs)));
  await put(request('a'), 0);
  await put(request('b'), 1);
  expect(idempotency.hasRoom(request('c'))).toBe(false);
  // Replacing a row takes no room, and other customers have their own.
  expect(idempotency.hasRoom(request('a'))).toBe(true);
  expect(idempotency.hasRoom(request('c', 2))).toBe(true);
  await put(request('a'), 2);
  expect(rowCounters.get('idempotency', customer(1))).toBe(2);
  expect(await value(idempotency.sweep(IDEMPOTENCY_KEEP_MS + 1, 100))).toBe(1);
  expect(rowCounters.get('idempotency', customer(1))).toBe(1);
  expect(idempotency.hasRoom(request('c'))).toBe(true);
});
