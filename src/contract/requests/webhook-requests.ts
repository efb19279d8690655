import * as z from 'zod';
import { DECISIONS, NOTICE_EVENTS, WEBHOOK_FIELDS, WEBHOOK_FORMATS, WEBHOOK_RETRIES } from '../vocabulary.ts';
import { extraHeaders } from './extra-headers.ts';
import { text } from './request-text.ts';

/** Source: contract, 10.1. */
const URL_CHARACTERS_MAX = 2_048;
/** Choice: the limit of a list entry's note. */
const DESCRIPTION_CHARACTERS_MAX = 500;
/** Choice: that of a condition of own rules. */
const FILTER_CHARACTERS_MAX = 1_000;
/** Choice: a week; an old secret that stays valid longer has not really been replaced. */
const GRACE_SECONDS_MAX = 7 * 86_400;
/** Source: contract, 10.2: its example has a day. */
export const GRACE_SECONDS_DEFAULT = 86_400;

/** Only the server can decide which targets are allowed: it adds a check to this schema. */
const url = text(URL_CHARACTERS_MAX).meta({
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://',
  description:
    'Absolute http or https URL without user info and fragment; its host must be reachable from the internet',
});

// Event types are counted before any of them is validated, so that a body with many thousands does not cause as many checks.
const eventTypes = z
  .array(z.unknown())
  .max(DECISIONS.length)
  .pipe(z.array(z.enum(DECISIONS)).check(findDuplicates))
  // The document describes the input of the pipe's first schema, whose items are unknown.
  .meta({
    items: { type: 'string', enum: DECISIONS },
    uniqueItems: true,
    description: 'Decisions to send; may be empty if `events` is not',
  });

const events = z
  .array(z.unknown())
  .max(NOTICE_EVENTS.length)
  .pipe(z.array(z.enum(NOTICE_EVENTS)).check(findDuplicates))
  .meta({
    items: { type: 'string', enum: NOTICE_EVENTS },
    uniqueItems: true,
    description: 'Further events to send, beside decisions',
  });

const description = text(DESCRIPTION_CHARACTERS_MAX).nullish();

/** Only the server can check a condition: its errors have their line and column. */
const filter = text(FILTER_CHARACTERS_MAX).nullish().meta({
  description:
    'Condition in the language of own rules over the facts of an event: only decisions for which it is true are delivered',
});

const headers = extraHeaders.nullish();
const format = z.enum(WEBHOOK_FORMATS).optional().meta({ description: 'Format of the bodies; `standard` by default' });
const fields = z.enum(WEBHOOK_FIELDS).optional().meta({
  description:
    'In the standard format: `event`, the default, has the six fields of the event, `full` what is known of the decision',
});
const retry = z.enum(WEBHOOK_RETRIES).optional().meta({
  description:
    '`fast`, the default: 4 attempts within seconds. `patient`: then 6 more within 35 hours, and nothing is skipped while the endpoint is down',
});

/** The body of `POST /v1/webhooks`. */
export const WEBHOOK_CHANGE = z
  .object({
    url,
    event_types: eventTypes,
    events: events.optional(),
    description,
    filter,
    headers,
    format,
    fields,
    retry,
  })
  .meta({ id: 'WebhookChange' });

/** The body of `PATCH /v1/webhooks/{id}`. */
export const WEBHOOK_PATCH = z
  .object({
    url: url.optional(),
    event_types: eventTypes.optional(),
    events: events.optional(),
    description,
    disabled: z.boolean().optional(),
    filter,
    headers,
    format,
    fields,
    retry,
  })
  .meta({
    id: 'WebhookPatch',
    description: 'Changes the given fields; an empty object changes nothing. The secret is kept.',
  });

/** The body of `POST /v1/webhooks/{id}/rotate`. */
export const ROTATION = z
  .object({
    grace_seconds: z.int().min(0).max(GRACE_SECONDS_MAX).nullish().meta({
      default: GRACE_SECONDS_DEFAULT,
      description: 'How long the old secret keeps signing; 0 ends all older secrets at once',
    }),
  })
  .meta({ id: 'Rotation' });

/** The body of `POST /v1/webhooks/{id}/recover`. */
export const RECOVERY = z
  .object({
    since: z.int().min(0).meta({ description: 'Unix seconds: decisions of this time and later' }),
    until: z.int().min(0).optional().meta({ description: 'Unix seconds: decisions before this time; now by default' }),
  })
  .meta({ id: 'Recovery' });

/** The body of endpoints that ignore its contents. */
export const ANY_OBJECT = z.record(z.string(), z.unknown());

/** Reports each duplicate event type. */
function findDuplicates(context: z.core.ParsePayload<readonly string[]>): void {
  for (const [i, name] of context.value.entries()) {
    if (context.value.indexOf(name) === i) continue;
    context.issues.push({ code: 'custom', message: 'This is given twice.', path: [i], input: context.value });
  }
}
