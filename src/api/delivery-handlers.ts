import { unreachable } from '../kernel/brand.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import type { DeliveryId } from '../work/webhook.ts';
import { overloaded } from '../decide/respond.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { ANY_REQUEST_BODY } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { AnyRequest, EndpointResponse, EndpointHandler } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';
import type { DeliveryReader, WebhookControl } from './webhook-control-port.ts';
import { deliveryDetailJson, deliveryJson, isDeliveryId } from './webhook-wire.ts';
import { DELIVERIES_BUSY, WEBHOOK_DISABLED, withOptionalBody } from './webhook-handlers.ts';

/** Dependencies of the endpoints for a customer's delivery log. Source: contract, 10.2 and 10.8. */
export interface DeliveryParts {
  readonly deliveries: DeliveryReader;
  readonly control: Pick<WebhookControl, 'retry'>;
  readonly cursors: Cursors;
}

const ROUTE = ROUTES.listDeliveries.path;

export function deliveryHandlers(
  endpoint: EndpointFactory,
  { deliveries, control, cursors }: DeliveryParts,
): SecretHandlers<'listDeliveries' | 'findDelivery' | 'retryDelivery'> {
  const page: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, QUERIES.listDeliveries);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    if (after !== null && !isDeliveryId(after)) return FOREIGN_CURSOR;
    const { webhook_id: webhookId = null, request_id: requestId = null, status = null, event = null } = read.values;
    const { customer } = request.caller;
    await deliveries.settled();
    const query = { webhookId, requestId, status, event, after, limit };
    const found = await deliveries.page(customer, query, request.coverage);
    if (found.kind === 'busy') return PAGES_BUSY;
    const cursorAt = (place: string): string => cursors.issue(ROUTE, customer, place);
    const next = found.next === null ? null : cursorAt(found.next);
    return pageAnswer(request.slices, found.rows, deliveryJson, next, ({ id: place }) => cursorAt(place));
  };

  const find: EndpointHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return NOT_FOUND;
    await deliveries.settled();
    const delivery = await deliveries.find(request.caller.customer, id, request.coverage);
    return delivery === null ? NOT_FOUND : { kind: 'json', status: 200, body: deliveryDetailJson(delivery) };
  };

  const retry: EndpointHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return NOT_FOUND;
    const outcome = await control.retry(request.caller.customer, id);
    switch (outcome.kind) {
      case 'queued':
        return {
          kind: 'json',
          status: 202,
          body: deliveryJson(outcome.delivery),
          headers: locationOf(outcome.delivery.id),
        };
      case 'not_found':
        return NOT_FOUND;
      case 'pending':
        return PENDING;
      case 'endpoint_gone':
        return ENDPOINT_GONE;
      case 'disabled':
        return WEBHOOK_DISABLED;
      case 'busy':
        return DELIVERIES_BUSY;
      case 'fault':
        return outcome;
      default:
        return unreachable(outcome);
    }
  };

  return {
    listDeliveries: endpoint({}, page),
    findDelivery: endpoint({}, find),
    retryDelivery: withOptionalBody(endpoint, ANY_REQUEST_BODY, retry),
  };
}

/** The same response for another customer's delivery and for one that does not exist. */
const NOT_FOUND: EndpointResponse = { kind: 'problem', problem: problem('not_found', 'There is no such delivery.') };

const PAGES_BUSY: EndpointResponse = {
  kind: 'problem',
  problem: overloaded('delivery_pages', 'Too many pages of the delivery log are requested at once.'),
};

const PENDING: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_ready', 'This delivery is still pending. Retry it after it has ended.'),
};

const ENDPOINT_GONE: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_found', 'This delivery has no webhook that could receive it again.'),
};

function idOf(request: AnyRequest): DeliveryId | null {
  const id = request.params['id'] ?? '';
  return isDeliveryId(id) ? id : null;
}

function locationOf(id: DeliveryId): Readonly<Record<string, string>> {
  return { Location: `${ROUTE}/${id}` };
}
