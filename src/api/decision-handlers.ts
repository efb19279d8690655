import type { CustomerNumber } from '../kernel/brand.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { RecordedContribution } from '../risk/decision-record.ts';
import { networkText } from '../risk/decision-links.ts';
import { type CoarseLocation, readClass, type RecordClass } from '../risk/record-class.ts';
import { linksOf } from '../history/link-summary.ts';
import { reviewHint } from '../risk/fuse.ts';
import type { Rule } from '../risk/rules/rule.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import { overloaded } from '../decide/pipeline.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { LoggedDecision } from '../history/decision-log/search.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { readFilter, readPlace, searchText, writePlace } from './decision-query.ts';
import type { LinkTargets } from './link-target.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';

/** Dependencies of the endpoints for a customer's own decisions. Source: contract, 9.4. */
export interface DecisionParts {
  readonly decisions: Pick<DecisionLog, 'find' | 'search'>;
  readonly cursors: Cursors;
  readonly targets: LinkTargets;
  /** Returns the customer's label of the decision, or null. */
  readonly labelOf: (customer: CustomerNumber, requestId: string) => 'fraud' | 'legitimate' | null;
}

const ROUTE = ROUTES.searchDecisions.path;

export function decisionHandlers(
  endpoint: EndpointFactory,
  { decisions, cursors, targets, labelOf }: DecisionParts,
): SecretHandlers<'searchDecisions' | 'findDecision'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.searchDecisions);
    if (read.kind === 'problem') return read;
    const [occurredAtMs, arrival] = read.after === null ? [] : (readPlace(read.after, 2) ?? []);
    const after = occurredAtMs === undefined || arrival === undefined ? null : { occurredAtMs, arrival };
    if (after === null && read.after !== null) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const { decision = null, q } = read.values;
    const filter = readFilter(read.values, targets, customer);
    if (filter.kind === 'problem') return filter;
    const query = { decision, text: searchText(q), after, limit: read.limit, nowMs: request.nowMs, filter };
    const found = await decisions.search(customer, query);
    if (found.kind === 'busy') return BUSY;
    const { next } = found;
    const cursor = next === null ? null : cursors.issue(ROUTE, customer, writePlace(next.occurredAtMs, next.arrival));
    return pageAnswer(request.slices, found.rows, (row) => show(row, labelOf(customer, row.record.requestId)), cursor);
  };

  const find: EndpointHandler = (request) => {
    const requestId = request.params['request_id'] ?? '';
    const { customer } = request.caller;
    const found = decisions.find(customer, requestId, request.nowMs);
    if (found === null) return NOT_FOUND;
    return { kind: 'json', status: 200, body: show(found, labelOf(customer, requestId)) };
  };

  return { searchDecisions: endpoint({}, page), findDecision: endpoint({}, find) };
}

/** The same response for another customer's decision and for one that does not exist. */
const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such decision.') };

export const BUSY: EndpointResponse = {
  kind: 'problem',
  problem: overloaded('Too many searches are running.'),
};

/** Returns the fields of the decide response, and the subject of the decision. */
function show({ record, latencyMs }: LoggedDecision, label: string | null): Record<string, unknown> {
  const { contributions, classBytes } = record;
  const { agent, location } = classBytes === null ? UNCLASSED : readClass(classBytes);
  const hinting = contributions.map(({ code, weight }) => ({ rule: ruleOf(code), weight }));
  return {
    request_id: record.requestId,
    decision: record.decision,
    ...(record.wouldBe !== null && { would_be: record.wouldBe }),
    score: record.score,
    reasons: reasonsOf(contributions),
    review_hint: reviewHint(record.decision, hinting),
    session_mode: record.sessionMode,
    shadow_routed: record.shadow !== null,
    latency_ms: latencyMs,
    fingerprint_hash: record.fingerprintHash,
    ip: record.ip,
    country: record.country,
    event_type: record.eventType,
    occurred_at: Math.floor(record.occurredAtMs / 1000),
    contributions: contributions.map(({ code, weight, evidence }) => ({
      reason: code,
      family: KNOWN.get(code)?.family ?? 'unknown',
      weight,
      evidence,
    })),
    label,
    path: record.path,
    network: record.ip === null ? null : networkText(record.ip),
    agent,
    location: location === null ? null : showLocation(location),
    links: linksOf(record),
  };
}

const UNCLASSED: RecordClass = { agent: null, location: null };

function showLocation({ latitude, longitude, accuracyKm }: CoarseLocation): Readonly<Record<string, unknown>> {
  return { latitude, longitude, accuracy_km: accuracyKm };
}

export function reasonsOf(contributions: readonly RecordedContribution[]): string[] {
  return contributions.map(({ code }) => code);
}

/** Without a session token no rule runs, but the response has this reason, in the form of a rule's reason. Source: contract, 4.3. */
const MISSING_TOKEN: Rule = {
  code: 'missing_session_token',
  family: 'token',
  weights: {},
  hint: 'the request carries no session token',
  evaluate: () => null,
};

const KNOWN: ReadonlyMap<string, Rule> = new Map([...RULES, MISSING_TOKEN].map((rule) => [rule.code, rule]));

/** Returns the rule with that code, or a placeholder for a rule of another version of the service. */
function ruleOf(code: string): Rule {
  return KNOWN.get(code) ?? { ...MISSING_TOKEN, code, hint: 'a rule that this version does not have' };
}
