import { describe, expect, onTestFinished, test } from 'vitest';
import type { DecisionStats, StatsPoint } from '../../../src/history/stats/decision-stats.ts';
import { decodeCounts, encodeCounts, PeriodCounts } from '../../../src/history/stats/period-counts.ts';
import { openDecisionLog, openDecisionStats } from '../../../src/history/open-decision-log.ts';
import { Slices, Turns } from '../../../src/state/tables/turns.ts';
import { decide as logDecision } from '../state/decision-log-support.ts';
import { customer, open, tempFolder } from '../state/support.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_SECONDS = 86_400;
/** The beginning of a day. */
const NOW = 1_790_035_200_000;
const ONE = customer(1);
const TWO = customer(2);

function tempStats() {
  const folder = tempFolder();
  let store = open(folder);
  onTestFinished(() => store.close());
  return {
    stats: openDecisionStats(store),
    reopen: async () => {
      await store.close();
      store = open(folder);
      return openDecisionStats(store);
    },
    rows: () => [...(store.decisionStats?.getKeys() ?? [])].length,
  };
}

function decide(stats: DecisionStats, atMs: number, times = 1, of = ONE): void {
  for (let n = 0; n < times; n++) {
    const counts = stats.countsOf(of, atMs);
    counts?.decided(4, 99.9, 2, 'login');
    counts?.reason('list_block');
  }
}

async function read(
  stats: DecisionStats,
  from: number,
  to: number,
  step: number,
  of = ONE,
): Promise<readonly StatsPoint[]> {
  const points: StatsPoint[] = [];
  await stats.read(of, from / 1000, to / 1000, step, new Slices(new Turns()), (point) => points.push(point));
  return points;
}

const blocksOf = (points: readonly StatsPoint[]): unknown[] =>
  points.map(({ at, counts }) => [at, counts.decisions[4]]);

describe('the counts of a period', () => {
  test('Counts survive being written, and can be added', () => {
    const counts = new PeriodCounts();
    for (let n = 0; n < 30; n++) counts.decided(n % 5, n * 3.4, n, `type ${n}`);
    counts.reason('ip_vpn');
    counts.refused('rate_limited');
    expect(decodeCounts(encodeCounts(counts))).toEqual(counts);
    expect(counts.eventTypes.size).toBe(17);
    expect(counts.eventTypes.get('other')).toBe(14);
    const twice = new PeriodCounts();
    twice.merge(counts);
    twice.merge(counts);
    expect([...twice.decisions]).toEqual([12, 12, 12, 12, 12]);
    expect(twice.scores.reduce((sum, count) => sum + count)).toBe(60);
    expect(twice.refusals.get('rate_limited')).toBe(2);
    expect(decodeCounts(Buffer.from('no counts'))).toBeNull();
  });

  test('Percentiles of the latency are accurate to a tenth, and a score of 100 is in the last bucket', () => {
    const counts = new PeriodCounts();
    expect(counts.latencyAt(0.5)).toBeNull();
    for (let n = 0; n < 98; n++) counts.decided(0, 100, 3, '');
    for (const slow of [80, 1e9]) counts.decided(0, 0, slow, '');
    expect(Math.abs((counts.latencyAt(0.5) ?? 0) / 3 - 1)).toBeLessThan(0.1);
    expect(Math.abs((counts.latencyAt(0.99) ?? 0) / 80 - 1)).toBeLessThan(0.1);
    expect(counts.latencyAt(1)).toBeGreaterThan(3_000);
    expect([counts.scores[0], counts.scores[19]]).toEqual([2, 98]);
  });
});

describe('the statistics of decisions', () => {
  test('The present minute is counted at once, and a restart in it loses and repeats nothing', async () => {
    const { stats, reopen } = tempStats();
    decide(stats, NOW, 3);
    expect(blocksOf(await read(stats, NOW, NOW + MINUTE_MS, 60))).toEqual([[NOW / 1000, 3]]);
    await stats.tend(NOW);
    decide(stats, NOW + 1, 2);
    expect(blocksOf(await read(stats, NOW, NOW + MINUTE_MS, 60))).toEqual([[NOW / 1000, 5]]);
    await stats.close();
    const again = await reopen();
    decide(again, NOW + 2, 4);
    expect(blocksOf(await read(again, NOW, NOW + MINUTE_MS, 60))).toEqual([[NOW / 1000, 9]]);
    await again.tend(NOW + 2);
    expect(blocksOf(await read(again, NOW, NOW + MINUTE_MS, 60))).toEqual([[NOW / 1000, 9]]);
    expect(await read(again, NOW, NOW + MINUTE_MS, 60, TWO)).toEqual([]);
  });

  test('Hours and days are the sums of their minutes, before and after they are summed', async () => {
    const { stats } = tempStats();
    for (let minute = 0; minute < 150; minute++) decide(stats, NOW + minute * MINUTE_MS);
    const hours = [
      [NOW / 1000, 60],
      [NOW / 1000 + 3_600, 60],
      [NOW / 1000 + 7_200, 30],
    ];
    const end = NOW + 3 * HOUR_MS;
    expect(blocksOf(await read(stats, NOW, end, 3_600))).toEqual(hours);
    await stats.tend(NOW + 150 * MINUTE_MS);
    expect(blocksOf(await read(stats, NOW, end, 3_600))).toEqual(hours);
    expect(blocksOf(await read(stats, NOW, end, DAY_SECONDS))).toEqual([[NOW / 1000, 150]]);
    expect(blocksOf(await read(stats, NOW + HOUR_MS, NOW + HOUR_MS + 2 * MINUTE_MS, 60))).toEqual([
      [NOW / 1000 + 3_600, 1],
      [NOW / 1000 + 3_660, 1],
    ]);
  });

  test('Hours are in order where some are summed and some are not', async () => {
    const { stats, reopen } = tempStats();
    // Decisions of hour 1 come after hours 0 and 2 were summed, as they do when the clock is set back.
    for (const hour of [0, 2])
      for (let minute = 0; minute < 60; minute++) decide(stats, NOW + hour * HOUR_MS + minute * MINUTE_MS);
    await stats.tend(NOW + 3 * HOUR_MS);
    await stats.close();
    const again = await reopen();
    for (const hour of [1, 3]) decide(again, NOW + hour * HOUR_MS, 5);
    const expected = [60, 5, 60, 5].map((count, hour) => [NOW / 1000 + hour * 3_600, count]);
    expect(blocksOf(await read(again, NOW, NOW + 4 * HOUR_MS, 3_600))).toEqual(expected);
    const minutes = (await read(again, NOW + HOUR_MS, NOW + 4 * HOUR_MS, 60)).map(({ at }) => at);
    expect(minutes).toEqual(minutes.toSorted((a, b) => a - b));
    expect(minutes.length).toBe(62);
    await again.tend(NOW + 3 * HOUR_MS + MINUTE_MS);
    expect(blocksOf(await read(again, NOW, NOW + 4 * HOUR_MS, 3_600))).toEqual(expected);
    expect(blocksOf(await read(again, NOW, NOW + 4 * HOUR_MS, DAY_SECONDS))).toEqual([[NOW / 1000, 130]]);
  });

  test('Minutes leave after a day and hours after 30 days, and hours of an earlier process are summed', async () => {
    const { stats, reopen, rows } = tempStats();
    for (let minute = 0; minute < 120; minute++) decide(stats, NOW + minute * MINUTE_MS);
    await stats.close();
    expect(rows()).toBe(120);
    const again = await reopen();
    await again.tend(NOW + 3 * HOUR_MS);
    expect(rows()).toBe(122);
    await again.tend(NOW + 30 * HOUR_MS);
    await again.tend(NOW + 31 * HOUR_MS);
    expect(rows()).toBe(2);
    expect(blocksOf(await read(again, NOW, NOW + 2 * HOUR_MS, 3_600))).toEqual([
      [NOW / 1000, 60],
      [NOW / 1000 + 3_600, 60],
    ]);
    await again.tend(NOW + 33 * 24 * HOUR_MS);
    await again.tend(NOW + 33 * 24 * HOUR_MS + HOUR_MS);
    expect(rows()).toBe(0);
  });

  test('Further customers of a minute are not counted', () => {
    const { stats } = tempStats();
    for (let n = 1; n <= 4_096; n++) expect(stats.countsOf(customer(n), NOW)).not.toBeNull();
    expect(stats.countsOf(customer(5_000), NOW)).toBeNull();
    expect(stats.countsOf(customer(7), NOW)).not.toBeNull();
    expect(stats.countsOf(customer(5_000), NOW + MINUTE_MS)).not.toBeNull();
  });
});

describe('statistics behind the log', () => {
  test('Decisions of the last day that have no statistics are counted from the log, once, while further ones arrive', async () => {
    const store = open(tempFolder());
    onTestFinished(() => store.close());
    const log = openDecisionLog(store);
    for (let n = 0; n < 300; n++) logDecision(log, ONE, { occurredAtMs: NOW - n * MINUTE_MS, decision: 'BLOCK' });
    logDecision(log, ONE, { occurredAtMs: NOW - 2 * DAY_SECONDS * 1000, decision: 'BLOCK' });
    await log.flush();
    for (let starts = 0; starts < 3; starts++) {
      const stats = openDecisionStats(store);
      stats.recountFrom(log, NOW + 1);
      const recount = stats.tend(NOW + 2);
      decide(stats, NOW + 2);
      logDecision(log, ONE, { occurredAtMs: NOW + 2, decision: 'BLOCK' });
      await recount;
      const points = await read(stats, NOW - 3 * DAY_SECONDS * 1000, NOW + HOUR_MS, DAY_SECONDS);
      expect(blocksOf(points)).toEqual([
        [NOW / 1000 - DAY_SECONDS, 299],
        [NOW / 1000, 2 + starts],
      ]);
      await stats.close();
    }
  });

  test('A minute of which the log has fewer decisions keeps its counts, and one that is corrected its refusals', async () => {
    const store = open(tempFolder());
    onTestFinished(() => store.close());
    const log = openDecisionLog(store);
    const stats = openDecisionStats(store);
    decide(stats, NOW, 3);
    decide(stats, NOW + MINUTE_MS, 1);
    stats.countsOf(ONE, NOW + MINUTE_MS)?.refused('rate_limited');
    await stats.close();
    for (const occurredAtMs of [NOW, NOW + MINUTE_MS, NOW + MINUTE_MS])
      logDecision(log, ONE, { occurredAtMs, decision: 'BLOCK' });
    const again = openDecisionStats(store);
    again.recountFrom(log, NOW + HOUR_MS);
    await again.tend(NOW + HOUR_MS);
    const points = await read(again, NOW, NOW + HOUR_MS, 60);
    expect(points.map(({ counts }) => [counts.decisions[4], counts.refusals.get('rate_limited')])).toEqual([
      [3, undefined],
      [2, 1],
    ]);
    expect(points[1]?.counts.latencyAt(1)).not.toBeNull();
  });
});
