import { describe, expect, test } from 'vitest';
import {
  ChangeChain,
  isLater,
  openEntry,
  sealEntry,
  type StreamEntry,
} from '../../../../src/cluster/feed/change-chain.ts';

const KEY = Buffer.alloc(32, 1);
const CLUSTER = 'c-1';
const PLACE = { number: 7, part: 1, parts: 3, previous: 'run:1:0', token: 'run:2:0' };

function sealed(place: Omit<StreamEntry, 'data'>, cluster = CLUSTER): StreamEntry {
  return { ...place, data: sealEntry(KEY, cluster, place, Buffer.from(`part ${place.part}`)) };
}

/** Changes 1, 2, … with this many parts each. */
function chain(...parts: readonly number[]): readonly StreamEntry[] {
  return parts.flatMap((count, n) =>
    Array.from({ length: count }, (_none, part) =>
      sealed({ number: n + 1, part, parts: count, previous: n === 0 ? '' : `t${n}`, token: `t${n + 1}` }),
    ),
  );
}

const START = { number: 0, last: '' };

function kindsOf(entries: readonly StreamEntry[]): readonly string[] {
  const reader = new ChangeChain(KEY, CLUSTER, START);
  return entries.map((entry) => reader.accept(entry).kind);
}

describe('the place of an entry', () => {
  test.each<Partial<StreamEntry>>([
    { number: 8 },
    { number: 6 },
    { part: 0 },
    { part: 2 },
    { parts: 4 },
    { previous: '' },
    { previous: 'run:2:0' },
    { token: 'run:1:0' },
    { token: 'run:3:0' },
    { previous: 'run:1:0","run:2:0', token: '' },
    { number: Number.NaN },
  ])('An entry cannot be decrypted in another one: %j', (other) => {
    const entry = sealed(PLACE);
    expect(openEntry(KEY, CLUSTER, entry)?.plain.toString()).toBe('part 1');
    expect(openEntry(KEY, CLUSTER, { ...entry, ...other })).toBeNull();
  });

  test('An entry cannot be decrypted in another cluster, or with another key', () => {
    expect(openEntry(KEY, 'c-2', sealed(PLACE))).toBeNull();
    expect(openEntry(Buffer.alloc(32, 2), CLUSTER, sealed(PLACE))).toBeNull();
  });
});

describe('a chain of changes', () => {
  test('Changes are complete with their last part, in order', () => {
    expect(kindsOf(chain(1, 3, 1))).toEqual(['complete', 'open', 'open', 'complete', 'complete']);
  });

  test('What no node wrote is passed over, and the chain goes on behind it', () => {
    const [first, second, third] = chain(1, 1, 1);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three changes');
    const junk = { ...second, data: Buffer.from('junk') };
    expect(kindsOf([first, junk, second, { ...first, number: 3 }, third])).toEqual([
      'complete',
      'broken',
      'complete',
      'broken',
      'complete',
    ]);
  });

  test('A change that does not follow is astray: one is missing, it was applied, or it follows another one', () => {
    const entries = chain(1, 1, 1);
    const [first, second, third] = entries;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three changes');
    const fork = sealed({ number: 2, part: 0, parts: 1, previous: 'x', token: 'y' });
    expect(kindsOf([first, third, first, fork, second, second, third])).toEqual([
      'complete',
      'astray',
      'astray',
      'astray',
      'complete',
      'astray',
      'complete',
    ]);
  });

  test('A part of another change with the same number is astray', () => {
    const [first] = chain(2);
    const other = sealed({ number: 1, part: 1, parts: 2, previous: '', token: 'other' });
    if (first === undefined) throw new Error('two parts');
    expect(kindsOf([first, other])).toEqual(['open', 'astray']);
  });
});

describe('the order of positions', () => {
  test('A later founding counts more than any number of changes', () => {
    const at = (term: number, number: number) => ({ term, number });
    expect(isLater(at(2, 1), at(1, 99))).toBe(true);
    expect(isLater(at(1, 99), at(2, 1))).toBe(false);
    expect([isLater(at(1, 2), at(1, 1)), isLater(at(1, 1), at(1, 1))]).toEqual([true, false]);
  });
});
