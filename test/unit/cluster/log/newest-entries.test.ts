import { expect, test } from 'vitest';
import { NewestEntries } from '../../../../src/cluster/log/newest-entries.ts';

interface Entry {
  readonly number: number;
  readonly data: Buffer;
}

const MIB = 2 ** 20;

function newest(): NewestEntries<Entry> {
  return new NewestEntries<Entry>(({ data }) => data);
}

function entries(number: number, count: number, bytes: number): readonly Entry[] {
  return Array.from({ length: count }, () => ({ number, data: Buffer.alloc(bytes) }));
}

test('The oldest numbers are dropped whole, beyond 1,000 entries or 4 MiB', () => {
  const many = newest();
  many.add(entries(1, 3, 1));
  for (let number = 2; number <= 999; number++) many.add(entries(number, 1, 1));
  expect([many.all.length, many.all[0]?.number]).toEqual([998, 2]);
  const large = newest();
  for (let number = 1; number <= 3; number++) large.add(entries(number, 2, MIB));
  expect(large.all.map(({ number }) => number)).toEqual([2, 2, 3, 3]);
});

test('The newest number stays, however large it is, and the next one replaces it', () => {
  const kept = newest();
  kept.add(entries(1, 1, 10));
  kept.add(entries(2, 1, 5 * MIB));
  expect(kept.all.map(({ number }) => number)).toEqual([2]);
  kept.add(entries(3, 1, 10));
  expect(kept.all.map(({ number }) => number)).toEqual([3]);
  kept.clear();
  for (let number = 4; number <= 6; number++) kept.add(entries(number, 1, MIB));
  expect(kept.all.map(({ number }) => number)).toEqual([4, 5, 6]);
});
