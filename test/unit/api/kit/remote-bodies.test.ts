import { expect, test, vi } from 'vitest';
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
  const readOne = (customer: number, reader: string): Promise<unknown> =>
    bodies.read(customer as CustomerNumber, reader, new Uint8Array(1), 0);
  expect(await readOne(1, 'first')).toEqual({ kind: 'read', value: 'first' });
  const second = readOne(2, 'second');
  await new Promise((done) => setImmediate(done));
  expect(read).toEqual(['first']);
  endRest();
  expect(await second).toEqual({ kind: 'read', value: 'second' });
  await vi.waitFor(() => expect(read).toEqual(['first', 'second']));
});
