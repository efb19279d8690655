import { expect, test } from 'vitest';
import { Calls } from '../../../src/kernel/calls.ts';

test('Each call gets its own result or failure, and an unknown number changes nothing', async () => {
  const calls = new Calls();
  const sent: number[] = [];
  const send = (call: number): void => void sent.push(call);
  const [first, second] = [calls.make<string>(send), calls.make<string>(send)];
  const [one = 0, two = 0] = sent;
  calls.returned(99, 'nobody');
  calls.failed(99, new Error('nobody'));
  calls.failed(one, new Error('the row cannot be read'));
  calls.returned(two, 'found');
  await expect(first).rejects.toThrow('the row cannot be read');
  expect(await second).toBe('found');
});

test('All open calls fail when the other side ends', async () => {
  const calls = new Calls();
  const open = calls.make<string>(() => {});
  calls.fail(new Error('ended'));
  await expect(open).rejects.toThrow('ended');
});
