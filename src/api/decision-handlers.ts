import type { CustomerNumber } from '../kernel/brand.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { LoggedDecision } from '../history/decision-log/search.ts';
import { BUSY } from './busy.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { readFilter, readPosition, searchText, writePosition } from './decision-query.ts';
import type { LinkTargets } from './link-target.ts';
import type { OwnPolicies } from './own-policies.ts';
import { explainToPerson } from './person-explanation.ts';
import { readQuery } from './query.ts';
import { explainDecision, showDecision } from './show-decision.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';

/** Dependencies of the endpoints for a customer's own decisions. Source: contract, 9.4. */
export interface DecisionParts {
  readonly decisions: Pick<DecisionReader, 'find' | 'search' | 'positionOf'>;
  readonly cursors: Cursors;
  readonly targets: LinkTargets;
  /** Returns the customer's label of the decision, or null. */
  readonly labelOf: (customer: CustomerNumber, requestId: string) => 'fraud' | 'legitimate' | null;
  readonly policies: Pick<OwnPolicies, 'appliedTo'>;
}

const ROUTE = ROUTES.searchDecisions.path;

export function decisionHandlers(
  endpoint: EndpointFactory,
  { decisions, cursors, targets, labelOf, policies }: DecisionParts,
): SecretHandlers<'searchDecisions' | 'findDecision' | 'explainToPerson'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.searchDecisions);
    if (read.kind === 'problem') return read;
    const after = read.after === null ? null : readPosition(read.after);
    if (after === null && read.after !== null) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const { coverage, nowMs } = request;
    const { decision = null, q } = read.values;
    const filter = readFilter(read.values, targets, customer);
    if (filter.kind === 'problem') return filter;
    const { after: known } = read.values;
    const loggedAfter = known === undefined ? null : await decisions.positionOf(customer, known, nowMs, coverage);
    if (known !== undefined && loggedAfter === null) return NOT_FOUND;
    const query = {
      decision,
      text: searchText(q),
      after,
      limit: read.limit,
      nowMs,
      filter: { ...filter, loggedAfter },
      coverage,
    };
    const found = await decisions.search(customer, query);
    if (found.kind === 'busy') return BUSY;
    const { next } = found;
    const cursor = next === null ? null : cursors.issue(ROUTE, customer, writePosition(next));
    return pageAnswer(request.slices, found.rows, (row) => withLabel(customer, row), cursor);
  };

  const find: EndpointHandler = async (request) => {
    const requestId = request.params['request_id'] ?? '';
    const { customer } = request.caller;
    const found = await decisions.find(customer, requestId, request.nowMs, request.coverage);
    if (found === null) return NOT_FOUND;
    const policy = policies.appliedTo(customer, found.record);
    const body = { ...explainDecision(found, policy), label: labelOf(customer, requestId) };
    return { kind: 'json', status: 200, body };
  };

  const explain: EndpointHandler = async ({ params, query, caller, nowMs, coverage }) => {
    const asked = readQuery(query, QUERIES.explainToPerson);
    if (asked.kind === 'problem') return asked;
    const found = await decisions.find(caller.customer, params['request_id'] ?? '', nowMs, coverage);
    if (found === null) return NOT_FOUND;
    return { kind: 'json', status: 200, body: explainToPerson(found.record, asked.value.lang) };
  };

  function withLabel(customer: CustomerNumber, row: LoggedDecision): Readonly<Record<string, unknown>> {
    return { ...showDecision(row), label: labelOf(customer, row.record.requestId) };
  }

  return {
    searchDecisions: endpoint({}, page),
    findDecision: endpoint({}, find),
    explainToPerson: endpoint({}, explain),
  };
}

/** The same response for another customer's decision and for one that does not exist. */
const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such decision.') };
