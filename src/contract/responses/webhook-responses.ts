import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import {
  WEBHOOK_FIELDS,
  WEBHOOK_FORMATS,
  WEBHOOK_RETRIES,
  DELIVERY_EVENTS,
  DELIVERY_ERRORS,
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  NOTICE_EVENTS,
} from '../vocabulary.ts';
import { count, decision, pageOf, unixSeconds } from './response-parts.ts';

/** The answer of `POST /v1/webhooks/{id}/recover`. */
export const RECOVERED = z
  .object({
    queued: count.meta({ description: 'Deliveries that were created' }),
    delivered: count.meta({ description: 'Matching decisions with a delivery that succeeded or is pending' }),
    left: count.meta({ description: 'Matching decisions that a further call would recover' }),
    known_since: unixSeconds.nullable().meta({
      description: 'Set if the log does not reach back to `since`: nothing older is recovered',
    }),
  })
  .meta({ id: 'Recovered' });

export const WEBHOOK = z
  .object({
    id: z.string().regex(idPattern('wh')),
    url: z.string(),
    event_types: z.array(decision),
    events: z.array(z.enum(NOTICE_EVENTS)).meta({ description: 'Further events beside decisions' }),
    description: z.string().nullable(),
    disabled: z.boolean().meta({ description: 'Paused: the webhook receives nothing and is not unhealthy' }),
    filter: z.string().nullable().meta({ description: 'Only decisions for which this is true are delivered' }),
    filter_error: z.string().nullable().meta({
      description: 'Why this version cannot read the stored filter; then every decision is delivered. Else null',
    }),
    headers: z
      .record(z.string(), z.string())
      .meta({ description: 'Extra headers that are sent; each value is masked' }),
    format: z.enum(WEBHOOK_FORMATS),
    fields: z.enum(WEBHOOK_FIELDS),
    retry: z.enum(WEBHOOK_RETRIES),
    secret: z.string().meta({
      description:
        '`whsec_` and the base64 of 32 bytes if it is shown completely; else masked except for its last 4 characters',
    }),
    status: z.enum(['healthy', 'unhealthy']),
    consecutive_failures: count.meta({ description: 'Consecutive failed deliveries; 10 make the webhook unhealthy' }),
    unhealthy_since: unixSeconds.nullable(),
    next_probe_at: unixSeconds.nullable().meta({
      description: 'From this time on the next matching decision is delivered as a probe',
    }),
    last_success_at: unixSeconds.nullable(),
    last_failure_at: unixSeconds.nullable(),
    created_at: unixSeconds,
    updated_at: unixSeconds,
  })
  .meta({ id: 'Webhook' });

export const WEBHOOK_PAGE = pageOf(WEBHOOK).meta({ id: 'WebhookPage' });

const deliveryError = z.enum(DELIVERY_ERRORS).nullable();

const DELIVERY_ATTEMPT = z
  .object({
    attempt: z.int().min(1),
    started_at: unixSeconds,
    duration_ms: z.int(),
    status_code: z.int().nullable(),
    error: deliveryError,
  })
  .meta({ id: 'DeliveryAttempt' });

export const DELIVERY = z
  .object({
    id: z.string().regex(idPattern('dlv')).meta({ description: 'The same as the header webhook-id of the delivery' }),
    webhook_id: z.string().nullable().meta({ description: 'null for the endpoint of an extraction' }),
    url: z.string(),
    event: z.enum(DELIVERY_EVENTS),
    request_id: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    trigger: z.enum(DELIVERY_TRIGGERS),
    attempt_count: count,
    last_status_code: z.int().nullable(),
    last_error: deliveryError,
    created_at: unixSeconds,
    completed_at: unixSeconds.nullable(),
    next_attempt_at: unixSeconds.nullable(),
    attempts: z.array(DELIVERY_ATTEMPT),
  })
  .meta({ id: 'Delivery' });

export const DELIVERY_DETAIL = DELIVERY.extend({
  body: z.string().nullable().meta({
    description: 'The body that every attempt sends; null for the records of an extraction, which the job has',
  }),
}).meta({ id: 'DeliveryDetail' });

export const DELIVERY_PAGE = pageOf(DELIVERY).meta({ id: 'DeliveryPage' });
