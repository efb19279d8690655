import { expect, test } from 'vitest';
import { ReplayGuard } from '../../../src/local/replay-guard.ts';
import { REPLAY_HOLD_SECONDS, REPLAY_KEEP_SECONDS } from '../../../src/kernel/limits.ts';
import { SettledSeconds } from '../../../src/kernel/settled-seconds.ts';

const SEGMENTS = 1_024;
const NOW = 1_800_000_000;
const ACCEPTED = { keyNumber: 1 };

function guardWithClocks() {
  let runningMs = 0;
  const guard = new ReplayGuard(10_000, Buffer.alloc(16, 1), new SettledSeconds(REPLAY_HOLD_SECONDS, () => runningMs));
  /** Sweeps the whole table. */
  const sweep = (nowSeconds: number): number => {
    for (let n = 1; n < SEGMENTS; n++) guard.sweep(nowSeconds);
    return guard.sweep(nowSeconds);
  };
  return { guard, sweep, run: (seconds: number) => (runningMs += seconds * 1_000) };
}

test.each([360, 3 * 3_600, 40 * 86_400])(
  'A request id is not accepted again after the clock was ahead by %i s for ten minutes',
  (aheadSeconds) => {
    const { guard, sweep, run } = guardWithClocks();
    const stamp = NOW + 300;
    expect(guard.admit(1, 'an-id', stamp, NOW)).toMatchObject(ACCEPTED);
    for (let second = 0; second < 600; second++) {
      run(1);
      // What has expired by this time, the journal forgets too.
      expect(sweep(NOW + second + aheadSeconds)).toBeLessThan(stamp + REPLAY_KEEP_SECONDS);
      if (second === 0) expect(guard.admit(1, 'an-id', stamp, NOW + aheadSeconds)).toBe('replayed');
    }
    expect(guard.admit(1, 'an-id', stamp, NOW + 600)).toBe('replayed');
  },
);

test('Request ids expire by a clock that stays ahead', () => {
  const { guard, sweep, run } = guardWithClocks();
  expect(guard.admit(1, 'an-id', NOW, NOW)).toMatchObject(ACCEPTED);
  sweep(NOW);
  for (let second = 1; second <= 2 * REPLAY_HOLD_SECONDS; second++) {
    run(1);
    guard.sweep(NOW + 86_400 + second);
  }
  expect(sweep(NOW + 86_400 + 2 * REPLAY_HOLD_SECONDS)).toBe(NOW + 86_400 + 2 * REPLAY_HOLD_SECONDS);
  expect(guard.size).toBe(0);
});

test('Without a step of the clock, an id may be used again as soon as it has expired', () => {
  const { guard, run } = guardWithClocks();
  expect(guard.admit(1, 'an-id', NOW, NOW)).toMatchObject(ACCEPTED);
  run(REPLAY_KEEP_SECONDS - 1);
  expect(guard.admit(1, 'an-id', NOW, NOW + REPLAY_KEEP_SECONDS - 1)).toBe('replayed');
  run(1);
  expect(guard.admit(1, 'an-id', NOW, NOW + REPLAY_KEEP_SECONDS)).toMatchObject(ACCEPTED);
});
