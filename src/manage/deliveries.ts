import { unreachable } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import { problem, type Problem } from '../base/problem.ts';
import { DECISIONS } from '../core/decision.ts';
import { DELIVERY_STATUSES, type DeliveryId, EXTRACTION_EVENTS } from '../core/webhook.ts';
import { overloaded } from '../decide/pipeline.ts';
import { pageAnswer } from './answer-pieces.ts';
import { ANY_BODY } from './body.ts';
import type { AnyRequest, Managed, ManagedAnswer, ManagedHandler } from './managed.ts';
import { badQuery, type Cursors, readPage } from './paging.ts';
import type { DeliveryQuery, DeliveryReader, WebhookControl } from './webhook-control.ts';
import { deliveryJson, isDeliveryId } from './webhook-wire.ts';
import { DELIVERIES_BUSY, WEBHOOK_DISABLED, withOptionalBody } from './webhooks.ts';

/** The log of a customer's deliveries. Source: risk specification, 2.5 and 4.3; open points, section 4. */
export interface DeliveryParts {
  readonly deliveries: DeliveryReader;
  readonly control: Pick<WebhookControl, 'retry'>;
  readonly cursors: Cursors;
}

const ROUTE = '/v1/webhooks/deliveries';
/** Source: open points, section 1. */
const PAGE_ROWS_DEFAULT = 100;
const EVENTS = [...DECISIONS, ...EXTRACTION_EVENTS] as const;

/** These go before those of `webhookRoutes`: `deliveries` is no webhook's id. */
export function deliveryRoutes(managed: Managed, { deliveries, control, cursors }: DeliveryParts): Route[] {
  const page: ManagedHandler = async (request) => {
    const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const filters = readFilters(request.query);
    if (filters.kind === 'problem') return filters;
    const { after, limit } = read;
    if (after !== null && !isDeliveryId(after)) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    await deliveries.settled();
    const found = await deliveries.page(customer, { ...filters.value, after, limit });
    if (found.kind === 'busy') return PAGES_BUSY;
    const cursorAt = (place: string): string => cursors.issue(ROUTE, customer, place);
    const next = found.next === null ? null : cursorAt(found.next);
    return pageAnswer(request.slices, found.rows, deliveryJson, next, ({ id: place }) => cursorAt(place));
  };

  const find: ManagedHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return NOT_FOUND;
    await deliveries.settled();
    const delivery = deliveries.find(request.caller.customer, id);
    return delivery === null ? NOT_FOUND : { kind: 'json', status: 200, body: deliveryJson(delivery) };
  };

  const retry: ManagedHandler = async (request) => {
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

  return [
    managed.route(ROUTE, { GET: managed({}, page) }),
    managed.route(`${ROUTE}/{id}`, { GET: managed({}, find) }),
    managed.route(`${ROUTE}/{id}/retry`, { POST: withOptionalBody(managed, ANY_BODY, retry) }),
  ];
}

/** The same for another customer's deliveries as for those that nobody has. */
const NOT_FOUND: ManagedAnswer = { kind: 'problem', problem: problem('not_found', 'There is no such delivery.') };

const PAGES_BUSY: ManagedAnswer = {
  kind: 'problem',
  problem: overloaded('As many pages of the log are asked for as the service makes for a customer at once.'),
};

const PENDING: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_ready', 'This delivery is still under way. Retry it when it has ended.'),
};

const ENDPOINT_GONE: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'This delivery has no webhook that it could be sent to again.'),
};

const FOREIGN_CURSOR: ManagedAnswer = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
};

type Filters = Pick<DeliveryQuery, 'webhookId' | 'status' | 'requestId' | 'event'>;

/**
 * Choice: an id that names nothing finds nothing, whatever its form within this alphabet; other texts are no ids, and 400. The
 * store is asked for no longer ones.
 */
const ID = /^[\w-]{1,64}$/;

function readFilters(
  query: URLSearchParams,
): { readonly kind: 'ok'; readonly value: Filters } | { readonly kind: 'problem'; readonly problem: Problem } {
  const webhookId = query.get('webhook_id');
  if (webhookId !== null && !ID.test(webhookId)) return badFilter('webhook_id', 'the id of a webhook');
  const requestId = query.get('request_id');
  if (requestId !== null && !ID.test(requestId))
    return badFilter('request_id', 'the id of a decision or an extraction');
  const status = oneOf(DELIVERY_STATUSES, query.get('status'));
  if (status === undefined) return badFilter('status', `one of ${DELIVERY_STATUSES.join(', ')}`);
  const event = oneOf(EVENTS, query.get('event'));
  if (event === undefined) return badFilter('event', `one of ${EVENTS.join(', ')}`);
  return { kind: 'ok', value: { webhookId, status, requestId, event } };
}

/** null where nothing is asked for, undefined for none of the values. */
function oneOf<T extends string>(values: readonly T[], given: string | null): T | null | undefined {
  return given === null ? null : values.find((value) => value === given);
}

function badFilter(name: string, what: string): { readonly kind: 'problem'; readonly problem: Problem } {
  return { kind: 'problem', problem: badQuery(name, `This must be ${what}.`) };
}

function idOf(request: AnyRequest): DeliveryId | null {
  const id = request.params['id'] ?? '';
  return isDeliveryId(id) ? id : null;
}

function locationOf(id: DeliveryId): Readonly<Record<string, string>> {
  return { Location: `${ROUTE}/${id}` };
}
