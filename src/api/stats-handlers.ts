import { STATS_POINTS_MAX } from '../kernel/limits.ts';
import { QUERIES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECISIONS } from '../risk/decision.ts';
import type { HistoryStats, HistoryStatsPoint } from '../ports/decision-history.ts';
import type { Slices } from '../state/turns.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { AnswerPieces } from './kit/response-pieces.ts';
import { badQuery, readQuery } from './query.ts';

/** Periods by default, by the length of one. */
const PERIODS: Readonly<Record<number, number>> = { 60: 60, 3_600: 24, 86_400: 30 };

/** The endpoint for the statistics of a customer's own requests. */
export function statsHandlers(
  endpoint: EndpointFactory,
  { stats }: { readonly stats: Pick<HistoryStats<Slices>, 'read'> },
): SecretHandlers<'readStats'> {
  const readStats: EndpointHandler = async (request) => {
    const read = readQuery(request.query, QUERIES.readStats);
    if (read.kind === 'problem') return read;
    const { step: stepText } = read.value;
    const step = Number(stepText);
    const to = read.value.to ?? request.nowSeconds + 1;
    const from = read.value.from ?? Math.max(0, to - step * (PERIODS[step] ?? 1));
    if (from >= to) return { kind: 'problem', problem: badQuery('from', REVERSED) };
    if ((to - from) / step > STATS_POINTS_MAX) return { kind: 'problem', problem: badQuery('from', TOO_LONG) };
    const points = await stats.read(request.caller.customer, from, to, step, request.slices, request.coverage);
    const pieces = new AnswerPieces(request.slices);
    await pieces.add(`${JSON.stringify({ from, to, step }).slice(0, -1)},"points":[`);
    for (const [n, point] of points.entries()) await pieces.add(`${n === 0 ? '' : ','}${JSON.stringify(show(point))}`);
    await pieces.add(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: pieces.done() };
  };

  return { readStats: endpoint({}, readStats) };
}

const REVERSED = 'This must be before to.';
const TOO_LONG = `There may be at most ${STATS_POINTS_MAX} steps between from and to.`;

function show({ at, counts }: HistoryStatsPoint): Readonly<Record<string, unknown>> {
  return {
    at,
    decisions: Object.fromEntries(DECISIONS.map((decision, n) => [decision, counts.decisions[n] ?? 0])),
    event_types: Object.fromEntries(counts.eventTypes),
    reasons: Object.fromEntries(counts.reasons),
    scores: Array.from(counts.scores),
    latency_ms: { p50: counts.latencyAt(0.5), p99: counts.latencyAt(0.99) },
    refusals: Object.fromEntries(counts.refusals),
  };
}
