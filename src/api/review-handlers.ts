import { problem } from '../contract/problem.ts';
import { keptRowOf } from '../history/kept-row.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { History } from '../ports/decision-history.ts';
import type { ReviewChange } from '../state/feed/changes.ts';
import type { ShadowReview } from '../state/tables/review-row.ts';
import type { StoreWrite } from '../state/tables/durable.ts';
import { PLACE_SEPARATOR } from '../state/tables/best-reviews.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, readPage } from './kit/paging.ts';
import { badQuery } from './query.ts';

/** Dependencies of the endpoints for the review queue. Source: contract, 9.3. */
export interface ShadowReviewParts {
  readonly store: Pick<Store, 'feedback' | 'shadowReviews' | 'learningRows'>;
  readonly decisions: Pick<History, 'find'>;
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.listShadowReviews.path;
const CHANGE = schemaBody('judgeShadowReview');

export function shadowReviewHandlers(
  endpoint: EndpointFactory,
  { store, decisions, cursors }: ShadowReviewParts,
): SecretHandlers<'listShadowReviews' | 'judgeShadowReview'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listShadowReviews);
    if (read.kind === 'problem') return read;
    const { verdict = null, why = null, state = null, queue, order } = read.values;
    const { customer } = request.caller;
    const { after, limit } = read;
    if (after !== null && after.includes(PLACE_SEPARATOR) !== (order === 'score')) return OTHER_ORDER;
    const query = { after, limit, verdict, why, state, queue, order };
    const found = await store.shadowReviews.page(customer, query, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, show, next);
  };

  const judge: EndpointHandler<BodyOf<typeof CHANGE>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const requestId = request.params['request_id'] ?? '';
    const { verdict, ...work } = read.value;
    const { customer } = request.caller;
    const origin = originOf(request);
    const change = givenFields(work);
    let changed: StoreWrite<ShadowReview | null> = { kind: 'ok', value: null };
    if (Object.keys(change).length > 0) {
      changed = await store.feedback.changeReview(customer, requestId, change, origin);
    }
    if (verdict !== undefined && changed.kind === 'ok') {
      changed = await store.feedback.judge(customer, requestId, verdict, request.nowSeconds, origin.by);
    }
    if (changed.kind === 'fault') return changed;
    // A verdict is a label, and is of no use to a model without the decision's row.
    if (changed.value !== null && verdict !== undefined && verdict !== 'unsure') {
      const logged = await decisions.find(customer, requestId, request.nowMs, request.coverage);
      const row = logged === null ? null : keptRowOf(logged.record, 'label');
      if (row !== null) store.learningRows?.keep(customer, row);
    }
    return changed.value === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(changed.value) };
  };

  return { listShadowReviews: endpoint({}, page), judgeShadowReview: endpoint({ body: CHANGE }, judge) };
}

const OTHER_ORDER: EndpointResponse = {
  kind: 'problem',
  problem: badQuery('cursor', 'This cursor belongs to another order.'),
};

/** Leaves out absent fields; a text of spaces is no text. */
function givenFields(work: object): ReviewChange {
  const trimmed = Object.entries(work).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.trim() || null : value,
  ]);
  return Object.fromEntries(trimmed.filter(([, value]) => value !== undefined)) as ReviewChange;
}

/** The same response for another customer's row and for one that does not exist. */
const NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'The review queue has no row with this request id.'),
};

function show(row: ShadowReview): Record<string, unknown> {
  return {
    request_id: row.requestId,
    decision: row.decision,
    ...(row.wouldBe !== null && { would_be: row.wouldBe }),
    score: row.score,
    reasons: row.reasons,
    why: row.why,
    occurred_at: Math.floor(row.occurredAtMs / 1000),
    verdict: row.verdict,
    assignee: row.work.assignee,
    note: row.work.note,
    closed_at: row.work.closedAtSeconds,
  };
}
