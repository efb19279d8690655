import {
  body,
  type EndpointTexts,
  json,
  noContent,
  optionalBody,
  reads,
  writes,
  writesAnyBody,
  writesBody,
} from '../endpoint.ts';
import { DELIVERY_ID, WEBHOOK_ID } from '../parameters.ts';
import { BODIES } from '../bodies.ts';
import { QUERIES } from '../routes.ts';
import { ANY_OBJECT, WEBHOOK_CHANGE, WEBHOOK_PATCH } from '../requests/webhook-requests.ts';
import {
  DELIVERY,
  DELIVERY_DETAIL,
  DELIVERY_PAGE,
  RECOVERED,
  WEBHOOK,
  WEBHOOK_PAGE,
} from '../responses/webhook-responses.ts';

const DISABLED = 'not_ready: the webhook is disabled';
const PENDING_OR_DISABLED = 'not_ready: the delivery is still pending, or its webhook is disabled';

export const WEBHOOK_ENDPOINTS = {
  listWebhooks: {
    tag: 'webhooks',
    summary: "The caller's own webhooks, newest first",
    description: 'Secrets are masked except for their last 4 characters.',
    guide: '200 with a page, newest first',
    query: QUERIES.listWebhooks,
    responses: { 200: json(WEBHOOK_PAGE, 'A page of webhooks') },
    problems: reads(),
  },
  createWebhook: {
    tag: 'webhooks',
    summary: 'Register an endpoint for events',
    description:
      'Only this response and that of rotate show the complete secret. A customer may have at most 20 webhooks.',
    guide:
      'Body: `url`, `event_types` and optionally `events`, `description`, `filter`, `headers`, `format`, `fields` and `retry`. 201 with the webhook, its complete `secret`, and ' +
      '`Location`. Store the secret: no later call shows it again',
    body: body(WEBHOOK_CHANGE),
    responses: { 201: json(WEBHOOK, 'The webhook is registered; `secret` is complete', ['Location']) },
    problems: writesBody('limit_reached', 'blocked_url'),
  },
  findWebhook: {
    tag: 'webhooks',
    summary: "One of the caller's own webhooks",
    description: 'Its secret is masked.',
    guide: '200 with the webhook, or 404',
    params: { id: WEBHOOK_ID },
    responses: { 200: json(WEBHOOK, 'The webhook') },
    problems: reads('not_found'),
  },
  changeWebhook: {
    tag: 'webhooks',
    summary: 'Change or pause a webhook',
    description:
      'Pending deliveries go to the new URL. A disabled webhook receives nothing and is not unhealthy; its pending deliveries ' +
      'end as skipped.',
    guide:
      'Body: any of `url`, `event_types`, `events`, `description`, `filter`, `headers` (`null` removes any of the three), `format`, `fields`, `retry` and `disabled`. 200 with the webhook, ' +
      'or 404. The secret is kept. Pending deliveries go to a new `url`, and its health is reset. While the webhook ' +
      'is `disabled`, nothing is sent to it and decisions create no deliveries; pending deliveries end as `skipped`',
    params: { id: WEBHOOK_ID },
    body: body(WEBHOOK_PATCH),
    responses: { 200: json(WEBHOOK, 'The webhook is changed; `secret` is masked') },
    problems: writesBody('not_found', 'blocked_url'),
  },
  deleteWebhook: {
    tag: 'webhooks',
    summary: 'Delete a webhook',
    description: 'Its pending deliveries end as skipped.',
    guide: '204, or 404. Its pending deliveries end as `skipped`; all its deliveries stay in the log',
    params: { id: WEBHOOK_ID },
    responses: { 204: noContent('The webhook is deleted') },
    problems: writes('not_found'),
  },
  testWebhook: {
    tag: 'webhooks',
    summary: 'Send an example event now',
    description:
      'Makes one attempt; the response is sent when it has ended. A success makes an unhealthy webhook healthy; a failure does ' +
      'not count. No body is needed. While 20 tests of a customer are in flight, the response is 429 with the code overloaded.',
    guide:
      'Sends an example event now, with one attempt. 200 with [the delivery](#deliveries) when the attempt has ' +
      'ended, even if it failed',
    params: { id: WEBHOOK_ID },
    body: optionalBody(ANY_OBJECT),
    responses: { 200: json(DELIVERY, 'The delivery, whether it succeeded or not') },
    problems: writesAnyBody('not_found', 'not_ready'),
    problemTexts: { 409: DISABLED },
  },
  rotateSecret: {
    tag: 'webhooks',
    summary: "Rotate a webhook's secret",
    description:
      'Until the grace period ends, X-SVC-Webhook-Signature is made with the old secret and webhook-signature contains both ' +
      'signatures. After several rotations each secret is valid to the end of its own grace period, at most four besides the ' +
      'current one: X-SVC-Webhook-Signature is made with the oldest of them, and webhook-signature contains all signatures, ' +
      'newest first.',
    guide:
      'Creates a new secret. The body `{"grace_seconds":86400}` is optional, 0 to 604,800: the old secret keeps ' +
      'signing for this time, and older secrets until their own grace ends; 0 ends all of them. 200 with the webhook ' +
      'and its complete new `secret`',
    params: { id: WEBHOOK_ID },
    body: optionalBody(BODIES.rotateSecret),
    responses: { 200: json(WEBHOOK, 'The webhook; `secret` is the complete new secret') },
    problems: writesBody('not_found'),
  },
  recoverDeliveries: {
    tag: 'webhooks',
    summary: 'Deliver decisions that never arrived',
    description:
      'Creates a manual delivery of each decision of a time that matches the webhook, as it is now, and has no delivery that ' +
      'succeeded or is pending; oldest first, at most 10,000 per call.',
    guide:
      'Delivers the decisions of a time again that match the webhook and were not delivered, for example after an outage: ' +
      '`{"since":1790000000,"until":1790003600}`, `until` optional. 202 with `queued`, `delivered` (already), `left` (call ' +
      'again) and `known_since` (older deliveries are not known any more, so nothing older is recovered)',
    params: { id: WEBHOOK_ID },
    body: body(BODIES.recoverDeliveries),
    responses: { 202: json(RECOVERED, 'What was queued') },
    problems: writesBody('not_found', 'not_ready'),
    problemTexts: { 409: 'The webhook is disabled, or a node does not answer' },
  },
} satisfies EndpointTexts;

export const DELIVERY_ENDPOINTS = {
  listDeliveries: {
    tag: 'webhooks',
    summary: "Deliveries to all of the caller's endpoints, newest first",
    description:
      'Covers the last 30 days, at most 10,000 deliveries per customer. A page may be short, or even empty, although has_more ' +
      'is true. Pages of a customer are built one at a time; while 32 requests wait, the response is 429 with the code ' +
      'overloaded.',
    guide:
      '200 with a page, newest first, for all of your endpoints. Filters: `?webhook_id=`, `?status=`, `?request_id=` ' +
      'and `?event=`; all given filters apply together',
    query: QUERIES.listDeliveries,
    responses: { 200: json(DELIVERY_PAGE, 'A page of deliveries', ['X-SVC-Partial']) },
    problems: reads(),
  },
  findDelivery: {
    tag: 'webhooks',
    summary: "One of the caller's own deliveries",
    guide: '200 with the delivery and its `body`, the text that every attempt sends, or 404',
    params: { id: DELIVERY_ID },
    responses: { 200: json(DELIVERY_DETAIL, 'The delivery, and what is sent', ['X-SVC-Partial']) },
    problems: reads('not_found'),
  },
  retryDelivery: {
    tag: 'webhooks',
    summary: 'Deliver the same bytes again',
    description:
      'Creates a new delivery with its own id and all attempts. The response is also 404 if the webhook was deleted. No body is ' +
      'needed.',
    guide:
      'Sends the same bytes again, with all attempts, as a new delivery (`trigger` is `manual`). 202 with the new ' +
      'delivery and `Location`; 409 `not_ready` while the old one is pending, or if the webhook is disabled; 404 also if the webhook was deleted',
    params: { id: DELIVERY_ID },
    body: optionalBody(ANY_OBJECT),
    responses: { 202: json(DELIVERY, 'The new delivery', ['Location']) },
    problems: writesAnyBody('not_found', 'not_ready'),
    problemTexts: { 409: PENDING_OR_DISABLED },
  },
} satisfies EndpointTexts;
