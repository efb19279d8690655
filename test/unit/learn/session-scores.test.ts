import { describe, expect, it } from 'vitest';
import { type ScoredSession, thresholdFor } from '../../../src/learn/session-scores.ts';

function session(top: number, more: Partial<ScoredSession> = {}): ScoredSession {
  return { top, topRow: 0, isFraud: false, source: 'unlabelled', isStopped: false, weight: 1, ...more };
}

describe('thresholdFor', () => {
  const honest = Array.from({ length: 100 }, (_, n) => session(n / 10_000));

  it('A budget of less than one session gives a threshold just above all honest ones', () => {
    // By odds, halfway to the fraud at .05.
    const threshold = thresholdFor(
      [...honest, session(0.05, { isFraud: true }), session(0.012, { isFraud: true })],
      0.002,
    );
    expect(threshold).toBeGreaterThan(0.0099);
    expect(threshold).toBeLessThan(0.012);
    const alone = thresholdFor(honest, 0.002);
    expect(alone).toBeGreaterThan(0.0099);
    expect(alone).toBeLessThan(0.02);
  });

  it('A session counts as many times as it stands for', () => {
    const sampled = [...honest, session(0.04), session(0.03, { weight: 20 }), session(0.02, { weight: 20 })];
    // 142 sessions, of which 1 is allowed, then 21, then 41.
    expect(thresholdFor(sampled, 0.01)).toBeGreaterThan(0.03);
    expect(thresholdFor(sampled, 0.01)).toBeLessThan(0.04);
    expect(thresholdFor(sampled, 0.2)).toBeGreaterThan(0.02);
    expect(thresholdFor(sampled, 0.2)).toBeLessThan(0.03);
  });

  it('Sessions that the rules stop use none of the budget', () => {
    const stopped = [...honest, session(0.9, { isStopped: true })];
    expect(thresholdFor(stopped, 0)).toBeLessThan(0.02);
  });

  it.each([0, 1])('A probability of %d gives a threshold from 0 to 1', (top) => {
    const threshold = thresholdFor([session(top)], 0);
    expect(threshold).toBeGreaterThan(0);
    expect(threshold).toBeLessThanOrEqual(1);
  });
});
