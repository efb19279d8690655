import { expect, test } from 'vitest';
import { SettledSeconds } from '../../../src/kernel/settled-seconds.ts';

const HOLD = 600;

function clocks() {
  let runningMs = 7_000;
  let wallSeconds = 1_800_000_000;
  const settled = new SettledSeconds(HOLD, () => runningMs);
  return {
    /** Lets both clocks run, with a reading every second; returns the last one, relative to the wall clock. */
    run: (seconds: number): number => {
      for (let n = 0; n < seconds; n++) {
        runningMs += 1_000;
        wallSeconds += 1;
        settled.at(wallSeconds);
      }
      return settled.at(wallSeconds) - wallSeconds;
    },
    step: (seconds: number): number => {
      wallSeconds += seconds;
      return settled.at(wallSeconds) - wallSeconds;
    },
  };
}

test('The settled time is that of a clock that runs evenly', () => {
  const { run, step } = clocks();
  expect(step(0)).toBe(0);
  for (let n = 0; n < 10; n++) expect(run(317)).toBe(0);
});

test('The settled time ignores a clock that is set forward and back within the hold', () => {
  const { run, step } = clocks();
  run(1_000);
  expect(step(3_600)).toBe(-3_600);
  expect(run(HOLD - 1)).toBe(-3_600);
  expect(step(-3_600)).toBe(0);
  expect(run(3 * HOLD)).toBe(0);
});

test('The settled time follows a clock that stays ahead, at the latest after twice the hold', () => {
  const { run, step } = clocks();
  run(1_000);
  step(86_400);
  expect(run(HOLD - 1)).toBe(-86_400);
  expect(run(HOLD + 1)).toBe(0);
});

test('The settled time follows a clock that is set back at once', () => {
  const { run, step } = clocks();
  run(1_000);
  expect(step(-86_400)).toBe(0);
  expect(run(10)).toBe(0);
});
