import { beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

type Json = Record<string, unknown>;
interface Point {
  readonly at: number;
  readonly decisions: Record<string, number>;
  readonly event_types: Record<string, number>;
  readonly reasons: Record<string, number>;
  readonly scores: readonly number[];
  readonly latency_ms: { readonly p50: number; readonly p99: number };
  readonly refusals: Record<string, number>;
}

describe('GET /v1/stats', () => {
  let server: SharedServer;
  const get = (query: string, key = server.secretKey): Promise<{ status: number; json: Json }> =>
    call(server.url, key, 'GET', `/v1/stats${query}`);
  const pointsOf = ({ json }: { json: Json }): Point[] => json['points'] as Point[];

  beforeAll(async () => {
    server = await sharedServer();
    await decide(server.url, server.secretKey, { ...CALM, event_type: 'signup' });
    await decide(server.url, server.secretKey, { ...CALM, session_token: '' });
    await decide(server.url, server.secretKey, { ...CALM, timestamp: 'now' });
  });

  test.each([60, 3_600, 86_400])('Decisions and refusals are counted at once, by %i seconds', async (step) => {
    const points = pointsOf(await get(`?step=${step}`));
    const sum = (of: (point: Point) => number | undefined): number =>
      points.reduce((total, point) => total + (of(point) ?? 0), 0);
    expect(sum(({ decisions }) => Object.values(decisions).reduce((a, b) => a + b))).toBe(2);
    expect(sum(({ event_types: types }) => types['signup'])).toBe(1);
    expect(sum(({ reasons }) => reasons['missing_session_token'])).toBe(1);
    expect(sum(({ scores }) => scores.reduce((a, b) => a + b))).toBe(2);
    expect(sum(({ refusals }) => refusals['invalid_request'])).toBe(1);
    for (const { at, scores, latency_ms: latency } of points) {
      expect([at % step, scores.length]).toEqual([0, 20]);
      if (latency.p50 !== null) expect(latency.p99).toBeGreaterThanOrEqual(latency.p50);
    }
  });

  test('Another customer, and another time, has no points', async () => {
    const other = await sharedServer();
    expect(pointsOf(await get('', other.secretKey))).toEqual([]);
    const answer = await get('?from=1000&to=2000&step=60');
    expect(answer.json).toEqual({ from: 1_000, to: 2_000, step: 60, points: [] });
  });

  test.each([
    ['?step=61', 'step'],
    ['?from=x', 'from'],
    ['?to=-1', 'to'],
    ['?from=2000&to=2000', 'from'],
    ['?from=0&to=1000000&step=60', 'from'],
  ])('GET /v1/stats%s is 400 and names the parameter', async (query, name) => {
    const answer = await get(query);
    expect(answer.status).toBe(400);
    expect(answer.json['errors']).toEqual([expect.objectContaining({ pointer: `?${name}` })]);
  });
});
