import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import {
  MANAGEMENT_PAUSE_MS_MAX,
  MANAGEMENT_SLICE_MS,
  HELD_REST_MS_MAX,
  THREAD_REST_MS_MAX,
} from '../../../../src/kernel/limits.ts';
import { type DecideLoad, Slices, Turns, walkInSlices } from '../../../../src/state/tables/turns.ts';
import { tempStore } from '../support.ts';

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

test('One waiting call is served per turn of the event loop', async () => {
  const turns = new Turns();
  const had: number[] = [];
  for (let n = 0; n < 3; n++) void turns.next().then(() => had.push(n));
  for (let n = 1; n <= 3; n++) {
    await turn();
    expect(had.length).toBeLessThanOrEqual(n);
  }
  await vi.waitFor(() => expect(had).toEqual([0, 1, 2]));
});

test('Customers take turns, and each one finishes a call before it begins the next', async () => {
  const turns = new Turns();
  const had: string[] = [];
  const call = async (customer: number, name: string): Promise<void> => {
    const slices = new Slices(turns, customer as CustomerNumber);
    for (let n = 1; n <= 2; n++) {
      await slices.begin();
      had.push(`${name}${n}`);
    }
  };
  await Promise.all([call(1, 'a'), call(1, 'b'), call(1, 'c'), call(2, 'other')]);
  expect(had).toEqual(['a1', 'other1', 'a2', 'other2', 'b1', 'b2', 'c1', 'c2']);
});

test('A call that takes long lets the other calls of its customer go first from time to time', async () => {
  const turns = new Turns();
  const long = new Slices(turns, 1 as CustomerNumber);
  let begun = 0;
  const progress = { isOver: false };
  const running = (async () => {
    for (; !progress.isOver; begun++) await long.begin();
  })();
  await new Slices(turns, 1 as CustomerNumber).begin();
  expect(begun).toBeLessThan(100);
  progress.isOver = true;
  await running;
});

test.each<readonly [load: DecideLoad, workMs: number, heldMs: number, restMs: number]>([
  ['idle', 20, 7, 0],
  ['active', 10, 0, 70],
  ['behind', 5, 0, 45],
  ['behind', 5_000, 0, THREAD_REST_MS_MAX],
  ['active', 10, 0.2, 70],
  ['active', 10, 7, 980],
  ['behind', 5_000, 50, HELD_REST_MS_MAX],
])(
  'While decisions are %s, a thread rests after %d ms of work, and %d ms of the main thread, for %d ms',
  async (...row) => {
    const [load, workMs, heldMs, restMs] = row;
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const turns = new Turns();
    turns.giveWayTo(() => load);
    let isOver = false;
    const resting = turns.rest(workMs, heldMs).then(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(Math.max(0, restMs - 1));
    expect(isOver).toBe(restMs === 0);
    await vi.advanceTimersByTimeAsync(1);
    await resting;
  },
);

describe('time slices beside decisions', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test.each<readonly [load: DecideLoad, sliceMs: number, pauseMs: number]>([
    ['idle', 5, 0],
    ['active', 0.5, 5],
    ['behind', 0.3, 6],
    ['behind', 50, MANAGEMENT_PAUSE_MS_MAX],
  ])('While decisions are %s, a slice of %d ms is followed by a pause of %d ms', async (load, sliceMs, pauseMs) => {
    const turns = new Turns();
    turns.giveWayTo(() => load);
    const had: number[] = [];
    // The work of the slice takes this long.
    void turns.next().then(() => void vi.advanceTimersByTime(sliceMs));
    void turns.next().then(() => had.push(performance.now()));
    for (let n = 0; n < 5; n++) await turn();
    const beforeMs = performance.now();
    for (let ms = 0; ms < 20 && had.length === 0; ms++) {
      await vi.advanceTimersByTimeAsync(1);
      await turn();
      await turn();
    }
    expect(had).toHaveLength(1);
    expect(Math.round((had[0] ?? 0) - (pauseMs === 0 ? (had[0] ?? 0) : beforeMs))).toBe(pauseMs);
  });
});

test('A walk ends its slice in time and continues after the last visited row', async () => {
  const { state } = tempStore();
  const table = state.openDB<Buffer, Buffer>({ name: 'customers', encoding: 'binary', keyEncoding: 'binary' });
  for (let n = 0; n < 40; n++) void table.put(Buffer.from([n]), Buffer.from([n]));
  await table.flushed;
  const turns = new Turns();
  const slices = new Slices(turns);
  const begin = vi.spyOn(slices, 'begin');
  await slices.begin();
  for (const reverse of [false, true]) {
    const seen: number[] = [];
    const range = { start: Buffer.from([reverse ? 35 : 5]), end: Buffer.from([reverse ? 5 : 35]), reverse };
    begin.mockClear();
    await walkInSlices(table, { ...range, exclusiveStart: true }, slices, (key) => {
      seen.push(key[0] ?? -1);
      // As long as a whole slice.
      const until = performance.now() + MANAGEMENT_SLICE_MS;
      while (performance.now() < until);
      return 'on';
    });
    const wanted = Array.from({ length: 29 }, (_, n) => n + 6);
    expect(seen).toEqual(reverse ? wanted.toReversed() : wanted);
    expect(begin).toHaveBeenCalledTimes(29);
  }
});
