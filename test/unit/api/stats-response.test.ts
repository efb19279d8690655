import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndpointFactory } from '../../../src/api/kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest } from '../../../src/api/kit/endpoint-types.ts';
import { JsonBytes } from '../../../src/api/kit/json-bytes.ts';
import { statsHandlers } from '../../../src/api/stats-handlers.ts';
import { PeriodCounts } from '../../../src/history/stats/period-counts.ts';
import { ANSWER_PIECE_BYTES } from '../../../src/kernel/limits.ts';
import type { HistoryStatsPoint } from '../../../src/ports/decision-history.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { customer } from '../state/support.ts';

const COUNTS = [0, 1, 9, 10, 99, 100, 65_536, 999_999_999, 1_000_000_000, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 1];

describe('a response of bytes', () => {
  test('Parts of any length, and numbers of any length, are written one after the other', () => {
    const part = fc.oneof(
      fc.constantFrom(...COUNTS),
      fc.string({ unit: 'grapheme', maxLength: 80 }),
      fc.constantFrom('x'.repeat(8_192), 'y'.repeat(5_000)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
        const out = new JsonBytes();
        for (const one of parts) {
          if (typeof one === 'number') out.count(one);
          else out.put(Buffer.from(`,${one}`), 1);
        }
        const pieces = out.done();
        expect(Buffer.concat(pieces).toString()).toBe(parts.map((one) => Buffer.from(String(one)).toString()).join(''));
        for (const piece of pieces.slice(0, -1)) expect(piece.length).toBeGreaterThanOrEqual(ANSWER_PIECE_BYTES);
      }),
    );
    expect(() => new JsonBytes().put(Buffer.alloc(8_193))).toThrow(RangeError);
  });
});

describe('the response of GET /v1/stats', () => {
  test('Every name is escaped, and every count is in its place', async () => {
    const points = Array.from({ length: 200 }, (_none, n) => {
      const counts = new PeriodCounts();
      counts.decided(n % 5, n % 101, 3, `type "${n % 7}" ö \u0001 ${'x'.repeat(n)}`);
      for (let code = n; code < n + 40; code++) counts.reason(`reason ${code % 50}`);
      counts.refused('rate_limited');
      return { at: n * 3_600, counts };
    });
    const body = await bodyOf(points);
    expect(body).toEqual({
      from: 0,
      to: 720_000,
      step: 3_600,
      points: points.map(({ at, counts }) => ({
        at,
        decisions: Object.fromEntries(DECISIONS.map((name, n) => [name, counts.decisions[n]])),
        event_types: Object.fromEntries(counts.eventTypes),
        reasons: Object.fromEntries(counts.reasons),
        scores: counts.scores,
        latency_ms: { p50: counts.latencyAt(0.5), p99: counts.latencyAt(0.99) },
        refusals: { rate_limited: 1 },
      })),
    });
    expect(await bodyOf([])).toEqual({ from: 0, to: 720_000, step: 3_600, points: [] });
    expect(await bodyOf([], 'one_address')).toMatchObject({ address_warning: 'one_address', points: [] });
  });
});

async function bodyOf(points: readonly HistoryStatsPoint[], warning: string | null = null): Promise<unknown> {
  const handlers: EndpointHandler[] = [];
  const endpoint = (_options: unknown, handler: EndpointHandler) => handlers.push(handler);
  statsHandlers(endpoint as unknown as EndpointFactory, {
    stats: {
      read(_customer, _from, _to, _step, _slices, visit) {
        for (const point of points) visit(point);
        return Promise.resolve();
      },
    },
    addressWarning: () => warning,
  });
  const request = {
    caller: { customer: customer(1) },
    query: new URLSearchParams({ from: '0', to: '720000', step: '3600' }),
    nowSeconds: 0,
    coverage: { isPartial: false },
  };
  const response = await handlers[0]?.(request as unknown as EndpointRequest);
  if (response?.kind !== 'pieces') throw new Error('the response has no pieces');
  return JSON.parse(Buffer.concat(response.pieces).toString());
}
