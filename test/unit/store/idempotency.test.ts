import { expect, test } from 'vitest';
import { durably } from '../../../src/store/durable.ts';
import { IDEMPOTENCY_KEEP_MS, Idempotency, type IdempotentKey } from '../../../src/store/idempotency.ts';
import { table } from '../../../src/store/environment.ts';
import { Tallies } from '../../../src/store/tallies.ts';
import { customer, tempStore, value } from './support.ts';

const SEALING = Buffer.alloc(32, 7);

test('a customer has as many idempotency keys as it may; an expired one makes room', async () => {
  const { extract } = tempStore();
  if (extract === null) throw new Error('the store is read-only');
  const { root } = extract;
  const tallies = new Tallies(table(root, 'extract-tallies'));
  const idempotency = new Idempotency(root, table(root, 'idempotency'), tallies, 2);
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
  // A row that is replaced takes no room, and others have their own.
  expect(idempotency.hasRoom(request('a'))).toBe(true);
  expect(idempotency.hasRoom(request('c', 2))).toBe(true);
  await put(request('a'), 2);
  expect(tallies.get('idempotency', customer(1))).toBe(2);
  expect(await value(idempotency.sweep(IDEMPOTENCY_KEEP_MS + 1, 100))).toBe(1);
  expect(tallies.get('idempotency', customer(1))).toBe(1);
  expect(idempotency.hasRoom(request('c'))).toBe(true);
});
