import { describe, expect, test } from 'vitest';
import { toCsv } from '../../../src/web/dashboard/to-csv.ts';
import {
  formatAgo,
  formatPercent,
  formatPoints,
  formatRate,
  formatSeconds,
  formatShare,
} from '../../../src/web/dashboard/format.ts';
import { latencyOf, sumStats, toPeriods } from '../../../src/web/dashboard/stats-sums.ts';

const NONE = { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };

function point(at: number, decisions: Partial<typeof NONE>, latency: { p50: number | null; p99: number | null }) {
  const scores = Array.from({ length: 20 }, (_, n) => (n === 19 ? 1 : 0));
  return {
    at,
    decisions: { ...NONE, ...decisions },
    event_types: {},
    reasons: { ip_tor: 2 },
    scores,
    latency_ms: latency,
    refusals: { rate_limited: 1 },
  };
}

describe('Numbers as the pages write them', () => {
  test('are short and have a unit', () => {
    expect(formatShare(184, 10_000)).toBe('1.8 %');
    expect(formatShare(1, 0)).toBe('–');
    expect(formatPercent(0.5)).toBe('50 %');
    expect(formatPoints(0.003)).toBe('+0.3');
    expect(formatPoints(-0.003)).toBe('−0.3');
    expect(formatPoints(0)).toBe('±0.0');
    expect(formatSeconds(5_400)).toBe('1 h 30 min');
    expect(formatSeconds(0)).toBe('0 s');
    expect(formatAgo(100, 102)).toBe('just now');
    expect(formatAgo(0, 200)).toBe('3 min ago');
    expect(formatAgo(7_300, 0)).toBe('in 2 h');
  });

  test.each([
    [0, 60, 'none yet'],
    [90_000, 3_600, '1,500 a minute'],
    [8, 3_600, '0.1 a minute'],
    [5, 3_600, '5.0 an hour'],
    [3, 86_400, '0.1 an hour'],
    [2, 86_400, '2.0 a day'],
    [3, 2_592_000, 'less than one a day'],
  ])('name a rate of %i in %i s as %s', (count, seconds, text) => {
    expect(formatRate(count, seconds)).toBe(text);
  });

  test('are summed over periods', () => {
    const points = [
      point(0, { ALLOW: 8, BLOCK: 2 }, { p50: 1, p99: 5 }),
      point(60, { SOFT_CHALLENGE: 10 }, { p50: 3, p99: 4 }),
      point(120, {}, { p50: null, p99: null }),
    ];
    const sums = sumStats(points);
    expect(sums).toMatchObject({ total: 20, stopped: 12, refused: 3 });
    expect(sums.reasons.get('ip_tor')).toBe(6);
    expect(latencyOf(points)).toEqual({ p50: 2, p99: 5 });
    expect(latencyOf([])).toEqual({ p50: null, p99: null });
  });

  test('of a day are grouped into at most 96 columns, empty ones too', () => {
    const { seconds, periods } = toPeriods([point(900, { ALLOW: 1 }, { p50: 1, p99: 1 })], {
      from: 0,
      to: 86_400,
      step: 60,
    });
    expect(seconds).toBe(900);
    expect(periods).toHaveLength(96);
    expect(periods.map(({ points }) => points.length)).toEqual([0, 1, ...Array.from({ length: 94 }, () => 0)]);
  });

  test('and texts of an export cannot become formulas of a spreadsheet', () => {
    const rows = [
      ['=HYPERLINK("x")', -1],
      [' +1', null],
      ['a,b\n"c"', 2],
    ];
    expect(toCsv(['text', 'n'], rows)).toBe('text,n\r\n"\'=HYPERLINK(""x"")",-1\r\n\' +1,\r\n"a,b\n""c""",2\r\n');
  });
});
