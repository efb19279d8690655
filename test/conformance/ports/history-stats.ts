import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HistoryStats, HistoryStatsPoint } from '../../../src/ports/decision-history.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { Slices, Turns } from '../../../src/state/tables/turns.ts';
import { customer } from '../../unit/state/support.ts';

/** One decision or refusal, as the service counts it. */
export interface CountedEvent {
  readonly customer: CustomerNumber;
  readonly atMs: number;
  /** Position in `DECISIONS`; null for a refusal. */
  readonly decision: number | null;
  readonly score: number;
  readonly latencyMs: number;
  readonly eventType: string;
  /** A reason of the decision, or the code of the refusal. */
  readonly code: string;
}

/** The nodes that count one installation's requests: one of a single machine, at least two of a cluster. */
export interface HistoryStatsSubject {
  readonly nodes: readonly { readonly count: (event: CountedEvent) => void; readonly stats: HistoryStats<Slices> }[];
  /** Resolves when every node shows what any of them has counted before this call. */
  readonly settled: () => Promise<void>;
  /** Stops all nodes as a shutdown does, and starts them again. */
  readonly restart: () => Promise<HistoryStatsSubject>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The beginning of a day. */
const NOW = 1_790_035_200_000;
const ONE = customer(1);
const TWO = customer(2);
const STEPS = [60, 3_600, 86_400] as const;

/** What every adapter of the port `HistoryStats` promises: the counts of all nodes, by customer and period. */
export function describeHistoryStats(adapter: string, open: () => Promise<HistoryStatsSubject>): void {
  const slices = (): Slices => new Slices(new Turns());
  let turn = 0;

  function count({ nodes }: HistoryStatsSubject, fields: Partial<CountedEvent> = {}): void {
    const event = {
      customer: ONE,
      atMs: NOW,
      decision: 0,
      score: 10,
      latencyMs: 2,
      eventType: 'login',
      code: 'ip_vpn',
      ...fields,
    };
    nodes[turn++ % nodes.length]?.count(event);
  }

  /** Reads the same from every node, and returns what they agree on. */
  async function read(
    { nodes, settled }: HistoryStatsSubject,
    step: number,
    of = ONE,
    from = NOW - 24 * HOUR_MS,
    to = NOW + 24 * HOUR_MS,
  ): Promise<readonly HistoryStatsPoint[]> {
    await settled();
    const all = await Promise.all(
      nodes.map(async ({ stats }) => {
        const points: HistoryStatsPoint[] = [];
        await stats.read(of, from / 1_000, to / 1_000, step, slices(), (point) => points.push(point));
        return points;
      }),
    );
    const [first = []] = all;
    for (const points of all) expect(points.map(shown)).toEqual(first.map(shown));
    return first;
  }

  describe(`the statistics of history, ${adapter}`, () => {
    test('Decisions, event types, reasons, scores and refusals are counted, of whatever node', async () => {
      const subject = await open();
      for (let n = 0; n < 12; n++)
        count(subject, { decision: n % DECISIONS.length, score: 5 * n, eventType: `t${n % 2}` });
      count(subject, { decision: null, code: 'rate_limited' });
      const points = await read(subject, 60);
      expect(points.map(shown)).toEqual([
        {
          at: NOW / 1_000,
          decisions: DECISIONS.map((_name, at) => (at < 12 % DECISIONS.length ? 3 : 2)),
          scored: 12,
          eventTypes: { t0: 6, t1: 6 },
          reasons: { ip_vpn: 12 },
          refusals: { rate_limited: 1 },
        },
      ]);
    });

    test('A customer sees its own counts only', async () => {
      const subject = await open();
      for (let n = 0; n < 5; n++) count(subject, { customer: n < 2 ? ONE : TWO });
      expect((await read(subject, 60, ONE)).map(totalOf)).toEqual([2]);
      expect((await read(subject, 60, TWO)).map(totalOf)).toEqual([3]);
      expect(await read(subject, 60, customer(3))).toEqual([]);
    });

    test('Percentiles of the latency are those of the decisions of all nodes', async () => {
      const subject = await open();
      for (let n = 0; n < 100; n++) count(subject, { latencyMs: n < 90 ? 4 : 200 });
      const [point] = await read(subject, 60);
      expect(Math.abs((point?.counts.latencyAt(0.5) ?? 0) / 4 - 1)).toBeLessThan(0.2);
      expect(Math.abs((point?.counts.latencyAt(0.99) ?? 0) / 200 - 1)).toBeLessThan(0.2);
    });

    test('Minutes, hours and days have the same sums, in order and without empty periods, also after a restart', async () => {
      const minutes = fc.array(fc.integer({ min: 0, max: 4 * 60 }), { minLength: 1, maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(minutes, fc.boolean(), async (given, restarts) => {
          let subject = await open();
          const times = given.toSorted((a, b) => a - b).map((minute) => NOW + minute * MINUTE_MS);
          const half = Math.floor(times.length / 2);
          for (const atMs of times.slice(0, half)) count(subject, { atMs });
          if (restarts) subject = await subject.restart();
          for (const atMs of times.slice(half)) count(subject, { atMs });
          for (const step of STEPS) {
            const expected = new Map<number, number>();
            for (const atMs of times) {
              const at = atMs / 1_000 - ((atMs / 1_000) % step);
              expected.set(at, (expected.get(at) ?? 0) + 1);
            }
            const points = await read(subject, step);
            expect(points.map((point) => [point.at, totalOf(point)])).toEqual([...expected]);
          }
        }),
        { numRuns: 20 },
      );
    });

    test('Only the periods that were asked for are returned', async () => {
      const subject = await open();
      for (let minute = 0; minute < 10; minute++) count(subject, { atMs: NOW + minute * MINUTE_MS });
      const points = await read(subject, 60, ONE, NOW + 3 * MINUTE_MS, NOW + 6 * MINUTE_MS);
      expect(points.map(({ at }) => (at * 1_000 - NOW) / MINUTE_MS)).toEqual([3, 4, 5]);
    });
  });
}

function totalOf({ counts }: HistoryStatsPoint): number {
  return sum(counts.decisions);
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((all, value) => all + value, 0);
}

function shown({ at, counts }: HistoryStatsPoint): unknown {
  return {
    at,
    decisions: Array.from(counts.decisions),
    scored: sum(counts.scores),
    eventTypes: Object.fromEntries(counts.eventTypes),
    reasons: Object.fromEntries(counts.reasons),
    refusals: Object.fromEntries(counts.refusals),
  };
}
