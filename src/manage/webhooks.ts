import * as z from 'zod';
import { unreachable } from '../base/brand.ts';
import type { Handler, Route } from '../base/exchange.ts';
import { problem } from '../base/problem.ts';
import { DECISIONS } from '../core/decision.ts';
import type { Webhook, WebhookId } from '../core/webhook.ts';
import { overloaded } from '../decide/pipeline.ts';
import type { Managed, ManagedAnswer, ManagedHandler, ManagedRequest } from './managed.ts';
import { badQuery, type Cursors, pageAnswer, readPage } from './paging.ts';
import { text, validate } from './validate.ts';
import type { WebhookControl, WebhookReader } from './webhook-control.ts';
import { deliveryJson, isWebhookId, maskedSecret, webhookJson } from './webhook-wire.ts';

/** A customer's endpoints for events. Source: risk specification, 2.4 and 4.3; open points, section 4. */
export interface WebhookParts {
  readonly webhooks: WebhookReader;
  readonly control: Pick<WebhookControl, 'create' | 'remove' | 'rotate' | 'test'>;
  readonly cursors: Cursors;
  /** null when deliveries may go there, as far as that can be told without asking the name service. `detail` is public text. */
  readonly checkTarget: (url: string) => TargetFault | null;
}

interface TargetFault {
  /** `invalid`: not of a URL's form. */
  readonly code: 'invalid' | 'blocked_url';
  readonly detail: string;
}

const ROUTE = '/v1/webhooks';
/** Source: open points, section 1. */
const PAGE_ROWS_DEFAULT = 100;
/** Source: open points, section 4. */
const URL_CHARACTERS_MAX = 2_048;
/** Choice: as long as a list entry's note. */
const DESCRIPTION_CHARACTERS_MAX = 500;
/** Source: open points, section 4, has a day in its example. */
const GRACE_SECONDS_DEFAULT = 86_400;
/** Choice: a week; an old secret that counts longer was not replaced. */
const GRACE_SECONDS_MAX = 7 * 86_400;

// Counted before each is looked at: a body of many thousand must not take as many checks.
const EVENT_TYPES = z
  .array(z.unknown())
  .min(1)
  .max(DECISIONS.length)
  .pipe(z.array(z.enum(DECISIONS)).check(findTwins));
const ROTATION = z.object({ grace_seconds: z.int().min(0).max(GRACE_SECONDS_MAX).nullish() });

export function webhookRoutes(managed: Managed, parts: WebhookParts): Route[] {
  const { webhooks, control, cursors, checkTarget } = parts;
  const newWebhook = z.object({
    url: text(URL_CHARACTERS_MAX).check(findFormFault),
    event_types: EVENT_TYPES,
    description: text(DESCRIPTION_CHARACTERS_MAX).nullish(),
  });

  const page: ManagedHandler = (request) => {
    const read = readPage(request, cursors, ROUTE, PAGE_ROWS_DEFAULT);
    if (read.kind === 'problem') return read;
    const { after, limit } = read;
    if (after !== null && !isWebhookId(after)) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const found = webhooks.page(customer, { after, limit });
    return pageAnswer(
      found.rows.map(showMasked),
      found.next === null ? null : cursors.issue(ROUTE, customer, found.next),
    );
  };

  const find: ManagedHandler = (request) => {
    const id = idOf(request);
    const webhook = id === null ? null : webhooks.find(request.caller.customer, id);
    return webhook === null ? WEBHOOK_NOT_FOUND : { kind: 'json', status: 200, body: showMasked(webhook) };
  };

  const add: ManagedHandler = async (request) => {
    const read = validate(newWebhook, request.body);
    if (read.kind === 'problem') return read;
    const { url, event_types: eventTypes, description = null } = read.value;
    const fault = checkTarget(url);
    if (fault !== null) return blocked(fault);
    const made = await control.create({ customer: request.caller.customer, url, eventTypes, description });
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

  const remove: ManagedHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const removed = await control.remove(request.caller.customer, id);
    if (removed.kind === 'fault') return removed;
    return removed.kind === 'removed' ? { kind: 'empty', status: 204 } : WEBHOOK_NOT_FOUND;
  };

  const rotate: ManagedHandler = async (request) => {
    const read = validate(ROTATION, request.body ?? {});
    if (read.kind === 'problem') return read;
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const graceSeconds = read.value.grace_seconds ?? GRACE_SECONDS_DEFAULT;
    const rotated = await control.rotate(request.caller.customer, id, graceSeconds);
    if (rotated.kind === 'fault') return rotated;
    if (rotated.kind === 'not_found') return WEBHOOK_NOT_FOUND;
    return { kind: 'json', status: 200, body: webhookJson(rotated.webhook, rotated.secret) };
  };

  const test: ManagedHandler = async (request) => {
    const id = idOf(request);
    if (id === null) return WEBHOOK_NOT_FOUND;
    const tested = await control.test(request.caller.customer, id);
    switch (tested.kind) {
      case 'done':
        return { kind: 'json', status: 200, body: deliveryJson(tested.delivery) };
      case 'not_found':
        return WEBHOOK_NOT_FOUND;
      case 'busy':
        return DELIVERIES_BUSY;
      case 'fault':
        return tested;
      default:
        return unreachable(tested);
    }
  };

  function findFormFault(context: z.core.ParsePayload<string>): void {
    const fault = checkTarget(context.value);
    if (fault?.code !== 'invalid') return;
    context.issues.push({ code: 'custom', message: fault.detail, input: context.value });
  }

  function showMasked(webhook: Webhook): Record<string, unknown> {
    return webhookJson(webhook, maskedSecret(webhooks.secretsOf(webhook)?.current ?? null));
  }

  return [
    managed.route(ROUTE, { GET: managed({}, page), POST: managed({ body: 'json' }, add) }),
    managed.route(`${ROUTE}/{id}`, { GET: managed({}, find), DELETE: managed({}, remove) }),
    managed.route(`${ROUTE}/{id}/test`, { POST: withOptionalBody(managed, test) }),
    managed.route(`${ROUTE}/{id}/rotate`, { POST: withOptionalBody(managed, rotate) }),
  ];
}

/** For calls that need no body: where one is sent, it is read like any other; else the handler gets null for it. */
export function withOptionalBody(managed: Managed, handler: ManagedHandler): Handler {
  const without = managed({}, handler);
  const withBody = managed({ body: 'json' }, handler);
  return (head, exchange) => (head.contentLength > 0 ? withBody : without)(head, exchange);
}

/** The same for another customer's webhooks as for those that nobody has. */
const WEBHOOK_NOT_FOUND: ManagedAnswer = {
  kind: 'problem',
  problem: problem('not_found', 'There is no such webhook.'),
};

export const DELIVERIES_BUSY: ManagedAnswer = {
  kind: 'problem',
  problem: overloaded('As many deliveries are under way as the service takes at once.'),
};

function blocked({ detail }: TargetFault): ManagedAnswer {
  const errors = [{ pointer: '/url', code: 'blocked_url', message: detail }];
  return { kind: 'problem', problem: problem('blocked_url', 'Deliveries may not go to this URL.', { errors }) };
}

const LIMIT_REACHED: ManagedAnswer = {
  kind: 'problem',
  problem: problem('limit_reached', 'There are as many webhooks as a customer may have. Delete one first.'),
};

const FOREIGN_CURSOR: ManagedAnswer = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
};

/** Tells of each event type that was named before. */
function findTwins(context: z.core.ParsePayload<readonly string[]>): void {
  for (const [i, name] of context.value.entries()) {
    if (context.value.indexOf(name) === i) continue;
    context.issues.push({ code: 'custom', message: 'This is given twice.', path: [i], input: context.value });
  }
}

function idOf(request: ManagedRequest): WebhookId | null {
  const id = request.params['id'] ?? '';
  return isWebhookId(id) ? id : null;
}
