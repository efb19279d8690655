import { describe, expect, test } from 'vitest';
import { readEventTime } from '../../../src/replay/event-time.ts';

describe('readEventTime', () => {
  const AT = Date.UTC(2026, 10, 1, 10, 0, 5);
  test.each([
    [AT / 1_000, AT],
    [String(AT / 1_000), AT],
    [AT / 1_000 + 0.25, AT + 250],
    [AT, AT],
    [AT * 1_000, AT],
    [AT * 1_000_000, AT],
    [String(BigInt(AT) * 1_000_000n), AT],
    ['2026-11-01T10:00:05Z', AT],
    ['2026-11-01T10:00:05.123456Z', AT + 123],
    ['2026-11-01 10:00:05', AT],
    ['2026-11-01 10:00:05 UTC', AT],
    ['2026-11-01T12:00:05+02:00', AT],
    ['2026-11-01T12:00:05+0200', AT],
    ['2026-11-01T12:00:05+02', AT],
    ['2026-11-01T10:00Z', AT - 5_000],
    ['2026-11-01', Date.UTC(2026, 10, 1)],
  ])('reads %s', (given, ms) => {
    expect(readEventTime(given)).toBe(ms);
  });

  test.each([null, undefined, '', 'tomorrow', '01.11.2026', '2026-13-01', Number.NaN, {}])('refuses %s', (given) => {
    expect(readEventTime(given)).toBeNull();
  });
});
