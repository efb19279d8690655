import type { CustomerNumber } from '../kernel/brand.ts';
import { STATS_POINTS_MAX } from '../kernel/history-limits.ts';
import { QUERIES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { DECISIONS } from '../risk/decision.ts';
import type { HistoryNamedCounts, HistoryStats, HistoryStatsPoint } from '../ports/decision-history.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { JsonBytes } from './kit/json-bytes.ts';
import { badQuery, readQuery } from './query.ts';

/** Periods by default, by the length of one. */
const PERIODS: Readonly<Record<number, number>> = { 60: 60, 3_600: 24, 86_400: 30 };

export interface StatsParts {
  readonly stats: Pick<HistoryStats<Slices>, 'read'>;
  /** Returns a member of the response's schema; null without one. */
  readonly addressWarning: (customer: CustomerNumber) => string | null;
}

/** The endpoint for the statistics of a customer's own requests. */
export function statsHandlers(
  endpoint: EndpointFactory,
  { stats, addressWarning }: StatsParts,
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
    const out = new JsonBytes();
    const names = new ShownNames();
    let points = 0;
    const warning = addressWarning(request.caller.customer);
    const head = { from, to, step, ...(warning === null ? {} : { address_warning: warning }) };
    out.ascii(`${JSON.stringify(head).slice(0, -1)},"points":[`);
    const show = (point: HistoryStatsPoint): void => {
      if (points++ > 0) out.put(COMMA);
      writePoint(out, point, names);
    };
    await stats.read(request.caller.customer, from, to, step, request.slices, show, request.coverage);
    out.ascii(']}');
    return { kind: 'pieces', status: 200, contentType: 'application/json', pieces: out.done() };
  };

  return { readStats: endpoint({}, readStats) };
}

const REVERSED = 'This must be before to.';
const TOO_LONG = `There may be at most ${STATS_POINTS_MAX} steps between from and to.`;

const COMMA = Buffer.from(',');
const AT = Buffer.from('{"at":');
/** What precedes the count of each decision. */
const BEFORE_DECISIONS = DECISIONS.map((decision, n) =>
  Buffer.from(`${n === 0 ? ',"decisions":{' : ','}"${decision}":`),
);
const BEFORE_TYPES = Buffer.from('},"event_types":{');
const BEFORE_REASONS = Buffer.from('},"reasons":{');
const BEFORE_SCORES = Buffer.from('},"scores":[');
const AFTER_SCORES = '],"latency_ms":';
const BEFORE_REFUSALS = Buffer.from(',"refusals":{');
const END = Buffer.from('}}');

/** Writes a period as the endpoint shows it. */
function writePoint(out: JsonBytes, { at, counts }: HistoryStatsPoint, names: ShownNames): void {
  const { decisions, scores } = counts;
  out.put(AT);
  out.count(at);
  for (const [n, before] of BEFORE_DECISIONS.entries()) {
    out.put(before);
    out.count(decisions[n] ?? 0);
  }
  out.put(BEFORE_TYPES);
  writeNamed(out, counts.eventTypes, names);
  out.put(BEFORE_REASONS);
  writeNamed(out, counts.reasons, names);
  out.put(BEFORE_SCORES);
  for (let n = 0; n < scores.length; n++) {
    if (n > 0) out.put(COMMA);
    out.count(scores[n] ?? 0);
  }
  out.ascii(`${AFTER_SCORES}{"p50":${counts.latencyAt(0.5)},"p99":${counts.latencyAt(0.99)}}`);
  out.put(BEFORE_REFUSALS);
  writeNamed(out, counts.refusals, names);
  out.put(END);
}

function writeNamed(out: JsonBytes, { names, counts }: HistoryNamedCounts, shown: ShownNames): void {
  for (let n = 0; n < names.length; n++) {
    out.put(shown.bytesOf(names[n] ?? ''), n === 0 ? 1 : 0);
    out.count(counts[n] ?? 0);
  }
}

interface ShownName {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The name that followed it the last time. */
  after: ShownName | null;
}

/** The names of a response as they are written: a comma, the name as JSON, a colon. Periods mostly have them in the same order. */
class ShownNames {
  readonly #names = new Map<string, ShownName>();
  #last: ShownName = { name: '', bytes: COMMA, after: null };

  bytesOf(name: string): Uint8Array {
    const last = this.#last;
    let shown = last.after;
    if (shown?.name !== name) last.after = shown = this.#named(name);
    this.#last = shown;
    return shown.bytes;
  }

  #named(name: string): ShownName {
    let shown = this.#names.get(name);
    if (shown === undefined) {
      shown = { name, bytes: Buffer.from(`,${JSON.stringify(name)}:`), after: null };
      this.#names.set(name, shown);
    }
    return shown;
  }
}
