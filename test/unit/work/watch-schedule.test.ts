import { describe, expect, test } from 'vitest';
import { dueAfter, dueRun, readCron, readEvery, showEvery } from '../../../src/work/watch-schedule.ts';

const at = (text: string): number => Date.parse(`${text}Z`);
const next = (line: string, after: string): string =>
  new Date(dueAfter({ kind: 'cron', line }, 0, at(after))).toISOString().slice(0, 16);

describe('every', () => {
  test.each([
    ['5m', 300],
    ['90m', 5_400],
    ['6h', 21_600],
    ['365d', 31_536_000],
  ])('%s is read', (text, seconds) => {
    expect(readEvery(text)).toBe(seconds);
  });
  test.each(['4m', '366d', '0m', '5', '5s', '1.5h', '-5m', '05m', ''])('%s is refused', (text) => {
    expect(readEvery(text)).toBeNull();
  });
  test('Seconds are shown in the largest unit', () => {
    expect([300, 5_400, 7_200, 172_800].map(showEvery)).toEqual(['5m', '90m', '2h', '2d']);
  });
});

describe('cron', () => {
  test.each([
    ['*/15 * * * *', '2026-11-28T10:15', '2026-11-28T10:30'],
    ['0 6 * * MON-FRI', '2026-11-28T10:00', '2026-11-30T06:00'],
    ['30 23 31 12 *', '2026-11-28T10:00', '2026-12-31T23:30'],
    ['0 0 29 2 *', '2026-11-28T10:00', '2028-02-29T00:00'],
    ['0 12 13 * FRI', '2026-11-28T10:00', '2026-12-04T12:00'],
    ['0 12 * * 7', '2026-11-28T10:00', '2026-11-29T12:00'],
    ['5/20 8,18 * jan *', '2026-11-28T10:00', '2027-01-01T08:05'],
  ])('%s after %s comes at %s', (line, after, expected) => {
    expect(readCron(line)).not.toBeNull();
    expect(next(line, after)).toBe(expected);
  });
  test.each([
    '* * * * *',
    '*/4 * * * *',
    '0,58 * * * *',
    '0 0 30 2 *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * 13 *',
    '0 0 * * 8',
    '0 0 * *',
    '0 0 * * * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '1-2-3 * * * *',
    'a * * * *',
    ', * * * *',
    '@daily',
    '',
  ])('%s is refused', (line) => {
    expect(readCron(line)).toBeNull();
  });
});

test('A run stands for the newest due time, and counts those before it as missed', () => {
  const schedule = { kind: 'cron', line: '0 * * * *' } as const;
  const due = dueRun({ schedule, anchorMs: 0, dueAtMs: at('2026-11-28T10:00') }, at('2026-11-28T13:20'));
  expect(due).toEqual({ dueAtMs: at('2026-11-28T13:00'), missed: 3, nextDueAtMs: at('2026-11-28T14:00') });
  expect(dueRun({ schedule, anchorMs: 0, dueAtMs: at('2026-11-28T10:00') }, at('2026-11-28T09:59'))).toBeNull();
});
