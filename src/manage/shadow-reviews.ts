import type { Route } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import { VERDICTS } from '../core/judgement.ts';
import { SHADOW_REASONS } from '../core/shadow.ts';
import { SHADOW_REVIEWS_PAGE_ROWS_DEFAULT } from '../limits.ts';
import type { Store } from '../store/open-store.ts';
import type { ShadowReview } from '../store/shadow-reviews.ts';
import { pageAnswer } from './answer-pieces.ts';
import { VERDICT } from './bodies.ts';
import type { BodyOf } from './body.ts';
import type { Managed, ManagedAnswer, ManagedHandler } from './managed.ts';
import { badQuery, type Cursors, readPage } from './paging.ts';

/** The shadow review queue and the verdicts on its rows. Source: open points, section 2. */
export interface ShadowReviewParts {
  readonly store: Pick<Store, 'feedback' | 'shadowReviews'>;
  readonly cursors: Cursors;
}

const ROUTE = '/v1/shadow-reviews';
const VERDICT_FILTERS = ['none', ...VERDICTS] as const;

export function shadowReviewRoutes(managed: Managed, { store, cursors }: ShadowReviewParts): Route[] {
  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, SHADOW_REVIEWS_PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const verdict = oneOf(VERDICT_FILTERS, request.query.get('verdict'));
    if (verdict === undefined) return badFilter('verdict', 'none, fraud, legitimate or unsure');
    const why = oneOf(SHADOW_REASONS, request.query.get('why'));
    if (why === undefined) return badFilter('why', 'sample, near_block or challenger');
    const { customer } = request.caller;
    const { after, limit } = read;
    const found = await store.shadowReviews.page(customer, { after, limit, verdict, why }, request.slices);
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, show, next);
  };

  const judge: ManagedHandler<BodyOf<typeof VERDICT>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const requestId = request.params['request_id'] ?? '';
    const { verdict } = read.value;
    const judged = await store.feedback.judge(request.caller.customer, requestId, verdict, request.nowSeconds);
    if (judged.kind === 'fault') return judged;
    return judged.value === null ? NOT_FOUND : { kind: 'json', status: 200, body: show(judged.value) };
  };

  return [
    managed.route(ROUTE, { GET: managed({}, page) }),
    managed.route(`${ROUTE}/{request_id}`, { POST: managed({ body: VERDICT }, judge) }),
  ];
}

/** The same for another customer's rows as for those that nobody has. */
const NOT_FOUND: ManagedAnswer = {
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

/** null where nothing is asked for, undefined for none of the values. */
function oneOf<T extends string>(values: readonly T[], given: string | null): T | null | undefined {
  return given === null ? null : values.find((value) => value === given);
}

function badFilter(name: string, values: string): ManagedAnswer {
  return { kind: 'problem', problem: badQuery(name, `This must be ${values}.`) };
}
