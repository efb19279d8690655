import { expect, test, vi } from 'vitest';
import { LIST_BATCH_BODY } from '../../../../src/api/kit/body-readers.ts';
import { createRemoteBodies } from '../../../../src/api/kit/remote-bodies.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';

test('A body is answered at once, and the next one is read after the rest that it owes', async () => {
  const read: string[] = [];
  let endRest = (): void => {};
  const bodies = createRemoteBodies(
    (reader) => {
      read.push(reader);
      return Promise.resolve({ kind: 'read', value: reader });
    },
    () => new Promise((resolve) => (endRest = resolve)),
  );
  const readOne = (customer: number, name: string): Promise<unknown> =>
    bodies.read(customer as CustomerNumber, { name }, new Uint8Array(1), 0);
  expect(await readOne(1, 'first')).toEqual({ kind: 'read', value: 'first' });
  const second = readOne(2, 'second');
  await new Promise((done) => setImmediate(done));
  expect(read).toEqual(['first']);
  endRest();
  expect(await second).toEqual({ kind: 'read', value: 'second' });
  await vi.waitFor(() => expect(read).toEqual(['first', 'second']));
});

test('A body whose call holds the main thread owes a rest for that time too, unless it is refused', async () => {
  const owed: number[] = [];
  const bodies = createRemoteBodies(
    (reader) => {
      if (reader === 'broken') return Promise.reject(new Error('the worker ended'));
      return Promise.resolve(reader === 'refused' ? { kind: 'fault' } : { kind: 'read', value: 3 });
    },
    (_workMs, heldMs) => {
      owed.push(heldMs);
      return Promise.resolve();
    },
  );
  const readOne = (name: string): Promise<unknown> =>
    bodies.read(1 as CustomerNumber, { name, heldMs: (value) => 2 * Number(value) }, new Uint8Array(1), 0);
  await readOne('good');
  await readOne('refused');
  await expect(readOne('broken')).rejects.toThrow('the worker ended');
  await bodies.read(1 as CustomerNumber, { name: 'good' }, new Uint8Array(1), 0);
  expect(owed).toEqual([6, 0, 0, 0]);
});

test('A batch of list entries holds the main thread in proportion to its entries, and an invalid one does not', () => {
  const entriesOf = (count: number): unknown[] =>
    Array.from({ length: count }, (_none, n) => ({
      fingerprint_hash: n.toString(16).padStart(64, '0'),
      action: 'watch',
    }));
  const heldMs = (body: readonly unknown[]): number => LIST_BATCH_BODY.heldMs?.(LIST_BATCH_BODY.read(body, 0)) ?? -1;
  expect(heldMs(entriesOf(1_000))).toBeCloseTo(7);
  expect(heldMs(entriesOf(100))).toBeCloseTo(0.7);
  expect(heldMs(entriesOf(1_001))).toBe(0);
});
