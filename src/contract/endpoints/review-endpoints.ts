import { body, type EndpointTexts, json, reads, writesBody } from '../endpoint.ts';
import { REQUEST_ID } from '../parameters.ts';
import { BODIES, QUERIES } from '../routes.ts';
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
    summary: 'The shadow review queue, newest first',
    description:
      'One row for each decision whose response had `shadow_routed` set, available as soon as the response was sent, for 30 ' +
      'days. A page may be short, or even empty, although `has_more` is true.',
    guide:
      '200 with a page of the queue, newest first. Filters: `?verdict=` (`none`, `fraud`, `legitimate` or `unsure`) ' +
      'and `?why=` (`sample`, `near_block` or `challenger`); a filtered page may be short',
    query: QUERIES.listShadowReviews,
    responses: { 200: json(SHADOW_REVIEW_PAGE, 'A page of rows') },
    problems: reads(),
  },
  judgeShadowReview: {
    tag: 'reviews',
    summary: 'Set the verdict of a row',
    description:
      '`fraud` and `legitimate` also label the decision; `unsure` does not change a label. A later verdict replaces an earlier ' +
      'one.',
    guide: 'Body: `{"verdict":"fraud"}`, `"legitimate"` or `"unsure"`. 200 with the row; a later verdict replaces it',
    params: { request_id: REQUEST_ID },
    body: body(BODIES.judgeShadowReview),
    responses: { 200: json(SHADOW_REVIEW, 'The row with its verdict') },
    problems: writesBody('not_found'),
  },
} satisfies EndpointTexts;
