import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { Decision } from '../../../../src/risk/decision.ts';
import type { ReviewReason } from '../../../../src/risk/judgement.ts';
import { ReviewIntake } from '../../../../src/state/tables/review-intake.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 10, 1);
const MINE = 1 as CustomerNumber;

interface Kind {
  readonly name: string;
  readonly why: ReviewReason;
  readonly decision: Decision;
  readonly wouldBe?: Decision;
  /** Rows a day. */
  readonly perDay: number;
}

const PASSED = { name: 'passed', why: 'challenger', decision: 'ALLOW' } as const;
const STOPPED = { name: 'stopped', why: 'challenger', decision: 'BLOCK' } as const;
const SAMPLED = { name: 'sampled', why: 'sample', decision: 'ALLOW' } as const;
const WORK = { name: 'work', why: 'challenger', decision: 'REVIEW' } as const;

/** Plays days of traffic, hour by hour, and returns how many rows of each kind were admitted on the last one. */
function lastDayOf(kinds: readonly Kind[], days: number, intake = new ReviewIntake(1_000)): Record<string, number> {
  const admitted: Record<string, number> = {};
  for (let hour = 0; hour < 24 * days; hour++) {
    if (hour === 24 * (days - 1)) for (const { name } of kinds) admitted[name] = 0;
    for (const { name, perDay, wouldBe = null, ...row } of kinds) {
      for (let n = 0; n < Math.round(perDay / 24); n++) {
        const occurredAtMs = START_MS + hour * HOUR_MS + Math.floor((n * HOUR_MS) / (perDay / 24));
        if (intake.admits(MINE, { ...row, wouldBe, occurredAtMs })) admitted[name] = (admitted[name] ?? 0) + 1;
      }
    }
  }
  return admitted;
}

describe('the room of the shadow review queue', () => {
  test('A challenger that disagrees with everything gets its shares, and samples and open work lose nothing', () => {
    const flood = [
      { ...PASSED, perDay: 24_000 },
      { ...STOPPED, perDay: 9_600 },
      { ...SAMPLED, perDay: 240 },
      { ...WORK, perDay: 480 },
    ];
    const { passed = 0, stopped = 0, ...rest } = lastDayOf(flood, 5);
    expect(rest).toEqual({ sampled: 240, work: 480 });
    expect(passed).toBeGreaterThan(580);
    expect(passed).toBeLessThan(640);
    expect(stopped).toBeGreaterThan(190);
    expect(stopped).toBeLessThan(220);
  });

  test('What one kind leaves unused goes to the others', () => {
    const { passed = 0, ...rest } = lastDayOf(
      [
        { ...PASSED, perDay: 24_000 },
        { ...SAMPLED, perDay: 48 },
      ],
      10,
    );
    expect(rest).toEqual({ sampled: 48 });
    // All but the samples.
    expect(passed).toBeGreaterThan(930);
    expect(passed).toBeLessThan(970);
    expect(lastDayOf([{ ...STOPPED, perDay: 960 }], 5)).toEqual({ stopped: 960 });
  });

  test('Samples are never refused, even beyond the room, and leave a challenger its own share', () => {
    const { passed = 0, sampled } = lastDayOf(
      [
        { ...PASSED, perDay: 24_000 },
        { ...SAMPLED, perDay: 24_000 },
      ],
      10,
    );
    expect(sampled).toBe(24_000);
    expect(passed).toBeGreaterThan(590);
    expect(passed).toBeLessThan(820);
  });

  test('In observe mode the decision that would have been is the one that a challenger differs from', () => {
    const intake = new ReviewIntake(10);
    const admits = (wouldBe: Decision | null): boolean =>
      intake.admits(MINE, { why: 'challenger', decision: 'ALLOW', wouldBe, occurredAtMs: START_MS });
    expect(Array.from({ length: 8 }, () => admits(null))).toEqual([
      ...Array.from({ length: 6 }, () => true),
      false,
      false,
    ]);
    expect([admits('BLOCK'), admits('BLOCK'), admits('BLOCK')]).toEqual([true, true, false]);
  });

  test('Each customer has a room, and a clock that goes back gives none', () => {
    const intake = new ReviewIntake(10);
    const admits = (customer: number, atMs: number): boolean =>
      intake.admits(customer as CustomerNumber, { ...PASSED, wouldBe: null, occurredAtMs: atMs });
    for (let n = 0; n < 6; n++) expect(admits(1, START_MS)).toBe(true);
    expect([admits(1, START_MS), admits(1, START_MS - 9 * HOUR_MS), admits(1, START_MS)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(admits(2, START_MS)).toBe(true);
    expect(admits(1, START_MS + 24 * HOUR_MS)).toBe(true);
  });
});
