import { expect, test } from 'vitest';
import { BufferPool } from '../../../src/kernel/buffer-pool.ts';

test('A buffer that is given back through a view of it is handed out again', () => {
  const pool = new BufferPool(64, 4);
  const first = pool.take();
  pool.give(first.subarray(0, 10));
  const again = pool.take();
  expect(again.buffer).toBe(first.buffer);
  expect(again).toHaveLength(64);
});

test('A buffer that is given back twice is handed out once', () => {
  const pool = new BufferPool(64, 4);
  const first = pool.take();
  pool.give(first);
  pool.give(first);
  expect(pool.take().buffer).not.toBe(pool.take().buffer);
});

test('Memory of others and buffers beyond the bound are not kept', () => {
  const pool = new BufferPool(64, 1);
  const foreign = Buffer.allocUnsafeSlow(64);
  pool.give(foreign);
  expect(pool.take().buffer).not.toBe(foreign.buffer);
  const [one, two] = [pool.take(), pool.take()];
  pool.give(one);
  pool.give(two);
  expect(pool.take().buffer).toBe(one.buffer);
  expect(pool.take().buffer).not.toBe(two.buffer);
});
