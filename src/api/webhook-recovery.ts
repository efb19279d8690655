import type { CustomerNumber } from '../kernel/brand.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { problem } from '../contract/problem.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { storedFilter } from '../work/webhook-filter.ts';
import { DecidedEvent } from '../work/webhook-event.ts';
import { formatEvent } from '../work/formats/event-formats.ts';
import type { DeliveryId, Webhook, WebhookId } from '../work/webhook.ts';
import { BUSY } from './busy.ts';
import { schemaBody } from './kit/body-readers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { AnyRequest, EndpointHandler, EndpointResponse } from './kit/endpoint-types.ts';
import type { DeliveryReader, Redelivery, WebhookControl, WebhookReader } from './webhook-control-port.ts';
import { DELIVERIES_BUSY, WEBHOOK_DISABLED, WEBHOOK_NOT_FOUND } from './webhook-handlers.ts';
import { isWebhookId } from './webhook-wire.ts';

export interface RecoveryParts {
  readonly decisions: Pick<DecisionReader, 'find' | 'search'>;
  readonly deliveries: Pick<DeliveryReader, 'page' | 'settled'>;
  readonly control: Pick<WebhookControl, 'redeliver'>;
  readonly webhooks: Pick<WebhookReader, 'find'>;
}

/** Choice: deliveries that a call creates; a tenth of what may be pending for an endpoint. */
export const RECOVERED_PER_CALL_MAX = 10_000;
/** Choice: some 5 MB of ids. */
const MATCHES_MAX = 50_000;
const PAGE_ROWS = 500;
/** Source: contract, 10.8: ended deliveries that the log keeps of a customer. */
const LOG_ROWS_MAX = 10_000;

const BODY = schemaBody('recoverDeliveries');

/** Delivers decisions again that have no delivery that succeeded. Source: contract, 10.15. */
export function recoveryHandlers(endpoint: EndpointFactory, parts: RecoveryParts): SecretHandlers<'recoverDeliveries'> {
  return { recoverDeliveries: endpoint({ body: BODY }, recoveryHandler(parts)) };
}

function recoveryHandler(parts: RecoveryParts): EndpointHandler<BodyOf<typeof BODY>> {
  /** Webhooks of recoveries under way: a second one would not know what the first is about to create. */
  const recovering = new Set<WebhookId>();
  return async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { since, until } = read.value;
    const range: TimeSpan = {
      sinceMs: since * 1_000,
      untilMs: until === undefined ? request.nowMs + 1 : until * 1_000,
    };
    if (range.sinceMs >= range.untilMs) return REVERSED;
    const id = request.params['id'] ?? '';
    const webhook = isWebhookId(id) ? parts.webhooks.find(request.caller.customer, id) : null;
    if (webhook === null) return WEBHOOK_NOT_FOUND;
    if (webhook.disabled) return WEBHOOK_DISABLED;
    if (recovering.has(webhook.id)) return DELIVERIES_BUSY;
    recovering.add(webhook.id);
    try {
      return await recover(parts, request, webhook, range);
    } finally {
      recovering.delete(webhook.id);
    }
  };
}

async function recover(
  parts: RecoveryParts,
  request: AnyRequest,
  webhook: Webhook,
  range: TimeSpan,
): Promise<EndpointResponse> {
  const known = await knownDeliveries(parts, request, webhook, range.sinceMs);
  if (known === null) return DELIVERIES_BUSY;
  const sinceMs = Math.max(range.sinceMs, known.sinceMs);
  const found = await matching(parts, request, webhook, { ...range, sinceMs });
  if (found.kind !== 'found') return found.response;
  if (request.coverage.isPartial) return NODE_MISSING;
  const missing = found.requestIds.filter((requestId) => !known.requestIds.has(requestId));
  // The search found the newest first.
  const wanted = missing.reverse().slice(0, RECOVERED_PER_CALL_MAX);
  const queued = await redeliver(parts, request, webhook, wanted);
  const body = {
    queued,
    delivered: found.requestIds.length - missing.length,
    left: missing.length - queued,
    known_since: sinceMs === range.sinceMs ? null : Math.ceil(sinceMs / 1_000),
  };
  return { kind: 'json', status: 202, body };
}

interface TimeSpan {
  readonly sinceMs: number;
  readonly untilMs: number;
}

interface KnownDeliveries {
  /** Decisions with a delivery to the webhook that succeeded or is pending. */
  readonly requestIds: ReadonlySet<string>;
  /** The log has all deliveries since then. */
  readonly sinceMs: number;
}

/** Returns null if too many pages of the log are read at once. */
async function knownDeliveries(
  { deliveries }: RecoveryParts,
  { caller: { customer }, coverage }: AnyRequest,
  webhook: Webhook,
  sinceMs: number,
): Promise<KnownDeliveries | null> {
  await deliveries.settled();
  const requestIds = new Set<string>();
  const all = { webhookId: null, requestId: null, status: null, event: null };
  let after: DeliveryId | null = null;
  let ended = 0;
  let oldestMs = Infinity;
  do {
    const page = await deliveries.page(customer, { ...all, after, limit: PAGE_ROWS }, coverage);
    if (page.kind === 'busy') return null;
    for (const { endpointId, requestId, status, createdAtMs } of page.rows) {
      if (status !== 'pending') ended++;
      oldestMs = Math.min(oldestMs, createdAtMs);
      if (endpointId === webhook.id && (status === 'succeeded' || status === 'pending')) requestIds.add(requestId);
    }
    after = page.next;
    // A delivery is never older than its decision.
  } while (after !== null && oldestMs >= sinceMs);
  return { requestIds, sinceMs: ended >= LOG_ROWS_MAX && oldestMs > sinceMs ? oldestMs : 0 };
}

type Matching =
  | { readonly kind: 'found'; readonly requestIds: string[] }
  | { readonly kind: 'refused'; readonly response: EndpointResponse };

/** Finds the decisions that the webhook subscribes to, newest first. */
async function matching(
  { decisions }: RecoveryParts,
  { caller: { customer }, nowMs, coverage }: AnyRequest,
  webhook: Webhook,
  filter: TimeSpan,
): Promise<Matching> {
  const condition = storedFilter(webhook.filter);
  const [only = null, ...others] = webhook.eventTypes;
  const query = { decision: others.length === 0 ? only : null, text: null, limit: PAGE_ROWS, nowMs, filter, coverage };
  const requestIds: string[] = [];
  let after: Parameters<DecisionReader['search']>[1]['after'] = null;
  do {
    const page = await decisions.search(customer, { ...query, after });
    if (page.kind === 'busy') return { kind: 'refused', response: BUSY };
    for (const { record } of page.rows) {
      if (!webhook.eventTypes.includes(record.decision)) continue;
      if (condition !== null && condition.evaluate(eventOf(customer, record)) !== true) continue;
      requestIds.push(record.requestId);
    }
    if (requestIds.length > MATCHES_MAX) return { kind: 'refused', response: TOO_MANY };
    after = page.next;
  } while (after !== null);
  return { kind: 'found', requestIds };
}

/** Returns how many there was room for. */
async function redeliver(
  { decisions, control }: RecoveryParts,
  { caller: { customer }, nowMs, slices, coverage }: AnyRequest,
  webhook: Webhook,
  requestIds: readonly string[],
): Promise<number> {
  let queued = 0;
  for (const requestId of requestIds) {
    if (slices.isOver) await slices.begin();
    const found = await decisions.find(customer, requestId, nowMs, coverage);
    // It expired meanwhile.
    if (found === null) continue;
    const { record } = found;
    const body = Buffer.from(formatEvent(eventOf(customer, record), webhook));
    const redelivery: Redelivery = { requestId, event: record.decision, body, before: requestIds.length - queued };
    if (!control.redeliver(customer, webhook.id, redelivery)) break;
    queued++;
  }
  return queued;
}

function eventOf(customer: CustomerNumber, record: DecisionRecord): DecidedEvent {
  const { requestId, decision, score, occurredAtMs, contributions } = record;
  const reasons = contributions.map(({ code }) => code);
  return new DecidedEvent(
    { requestId, decision, score, reasons, occurredAtMs, isTest: isTestCustomer(customer) },
    record,
  );
}

const REVERSED: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'The time range is empty.', {
    errors: [{ pointer: '/since', code: 'invalid_value', message: 'This must be before `until`.' }],
  }),
};

const TOO_MANY: EndpointResponse = {
  kind: 'problem',
  problem: problem('validation_failed', 'Too many decisions match.', {
    errors: [
      {
        pointer: '/since',
        code: 'too_many',
        message: `More than ${MATCHES_MAX.toLocaleString('en')} decisions match: recover a shorter time, the oldest first.`,
      },
    ],
  }),
};

const NODE_MISSING: EndpointResponse = {
  kind: 'problem',
  problem: problem('not_ready', 'A node does not answer, so it is not known what was delivered. Try again later.'),
};
