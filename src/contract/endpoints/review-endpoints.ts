import { body, type EndpointTexts, json, reads, writesBody } from '../endpoint.ts';
import { REQUEST_ID } from '../parameters.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';
import { LABEL, SHADOW_REVIEW, SHADOW_REVIEW_PAGE } from '../responses/judgement-responses.ts';

export const REVIEW_ENDPOINTS = {
  labelDecision: {
    tag: 'reviews',
    summary: 'Label one of your own decisions',
    description:
      'The decision must be in the log or in the shadow review queue, or must have a label already. A label replaces an earlier ' +
      'label of the decision, and becomes the verdict of its row in the shadow review queue. `fraud` counts towards the shared ' +
      'registry; `legitimate` revokes the reports about the fingerprint that come from your labels and from the BLOCKs of your ' +
      'traffic. Labels of decisions made with a public key do neither.',
    guide:
      'Body: `request_id`, `label` (`fraud` or `legitimate`) and optionally `note` (up to 500 characters). 201 with ' +
      '`{"request_id","label","note","created_at"}`; it replaces an earlier label',
    body: body(BODIES.labelDecision),
    responses: { 201: json(LABEL, 'The label is stored') },
    problems: writesBody('not_found'),
  },
  listShadowReviews: {
    tag: 'reviews',
    summary: 'The review queue',
    description:
      'One row for each decision whose response had `shadow_routed` set, unless a challenger differs on more than its share of the ' +
      'queue, and with `queue=review` one for each REVIEW decision, available as soon as the response was sent, for 30 days. A page may be short, or even empty, although `has_more` is true.',
    guide:
      '200 with a page of the queue. `?queue=` (`shadow`, the default, `review` or `all`), `?order=` (`newest`, the default, `oldest` or ' +
      '`score`). Filters: `?state=` (`open` or `done`), `?verdict=` (`none`, `fraud`, `legitimate` or `unsure`) ' +
      'and `?why=` (`sample`, `near_block`, `challenger` or `review`); a filtered page may be short',
    query: QUERIES.listShadowReviews,
    responses: { 200: json(SHADOW_REVIEW_PAGE, 'A page of rows') },
    problems: reads(),
  },
  judgeShadowReview: {
    tag: 'reviews',
    summary: 'Judge, assign, annotate or close a row',
    description:
      'The verdicts `fraud` and `legitimate` also label the decision; `unsure` does not change a label. A later verdict replaces an ' +
      'earlier one. The other fields change nothing but the row. Fields that are absent stay as they are.',
    guide:
      'Body, at least one of: `verdict` (`fraud`, `legitimate` or `unsure`; a later one replaces it), `assignee` (up to 100 ' +
      'characters, or null), `note` (up to 500 characters, or null) and `closed` (true closes the row without a verdict, false opens ' +
      'it again). 200 with the row',
    params: { request_id: REQUEST_ID },
    body: body(BODIES.judgeShadowReview),
    responses: { 200: json(SHADOW_REVIEW, 'The changed row') },
    problems: writesBody('not_found'),
  },
} satisfies EndpointTexts;
