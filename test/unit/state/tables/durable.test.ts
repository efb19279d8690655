import type { RootDatabase } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { committed, durably, durablyTogether } from '../../../../src/state/tables/durable.ts';
import { tempStore } from '../support.ts';

/** A store whose writes fail as the library's do: with a generic error that contains a promise of the reason. */
function failing(reason: Error): RootDatabase<Buffer, Buffer> {
  const commitError = Promise.reject(reason);
  commitError.catch(() => {});
  const fail = (): Promise<never> => Promise.reject(Object.assign(new Error('Commit failed'), { commitError }));
  return { transaction: fail, batch: fail, flushed: Promise.resolve(true) } as unknown as RootDatabase<Buffer, Buffer>;
}

describe('a failing write', () => {
  const NO_SPACE = 'No space left on device: Attempting to write page at position 32768';
  test.each([
    [new Error(NO_SPACE), 'store_full'],
    [Object.assign(new Error('reached'), { code: -30_792 }), 'store_write_failed'],
    [new Error('MDB_MAP_FULL: Environment mapsize limit reached'), 'store_full'],
    [new Error('Input/output error'), 'store_write_failed'],
  ])('A write that fails with %s is reported as %s', async (reason, code) => {
    for (const write of [durably, committed, durablyTogether])
      expect(await write(failing(reason), () => null)).toMatchObject({ kind: 'fault', code });
  });
});

test('Rows written together are all stored when the write resolves', async () => {
  const { state } = tempStore();
  const table = state.openDB<Buffer, Buffer>({ name: 'customers', encoding: 'binary', keyEncoding: 'binary' });
  const written = await durablyTogether(state, () => {
    for (let n = 0; n < 1_000; n++) table.put(Buffer.from(`k${n}`), Buffer.from([1])).catch(() => {});
    return 'all';
  });
  expect(written).toEqual({ kind: 'ok', value: 'all' });
  expect(table.getKeysCount()).toBe(1_000);
});
