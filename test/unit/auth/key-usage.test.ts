import { describe, expect, test } from 'vitest';
import { KeyUsage } from '../../../src/auth/key-usage.ts';

const HOUR = 3_600;
const START = 500_000 * HOUR + 1_800;

describe('the use of a key', () => {
  test('Calls and refusals of the last 24 hours are counted by key', () => {
    const usage = new KeyUsage(START);
    for (let n = 0; n < 3; n++) usage.accepted(1, START + n);
    usage.refused(1, 'rate_limited', START + 5);
    usage.refused(2, 'replayed_request', START + 5);
    expect(usage.read(1, START + 10)).toEqual({
      calls: 3,
      refusals: new Map([['rate_limited', 1]]),
      lastUsedSeconds: START + 2,
      sinceSeconds: START,
    });
    expect(usage.read(2, START + 10)).toMatchObject({ calls: 0, lastUsedSeconds: null });
    expect(usage.read(3, START + 10)).toMatchObject({ calls: 0, refusals: new Map(), lastUsedSeconds: null });
  });

  test('Hours leave one by one, and after a day nothing is left but the time of the last call', () => {
    const usage = new KeyUsage(START);
    for (let hour = 0; hour < 30; hour++) usage.accepted(1, START + hour * HOUR);
    const end = START + 29 * HOUR;
    expect(usage.read(1, end).calls).toBe(24);
    expect(usage.read(1, end).sinceSeconds).toBe(500_000 * HOUR + 6 * HOUR);
    expect(usage.read(1, end + HOUR).calls).toBe(23);
    expect(usage.read(1, end + 40 * HOUR)).toMatchObject({ calls: 0, lastUsedSeconds: end });
  });

  test('A clock that was set back counts on in its present hour', () => {
    const usage = new KeyUsage(START);
    usage.accepted(1, START + 5 * HOUR);
    usage.accepted(1, START);
    expect(usage.read(1, START + 5 * HOUR).calls).toBe(2);
  });

  test('A flood of refusals with made-up codes is bounded', () => {
    const usage = new KeyUsage(START);
    for (let n = 0; n < 1_000; n++) usage.refused(1, `code_${n}`, START);
    expect(usage.read(1, START).refusals.size).toBe(32);
  });
});
