import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairEntry, FairQueue } from '../../src/kernel/fair-queue.ts';
import { timesInFull } from '../support/long.ts';

const KEYS = ['a', 'b', 'c', 'd'] as const;
type Key = (typeof KEYS)[number];

interface Waiting {
  readonly key: Key;
  readonly value: number;
  readonly weight: number;
}

/** The same queue, written for clarity: one list of keys in turn, and one list of values for each key. */
class Model {
  lanes: { readonly key: Key; values: Waiting[] }[] = [];

  get all(): readonly Waiting[] {
    return this.lanes.flatMap(({ values }) => values);
  }

  of(key: Key): readonly Waiting[] {
    return this.lanes.find((lane) => lane.key === key)?.values ?? [];
  }

  put(one: Waiting, isFirst: boolean): void {
    const lane = this.lanes.find(({ key }) => key === one.key);
    if (lane === undefined) this.lanes.push({ key: one.key, values: [one] });
    else lane.values = isFirst ? [one, ...lane.values] : [...lane.values, one];
  }

  remove(one: Waiting): void {
    for (const lane of this.lanes) lane.values = lane.values.filter((other) => other !== one);
    this.lanes = this.lanes.filter(({ values }) => values.length > 0);
  }

  take(mayServe: (key: Key) => boolean): Waiting | null {
    const lane = this.lanes.find(({ key }) => mayServe(key));
    const [one] = lane?.values ?? [];
    if (lane === undefined || one === undefined) return null;
    this.lanes = [...this.lanes.filter((other) => other !== lane), lane];
    this.remove(one);
    return one;
  }

  rotate(mayServe: (value: number) => boolean): Waiting | null {
    const one = this.all.find(({ value }) => mayServe(value));
    const lane = this.lanes.find(({ key }) => key === one?.key);
    if (one === undefined || lane === undefined) return null;
    lane.values = [...lane.values.filter((other) => other !== one), one];
    this.lanes = [...this.lanes.filter((other) => other !== lane), lane];
    return one;
  }
}

const key = fc.constantFrom(...KEYS);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('put' as const), key, weight: fc.nat(9), first: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), blocked: fc.subarray([...KEYS]) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('rotate' as const), divisor: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), at: fc.nat(20) }) },
);

describe('the fair queue', () => {
  test('The queue serves, counts and removes exactly as a plain model of keys in turn', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new FairQueue<Key, number>();
        const model = new Model();
        const entries = new Map<number, FairEntry<Key, number>>();
        for (const [value, one] of steps.entries()) {
          switch (one.kind) {
            case 'put': {
              const entry = new FairEntry<Key, number>(value);
              entries.set(value, entry);
              const wasPut = one.first
                ? queue.putFirst(one.key, entry, one.weight)
                : queue.put(one.key, entry, one.weight);
              model.put({ key: one.key, value, weight: one.weight }, one.first);
              expect([wasPut, queue.has(entry), queue.put('a', entry, 1)]).toEqual([true, true, false]);
              break;
            }
            case 'take': {
              const mayServe = (key: Key): boolean => !one.blocked.includes(key);
              if (one.blocked.length === 0) expect(queue.peek()).toBe(model.all[0]?.value ?? null);
              const expected = model.take(mayServe)?.value ?? null;
              expect(one.blocked.length === 0 ? queue.take() : queue.take(mayServe)).toBe(expected);
              break;
            }
            case 'rotate': {
              const mayServe = (value: number): boolean => value % one.divisor === 0;
              expect(queue.rotate(mayServe)).toBe(model.rotate(mayServe)?.value ?? null);
              break;
            }
            case 'remove': {
              const entry = entries.get(one.at);
              if (entry === undefined) break;
              const waiting = model.all.find(({ value }) => value === one.at);
              if (waiting !== undefined) model.remove(waiting);
              expect([queue.remove(entry), queue.remove(entry)]).toEqual([waiting !== undefined, false]);
            }
          }
          const { all } = model;
          expect([queue.size, queue.weight, queue.keys]).toEqual([all.length, weightOf(all), model.lanes.length]);
          for (const one of KEYS)
            expect([queue.sizeOf(one), queue.weightOf(one)]).toEqual([model.of(one).length, weightOf(model.of(one))]);
        }
        const rest: (number | null)[] = [];
        while (queue.size > 0) rest.push(queue.take());
        const expected: (number | null)[] = [];
        while (model.all.length > 0) expected.push(model.take(() => true)?.value ?? null);
        expect([rest, queue.keys, queue.take()]).toEqual([expected, 0, null]);
      }),
      { numRuns: timesInFull(1_500) },
    );
  });

  test('No key starves: its next value waits for at most one value of each other key, whatever those put in meanwhile', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(counts, fc.array(fc.nat(7), { maxLength: 60 }), (counts, more) => {
        const queue = new FairQueue<number, number>();
        for (const [key, count] of counts.entries())
          for (let i = 0; i < count; i++) queue.put(key, new FairEntry<number, number>(key));
        const order: number[] = [];
        for (const key of more) {
          order.push(queue.take() ?? -1);
          if (key < counts.length) queue.put(key, new FairEntry<number, number>(key));
        }
        while (queue.size > 0) order.push(queue.take() ?? -1);
        for (const [key, count] of counts.entries()) {
          const positions = order.flatMap((served, at) => (served === key ? [at] : []));
          for (const [index, at] of positions.slice(0, count).entries())
            expect(at - (positions[index - 1] ?? -1)).toBeLessThanOrEqual(counts.length);
        }
      }),
      { numRuns: timesInFull(300) },
    );
  });

  test('A value that has left can be put in again, also in another queue, and is never removed from a queue that it is not in', () => {
    const [one, other] = [new FairQueue<string, number>(), new FairQueue<string, number>()];
    const entry = new FairEntry<string, number>(7);
    expect([one.put('a', entry, 3), other.put('a', entry), other.remove(entry)]).toEqual([true, false, false]);
    expect([one.take(), one.has(entry), one.weight]).toEqual([7, false, 0]);
    expect([other.put('b', entry, 5), one.remove(entry), other.has(entry), other.weightOf('b')]).toEqual([
      true,
      false,
      true,
      5,
    ]);
  });

  test('The bounds limit number and weight, of each key and of all, and count what is being prepared', () => {
    const queue = new FairQueue<string, number>({ sizeMax: 4, sizePerKeyMax: 2, weightMax: 10, weightPerKeyMax: 6 });
    const put = (key: string, weight: number): boolean => queue.put(key, new FairEntry<string, number>(0), weight);
    put('a', 2);
    expect([queue.hasRoom('a', 4), queue.hasRoom('a', 5), queue.hasRoom('b', 6), queue.hasRoom('b', 7)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([queue.hasRoom('a', 0, { own: 1, all: 1 }), queue.hasRoom('b', 0, { own: 1, all: 3 })]).toEqual([
      false,
      false,
    ]);
    put('a', 0);
    put('b', 6);
    expect([queue.hasRoom('a'), queue.hasRoom('c', 2), queue.hasRoom('c', 3)]).toEqual([false, true, false]);
    put('c', 0);
    expect(queue.hasRoom('d')).toBe(false);
  });
});

function weightOf(values: readonly Waiting[]): number {
  return values.reduce((sum, { weight }) => sum + weight, 0);
}
