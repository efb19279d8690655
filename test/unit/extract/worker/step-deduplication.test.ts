import { describe, expect, test } from 'vitest';
import { KeyRoom, KnownSteps } from '../../../../src/extract/worker/step-deduplication.ts';

const steps = (...keys: string[]): { key: string; state: object & Record<string, never> }[] =>
  keys.map((key) => ({ key, state: {} }));
const unknown = (known: KnownSteps, ...keys: string[]): string[] => known.unknown(steps(...keys)).map(({ key }) => key);

describe('KnownSteps', () => {
  test('a step counts as known only after its result was reported as stored', () => {
    const known = new KnownSteps(new KeyRoom());
    known.sent(1, ['a', 'b']);
    known.sent(2, ['b', 'c']);
    expect(unknown(known, 'a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    known.written([2, 9]);
    expect(unknown(known, 'a', 'b', 'c')).toEqual(['a']);
    known.written([1]);
    expect(unknown(known, 'a', 'b', 'c', 'd')).toEqual(['d']);
  });

  test('the known steps of all jobs share a limited space, and free it at the end', () => {
    const room = new KeyRoom(100);
    const [one, other] = [new KnownSteps(room), new KnownSteps(room)];
    one.sent(1, ['a', 'b']);
    one.written([1]);
    other.sent(2, ['c', 'd']);
    other.written([2]);
    // 33 each, including the overhead of a key.
    expect([unknown(one, 'a', 'b'), unknown(other, 'c', 'd')]).toEqual([[], ['d']]);
    one.forget();
    expect(unknown(one, 'a', 'b')).toEqual(['a', 'b']);
    other.sent(3, ['d', 'e', 'f']);
    other.written([3]);
    expect(unknown(other, 'c', 'd', 'e', 'f')).toEqual(['f']);
  });

  test('long lists of steps are not kept', () => {
    const known = new KnownSteps(new KeyRoom());
    const keys = Array.from({ length: 1_001 }, (_, i) => `k${i}`);
    known.sent(1, keys);
    known.sent(2, keys.slice(1));
    known.written([1]);
    expect(unknown(known, 'k0', 'k1')).toEqual(['k0', 'k1']);
    known.written([2]);
    expect(unknown(known, 'k0', 'k1')).toEqual(['k0']);
  });
});
