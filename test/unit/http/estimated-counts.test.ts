import { expect, test } from 'vitest';
import { EstimatedCounts } from '../../../src/http/estimated-counts.ts';
import { CONNECTIONS_CENSUS_GAP_MS } from '../../../src/kernel/limits.ts';

const MAX = 100;

/** Counts with a census that the test ends, and a clock that it sets. */
function setUp() {
  const running: ((counted: ReadonlyMap<string, number> | null) => void)[] = [];
  const clock = { nowMs: 0 };
  const census = (): Promise<ReadonlyMap<string, number> | null> => new Promise((resolve) => running.push(resolve));
  const counts = new EstimatedCounts(census, MAX, () => clock.nowMs);
  const end = async (counted: Readonly<Record<string, number>> | null): Promise<void> => {
    running.at(-1)?.(counted === null ? null : new Map(Object.entries(counted)));
    await Promise.resolve();
  };
  const open = (source: string, times: number): void => {
    for (let n = 0; n < times; n++) counts.opened(source);
  };
  return { counts, clock, end, open, begun: () => running.length };
}

test('Nothing is counted while fewer connections are open than half of what one source may have', () => {
  const { counts, begun } = setUp();
  expect(counts.of('a', 49)).toBe(49);
  expect(begun()).toBe(0);
});

test('An estimate adds the connections opened since the last census began to its count, and never exceeds all open connections', async () => {
  const { counts, end, open } = setUp();
  expect(counts.of('a', 60)).toBe(50);
  open('a', 5);
  expect(counts.of('a', 65)).toBe(55);
  await end({ a: 3, b: 40 });
  expect(counts.of('a', 65)).toBe(8);
  expect(counts.of('b', 65)).toBe(40);
  expect(counts.of('c', 65)).toBe(0);
  open('b', 90);
  expect(counts.of('b', 70)).toBe(70);
});

test('A new census no longer counts closed connections, and the next one begins after a pause', async () => {
  const { counts, clock, end, open, begun } = setUp();
  counts.of('a', 60);
  await end({ a: 90 });
  open('a', 10);
  expect(counts.of('a', 100)).toBe(100);
  expect(begun()).toBe(1);
  clock.nowMs += CONNECTIONS_CENSUS_GAP_MS;
  expect(counts.of('a', 100)).toBe(100);
  expect(begun()).toBe(2);
  open('a', 1);
  await end({ a: 4 });
  expect(counts.of('a', 100)).toBe(5);
});

test('Without a census no source is refused', async () => {
  const { counts, end } = setUp();
  counts.of('a', 60);
  await end(null);
  expect(counts.of('a', 60)).toBe(0);
});

test('A census that began before most connections closed is not used afterwards', async () => {
  const { counts, end } = setUp();
  counts.of('a', 60);
  counts.of('a', 10);
  await end({ a: 95 });
  expect(counts.of('a', 60)).toBe(50);
});
