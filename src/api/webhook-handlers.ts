import { unreachable } from '../kernel/brand.ts';
import type { Handler } from '../http/exchange.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import { GRACE_SECONDS_DEFAULT } from '../contract/requests/webhook-requests.ts';
import { compileFilter } from '../work/webhook-filter.ts';
import type { Webhook, WebhookId } from '../work/webhook.ts';
import { showFaults } from './condition-errors.ts';
import { overloaded } from '../decide/respond.ts';
import { originOf } from './kit/actor.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import {
  type CheckBodyTarget,
  newWebhook,
  schemaBody,
  type BodyTargetFault,
  webhookChange,
} from './kit/body-readers.ts';
import { ANY_REQUEST_BODY, type BodyOf, type BodyReader } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';
import type { WebhookControl, WebhookReader } from './webhook-control-port.ts';
import { deliveryJson, isWebhookId, maskedSecret, webhookJson } from './webhook-wire.ts';

/** Dependencies of the endpoints for a customer's webhooks. Source: contract, 10.1 and 10.2. */
export interface WebhookHandlerParts {
  readonly webhooks: WebhookReader;
  readonly control: Pick<WebhookControl, 'create' | 'change' | 'remove' | 'rotate' | 'test'>;
  readonly cursors: Cursors;
  /** Returns null if deliveries may go to the URL, as far as this can be decided without DNS. `detail` is public text. */
  readonly checkTarget: CheckBodyTarget;
}

const ROUTE = ROUTES.listWebhooks.path;
const ROTATION = schemaBody('rotateSecret');

export function webhookHandlers(
  endpoint: EndpointFactory,
  parts: WebhookHandlerParts,
): SecretHandlers<
  'listWebhooks' | 'createWebhook' | 'findWebhook' | 'changeWebhook' | 'deleteWebhook' | 'testWebhook' | 'rotateSecret'
> {
  return {
    listWebhooks: endpoint({}, pageHandler(parts)),
    createWebhook: endpoint({ body: newWebhook(parts.checkTarget) }, additionHandler(parts)),
    findWebhook: endpoint({}, findHandler(parts)),
    changeWebhook: endpoint({ body: webhookChange(parts.checkTarget) }, changeHandler(parts)),
    deleteWebhook: endpoint({}, removalHandler(parts)),
    testWebhook: withOptionalBody(endpoint, ANY_REQUEST_BODY, testHandler(parts)),
    rotateSecret: withOptionalBody(endpoint, ROTATION, rotationHandler(parts)),
  };
}

function pageHandler({ webhooks, cursors }: WebhookHandlerParts): EndpointHandler {
  return (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listWebhooks);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    if (after !== null && !isWebhookId(after)) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const found = webhooks.page(customer, { after, limit });
    const next = found.next === null ? null : cursors.issue(ROUTE, customer, found.next);
    return pageAnswer(request.slices, found.rows, (webhook) => showMasked(webhooks, webhook), next);
  };
}

function findHandler({ webhooks }: WebhookHandlerParts): EndpointHandler {
  return (request) => {
    const id = idOf(request);
    const webhook = id === null ? null : webhooks.find(request.caller.customer, id);
    return webhook === null ? WEBHOOK_NOT_FOUND : { kind: 'json', status: 200, body: showMasked(webhooks, webhook) };
  };
}

function additionHandler({
  control,
  checkTarget,
}: WebhookHandlerParts): EndpointHandler<BodyOf<ReturnType<typeof newWebhook>>> {
  return async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const {
      url,
      event_types: eventTypes,
      events,
      description = null,
      filter = null,
      headers,
      format,
      fields,
      retry,
    } = read.value;
    if (eventTypes.length + (events?.length ?? 0) === 0) return NO_EVENTS;
    const fault = checkTarget(url);
    if (fault !== null) return blocked(fault);
    const unreadable = filterProblem(filter);
    if (unreadable !== null) return unreadable;
    const what = { url, eventTypes, events, description, filter, headers, format, fields, retry };
    const given = { customer: request.caller.customer, ...what };
    const made = await control.create(given, originOf(request).by);
    switch (made.kind) {
      case 'created': {
        const headers = { Location: `${ROUTE}/${made.webhook.id}` };
        return { kind: 'json', status: 201, body: webhookJson(made.webhook, made.secret), headers };
      }
      case 'limit_reached':
        return LIMIT_REACHED;
      case 'fault':
        return made;
      default:
        return unreachable(made);
    }
  };
}

function changeHandler({
  webhooks,
  control,
  checkTarget,
}: WebhookHandlerParts): EndpointHandler<BodyOf<ReturnType<typeof webhookChange>>> {
  return async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const {
      url,
      event_types: eventTypes,
      events,
      description,
      disabled,
      filter,
      headers,
      format,
      fields,
      retry,
    } = read.value;
    const fault = url === undefined ? null : checkTarget(url);
    if (fault !== null) return blocked(fault);
    const unreadable = filterProblem(filter);
    if (unreadable !== null) return unreadable;
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const before = webhooks.find(request.caller.customer, id);
    const remaining = [...(eventTypes ?? before?.eventTypes ?? []), ...(events ?? before?.events ?? [])];
    if (before !== null && remaining.length === 0) return NO_EVENTS;
    const wanted = {
      ...(url !== undefined && { url }),
      ...(eventTypes !== undefined && { eventTypes }),
      ...(events !== undefined && { events }),
      ...(description !== undefined && { description }),
      ...(disabled !== undefined && { disabled }),
      ...(filter !== undefined && { filter }),
      ...(headers !== undefined && { headers }),
      ...(format !== undefined && { format }),
      ...(fields !== undefined && { fields }),
      ...(retry !== undefined && { retry }),
    };
    const changed = await control.change(request.caller.customer, id, wanted, originOf(request).by);
    if (changed.kind === 'fault') return changed;
    if (changed.kind === 'not_found') return WEBHOOK_NOT_FOUND;
    return { kind: 'json', status: 200, body: showMasked(webhooks, changed.webhook) };
  };
}

function removalHandler({ control }: WebhookHandlerParts): EndpointHandler {
  return async (request) => {
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const removed = await control.remove(request.caller.customer, id, originOf(request).by);
    if (removed.kind === 'fault') return removed;
    return removed.kind === 'removed' ? { kind: 'empty', status: 204 } : WEBHOOK_NOT_FOUND;
  };
}

function rotationHandler({ control }: WebhookHandlerParts): EndpointHandler<BodyOf<typeof ROTATION> | null> {
  return async (request) => {
    const read = request.body;
    if (read?.kind === 'problem') return read;
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const graceSeconds = read?.value.grace_seconds ?? GRACE_SECONDS_DEFAULT;
    const rotated = await control.rotate(request.caller.customer, id, graceSeconds, originOf(request).by);
    if (rotated.kind === 'fault') return rotated;
    if (rotated.kind === 'not_found') return WEBHOOK_NOT_FOUND;
    return { kind: 'json', status: 200, body: webhookJson(rotated.webhook, rotated.secret) };
  };
}

function testHandler({ control }: WebhookHandlerParts): EndpointHandler<unknown> {
  return async (request) => {
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const tested = await request.waiting.whileOut(() => control.test(request.caller.customer, id));
    switch (tested.kind) {
      case 'done':
        return { kind: 'json', status: 200, body: deliveryJson(tested.delivery) };
      case 'not_found':
        return WEBHOOK_NOT_FOUND;
      case 'disabled':
        return WEBHOOK_DISABLED;
      case 'busy':
        return DELIVERIES_BUSY;
      case 'fault':
        return tested;
      default:
        return unreachable(tested);
    }
  };
}

function showMasked(webhooks: WebhookReader, webhook: Webhook): Record<string, unknown> {
  return webhookJson(webhook, maskedSecret(webhooks.secretsOf(webhook)?.current ?? null));
}

/** For endpoints whose body is optional: a body that is sent is read as usual; without one the handler receives null. */
export function withOptionalBody<Body>(
  endpoint: EndpointFactory,
  body: BodyReader<Body>,
  handler: EndpointHandler<Body | null>,
): Handler {
  const without = endpoint({}, handler);
  const withBody = endpoint({ body }, handler);
  return (head, exchange) => (head.contentLength > 0 ? withBody : without)(head, exchange);
}

/** The same response for another customer's webhook and for one that does not exist. */
export const WEBHOOK_NOT_FOUND: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such webhook.'),
};

export const WEBHOOK_DISABLED: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_ready', 'The webhook is disabled. Enable it first.'),
};

export const DELIVERIES_BUSY: EndpointResponse = {
  kind: 'problem',
  problem: overloaded('deliveries', 'Too many deliveries are in flight.'),
};

function blocked({ detail }: BodyTargetFault): EndpointResponse {
  const errors = [{ pointer: '/url', code: 'blocked_url', message: detail }];
  return { kind: 'problem', problem: problem('blocked_url', 'Deliveries may not go to this URL.', { errors }) };
}

/** Returns the 422 for a filter that cannot be used, with the position of each error; null for one that can, and without one. */
function filterProblem(filter: string | null | undefined): EndpointResponse | null {
  if (filter === null || filter === undefined) return null;
  const compiled = compileFilter(filter);
  if (compiled.kind === 'ok') return null;
  const errors = showFaults(compiled.faults).map((error) => ({ pointer: '/filter', ...error }));
  return { kind: 'problem', problem: problem('validation_failed', 'The filter cannot be used.', { errors }) };
}

/** A webhook needs an event: of decisions, or a further one. */
const NO_EVENTS: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'A field is not valid.', {
    errors: [{ pointer: '/event_types', code: 'too_few', message: 'This or events must have at least 1 item.' }],
  }),
};

const LIMIT_REACHED: EndpointResponse = {
  kind: 'problem',
  problem: problem('limit_reached', 'The maximum number of webhooks is reached. Delete one first.'),
};

function idOf(request: AnyRequest): WebhookId | null {
  const id = request.params['id'] ?? '';
  return isWebhookId(id) ? id : null;
}
