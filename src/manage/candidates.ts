import type { FingerprintHash } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import type { FingerprintReader } from '../core/fingerprint-history.ts';
import { DECISIONS_PAGE_ROWS_DEFAULT } from '../limits.ts';
import type { DecisionLog, FingerprintOutcome } from '../store/decision-log.ts';
import type { FingerprintRow } from '../store/decision-log/fingerprints.ts';
import type { Lists } from '../store/lists.ts';
import type { Registry } from '../store/registry.ts';
import { pageAnswer } from './answer-pieces.ts';
import { readDecisionQuery, readPlace, writePlace } from './decision-query.ts';
import { BUSY, FOREIGN_CURSOR, reasonsOf } from './decisions.ts';
import { sharedRegistry } from './lists.ts';
import type { Managed, ManagedHandler, ManagedRequest } from './managed.ts';
import { type Cursors, readPage } from './paging.ts';

/**
 * Fingerprints of the caller's own recent flagged decisions, to be put on a list. "Recent" are the newest
 * `DECISION_SCAN_ROWS_MAX` of them, as they were when the first page was asked for.
 * Source: risk specification, section 4.2; open points, section 3.
 */
export interface CandidateParts {
  readonly decisions: Pick<DecisionLog, 'fingerprints'>;
  readonly lists: Pick<Lists, 'find'>;
  readonly registry: Registry;
  readonly fingerprints: FingerprintReader;
  readonly cursors: Cursors;
}

const ROUTE = '/v1/lists/candidates';
const NONE: FingerprintOutcome = { kind: 'page', arrivalEnd: 0, rows: [], next: null };

export function candidateRoutes(
  managed: Managed,
  { decisions, lists, registry, fingerprints, cursors }: CandidateParts,
): Route[] {
  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, DECISIONS_PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const asked = readDecisionQuery(request);
    if (asked.kind === 'problem') return asked;
    const places = read.after === null ? [] : readPlace(read.after, 3);
    if (places === null) return FOREIGN_CURSOR;
    const [arrivalEnd = null, occurredAtMs = 0, arrival = 0] = places;
    const after = arrivalEnd === null ? null : { occurredAtMs, arrival };
    const { customer } = request.caller;
    const { limit } = read;
    const { nowMs } = request;
    // ALLOW is a decision, and no flagged one.
    const found =
      asked.decision === 'ALLOW'
        ? NONE
        : await decisions.fingerprints(customer, { ...asked, after, limit, nowMs, arrivalEnd });
    if (found.kind === 'busy') return BUSY;
    const { next } = found;
    const place = next === null ? null : writePlace(found.arrivalEnd, next.occurredAtMs, next.arrival);
    const cursor = place === null ? null : cursors.issue(ROUTE, customer, place);
    return pageAnswer(request.slices, found.rows, (row) => show(row, request), cursor);
  };

  function show({ newest, decisions }: FingerprintRow, request: ManagedRequest): Record<string, unknown> {
    const { record } = newest;
    const fingerprintHash = record.fingerprintHash as FingerprintHash;
    return {
      fingerprint_hash: fingerprintHash,
      request_id: record.requestId,
      decision: record.decision,
      ...(record.wouldBe !== null && { would_be: record.wouldBe }),
      score: record.score,
      reasons: reasonsOf(record.contributions),
      ip: record.ip,
      country: record.country,
      event_type: record.eventType,
      occurred_at: Math.floor(record.occurredAtMs / 1000),
      sessions: decisions,
      list_action: lists.find(request.caller.customer, fingerprintHash, request.nowSeconds),
      ...sharedRegistry({ registry, fingerprints }, fingerprintHash, request),
    };
  }

  return [managed.route(ROUTE, { GET: managed({}, page) })];
}
