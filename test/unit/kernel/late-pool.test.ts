import { expect, test, vi } from 'vitest';
import { LatePool } from '../../../src/kernel/late-pool.ts';

function late(start: () => Promise<string>) {
  const opened: string[] = [];
  const failed: unknown[] = [];
  const pool = new LatePool({
    start,
    onOpened: (given) => opened.push(given),
    onFailed: (error) => failed.push(error),
  });
  return { pool, opened, failed };
}

test('A lazy pool starts when it is first needed, and only once', async () => {
  const start = vi.fn<() => Promise<string>>(() => Promise.resolve('workers'));
  const { pool, opened } = late(start);
  expect(pool.current).toBeNull();
  expect(start).not.toHaveBeenCalled();
  pool.wake();
  pool.wake();
  await vi.waitFor(() => expect(pool.current).toBe('workers'));
  expect(opened).toEqual(['workers']);
  expect(start).toHaveBeenCalledOnce();
});

test('A lazy pool retries until it starts, and is broken meanwhile', async () => {
  let tries = 0;
  const { pool, opened, failed } = late(() =>
    ++tries < 3 ? Promise.reject(new Error('no thread')) : Promise.resolve('workers'),
  );
  pool.wake();
  await vi.waitFor(() => expect(pool.isBroken).toBe(true));
  await vi.waitFor(() => expect(opened).toEqual(['workers']), { timeout: 15_000 });
  expect(failed).toHaveLength(2);
  expect(pool.isBroken).toBe(false);
});

test('A closed lazy pool starts nothing more, and returns the workers that were starting', async () => {
  const asleep = late(() => Promise.resolve('workers'));
  expect(await asleep.pool.closed()).toBeNull();
  asleep.pool.wake();
  expect(asleep.pool.current).toBeNull();
  let up: (started: string) => void = () => {};
  const starting = late(() => new Promise<string>((resolve) => (up = resolve)));
  starting.pool.wake();
  const closed = starting.pool.closed();
  up('workers');
  expect(await closed).toBe('workers');
});
