import type { CustomerNumber } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import type { RecordedContribution } from '../core/decision-record.ts';
import { reviewHint } from '../core/fuse.ts';
import type { Rule } from '../core/rule.ts';
import { RULES } from '../core/rules/index.ts';
import { overloaded } from '../decide/pipeline.ts';
import { DECISIONS_PAGE_ROWS_DEFAULT } from '../limits.ts';
import type { DecisionLog } from '../store/decision-log.ts';
import type { LoggedDecision } from '../store/decision-log/search.ts';
import { pageAnswer } from './answer-pieces.ts';
import { readDecisionQuery, readPlace, writePlace } from './decision-query.ts';
import type { Managed, ManagedAnswer, ManagedHandler } from './managed.ts';
import { badQuery, type Cursors, readPage } from './paging.ts';

/** A customer's own decisions. Source: open points, section 2, "Look-up". */
export interface DecisionParts {
  readonly decisions: Pick<DecisionLog, 'find' | 'search'>;
  readonly cursors: Cursors;
  /** What the customer said that this decision was; null where nothing. */
  readonly labelOf: (customer: CustomerNumber, requestId: string) => 'fraud' | 'legitimate' | null;
}

const ROUTE = '/v1/decisions';

export function decisionRoutes(managed: Managed, { decisions, cursors, labelOf }: DecisionParts): Route[] {
  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, DECISIONS_PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const asked = readDecisionQuery(request);
    if (asked.kind === 'problem') return asked;
    const [occurredAtMs, arrival] = read.after === null ? [] : (readPlace(read.after, 2) ?? []);
    const after = occurredAtMs === undefined || arrival === undefined ? null : { occurredAtMs, arrival };
    if (after === null && read.after !== null) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const { decision, text } = asked;
    const found = await decisions.search(customer, { decision, text, after, limit: read.limit, nowMs: request.nowMs });
    if (found.kind === 'busy') return BUSY;
    const { next } = found;
    const cursor = next === null ? null : cursors.issue(ROUTE, customer, writePlace(next.occurredAtMs, next.arrival));
    return pageAnswer(request.slices, found.rows, (row) => show(row, labelOf(customer, row.record.requestId)), cursor);
  };

  const find: ManagedHandler = (request) => {
    const requestId = request.params['request_id'] ?? '';
    const { customer } = request.caller;
    const found = decisions.find(customer, requestId, request.nowMs);
    if (found === null) return NOT_FOUND;
    return { kind: 'json', status: 200, body: show(found, labelOf(customer, requestId)) };
  };

  return [
    managed.route(ROUTE, { GET: managed({}, page) }),
    managed.route(`${ROUTE}/{request_id}`, { GET: managed({}, find) }),
  ];
}

/** The same for another customer's decisions as for those that nobody made. */
const NOT_FOUND: ManagedAnswer = { kind: 'problem', problem: problem('not_found', 'There is no such decision.') };

export const FOREIGN_CURSOR: ManagedAnswer = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
};

export const BUSY: ManagedAnswer = {
  kind: 'problem',
  problem: overloaded('As many searches are running as the service takes at once.'),
};

/** The answer's fields, and what the decision was about. */
function show({ record, latencyMs }: LoggedDecision, label: string | null): Record<string, unknown> {
  const { contributions } = record;
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
  };
}

export function reasonsOf(contributions: readonly RecordedContribution[]): string[] {
  return contributions.map(({ code }) => code);
}

/** Without a session token no rule runs, but the reason is one like theirs. Source: open points, section 2. */
const MISSING_TOKEN: Rule = {
  code: 'missing_session_token',
  family: 'token',
  weights: {},
  hint: 'the request carries no session token',
  evaluate: () => null,
};

const KNOWN: ReadonlyMap<string, Rule> = new Map([...RULES, MISSING_TOKEN].map((rule) => [rule.code, rule]));

/** The rule of that code; where another version of the service had it, one that says so. */
function ruleOf(code: string): Rule {
  return KNOWN.get(code) ?? { ...MISSING_TOKEN, code, hint: 'a rule that this version does not have' };
}
