import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { Store } from '../state/open-store.ts';
import type { ShadowReview } from '../state/review-table.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { originOf } from './kit/actor.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, readPage } from './kit/paging.ts';

/** Dependencies of the endpoints for the shadow review queue and its verdicts. Source: contract, 9.3. */
export interface ShadowReviewParts {
  readonly store: Pick<Store, 'feedback' | 'shadowReviews'>;
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.listShadowReviews.path;
const VERDICT = schemaBody('judgeShadowReview');

export function shadowReviewHandlers(
  endpoint: EndpointFactory,
  { store, cursors }: ShadowReviewParts,
): SecretHandlers<'listShadowReviews' | 'judgeShadowReview'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listShadowReviews);
    if (read.kind === 'problem') return read;
    const { verdict = null, why = null } = read.values;
    const { customer } = request.caller;
    const { after, limit } = read;
    const found = await store.shadowReviews.page(customer, { after, limit, verdict, why }, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, show, next);
  };

  const judge: EndpointHandler<BodyOf<typeof VERDICT>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const requestId = request.params['request_id'] ?? '';
    const { verdict } = read.value;
    const { caller, nowSeconds } = request;
    const judged = await store.feedback.judge(caller.customer, requestId, verdict, nowSeconds, originOf(request).by);
    if (judged.kind === 'fault') return judged;
    return judged.value === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(judged.value) };
  };

  return { listShadowReviews: endpoint({}, page), judgeShadowReview: endpoint({ body: VERDICT }, judge) };
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
  };
}
