import type { FingerprintHash } from '../kernel/brand.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { FingerprintOutcome } from '../history/decision-log/log-query.ts';
import type { FingerprintRow } from '../history/decision-log/fingerprints.ts';
import type { Lists } from '../state/tables/list-table.ts';
import type { Registry } from '../state/tables/registry-table.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { readPlace, searchText, writePlace } from './decision-query.ts';
import { BUSY } from './busy.ts';
import { readUsage, USAGE_ROWS_MAX } from './day-usage.ts';
import { sharedRegistry } from './lists/list-view.ts';
import { reasonsOf } from './show-decision.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';

/**
 * Lists fingerprints of the caller's own recent flagged decisions, as candidates for a list. "Recent" means the newest
 * `DECISION_SCAN_ROWS_MAX` flagged decisions at the time of the first page.
 * Source: contract, 7.4.
 */
export interface CandidateParts {
  readonly decisions: Pick<DecisionReader, 'fingerprints' | 'scan'>;
  readonly lists: Pick<Lists, 'find'>;
  readonly registry: Registry;
  readonly fingerprints: FingerprintReader;
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.searchCandidates.path;
const NONE: FingerprintOutcome = { kind: 'page', arrivalEnd: 0, rows: [], next: null };

export function candidateHandlers(
  endpoint: EndpointFactory,
  { decisions, lists, registry, fingerprints, cursors }: CandidateParts,
): SecretHandlers<'searchCandidates'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.searchCandidates);
    if (read.kind === 'problem') return read;
    const places = read.after === null ? [] : readPlace(read.after, 3);
    if (places === null) return FOREIGN_CURSOR;
    const [arrivalEnd = null, occurredAtMs = 0, arrival = 0] = places;
    const after = arrivalEnd === null ? null : { occurredAtMs, arrival };
    const { customer } = request.caller;
    const { decision = null, q, usage } = read.values;
    const limit = usage ? Math.min(read.limit, USAGE_ROWS_MAX) : read.limit;
    const query = {
      decision,
      text: searchText(q),
      after,
      limit,
      nowMs: request.nowMs,
      arrivalEnd,
      coverage: request.coverage,
    };
    // ALLOW is a valid filter value, but never a flagged decision.
    const found = decision === 'ALLOW' ? NONE : await decisions.fingerprints(customer, query);
    if (found.kind === 'busy') return BUSY;
    const { next } = found;
    const place = next === null ? null : writePlace(found.arrivalEnd, next.occurredAtMs, next.arrival);
    const cursor = place === null ? null : cursors.issue(ROUTE, customer, place);
    const hashes = found.rows.map(({ newest }) => newest.record.fingerprintHash ?? '');
    const usageOf = usage ? await readUsage(decisions, request, hashes) : () => ({});
    if (usageOf === null) return BUSY;
    const showRow = (row: FingerprintRow): Record<string, unknown> => ({
      ...show(row, request),
      ...usageOf(row.newest.record.fingerprintHash ?? ''),
    });
    return pageAnswer(request.slices, found.rows, showRow, cursor);
  };

  function show({ newest, decisions }: FingerprintRow, request: EndpointRequest): Record<string, unknown> {
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

  return { searchCandidates: endpoint({}, page) };
}
