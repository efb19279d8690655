import * as z from 'zod';
import { ENTITY_NAME_CHARACTERS_MAX } from '../kernel/limits.ts';
import { SEARCH_TEXT_CHARACTERS_MAX } from '../kernel/history-limits.ts';
import { PAGE_ROWS_MAX } from '../kernel/limits.ts';
import { HASH } from './requests/list-requests.ts';
import { DECISIONS, ENTITY_KIND, LIST_KINDS } from './vocabulary.ts';

/** Parameters that several endpoints share. The description of a schema becomes the description of the parameter. */

/** A whole number from `least` to `most`. Every violation has the same message. */
export function wholeNumber(least: number, most: number, message: string): z.ZodInt {
  return z.int(message).min(least, message).max(most, message);
}

/** One of these values, all of which the message lists. */
export function oneOf<const Values extends readonly string[]>(
  values: Values,
): z.ZodEnum<{ [Value in Values[number]]: Value }> {
  return z.enum(values, `This must be one of ${values.join(', ')}.`);
}

/** The form of names that filters look for. An unknown one gives an empty page; malformed text is a 400. */
export const nameOf = (what: string): z.ZodString =>
  z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, `This must be ${what}.`);

export function pageLimit(rowsDefault: number): z.ZodDefault<z.ZodInt> {
  return wholeNumber(1, PAGE_ROWS_MAX, `This must be a number from 1 to ${PAGE_ROWS_MAX}.`)
    .default(rowsDefault)
    .meta({ description: 'Maximum number of rows in a page' });
}

const CURSOR = z.string().optional().meta({ description: 'The next_cursor of the previous page' });
const LIMIT = pageLimit(100);

/** The query parameters of every page. Source: contract, 2.5. */
export const PAGE = { limit: LIMIT, cursor: CURSOR };

/** The search text for decisions. */
export const SEARCH_TEXT = z
  .string()
  .trim()
  .max(SEARCH_TEXT_CHARACTERS_MAX, `This must have at most ${SEARCH_TEXT_CHARACTERS_MAX} characters.`)
  .optional()
  .meta({ description: 'Part of the IP address, of the country code or of a reason; case-insensitive' });

export function decisionFilter(description: string): z.ZodOptional<ReturnType<typeof oneOf<typeof DECISIONS>>> {
  return oneOf(DECISIONS).optional().meta({ description });
}

export const FINGERPRINT_HASH = z.string().regex(HASH).meta({ description: 'Upper or lower case' });
const LIST_KIND_FORM = new RegExp(
  `^(?:${LIST_KINDS.join('|')}|${ENTITY_KIND.replace('.', '\\.')}.{1,${ENTITY_NAME_CHARACTERS_MAX}})$`,
  's',
);
export const LIST_KIND = z
  .string()
  .regex(LIST_KIND_FORM, `This must be one of ${LIST_KINDS.join(', ')}, or ${ENTITY_KIND}<name>.`)
  .meta({ description: 'The kind of an entry, such as ip or entity.card' });
export const LIST_VALUE = z.string().meta({
  description: 'The value as it was written, as answers show it, or for a hidden identity hash: and its digits',
});
export const LIST_NAME = z
  .string()
  .meta({ description: 'A lower-case letter and up to 39 more, digits or _', examples: ['partners'] });
export const REQUEST_ID = z.string();
export const WEBHOOK_ID = z.string().meta({ description: "A webhook's id" });
export const DELIVERY_ID = z.string().meta({ description: "A delivery's id" });
export const EXTRACTION_ID = z.string().meta({ description: "An extraction's id" });
export const WATCH_ID = z.string().meta({ description: "A watch's id" });
export const BACKTEST_ID = z.string().meta({ description: "A backtest's id" });
export const SESSION_ID = z.string().meta({ description: "A session's id" });
export const COLLECTOR_FILE = z.string().meta({ description: '<version>.js or <version>.mjs' });
export const CONNECTOR_ID = z.string().meta({ description: "A connector's id" });

export const RULE_CODE = z
  .string()
  .meta({ description: 'own_ and 1 to 40 lower-case letters, digits or _', examples: ['own_big_first_order'] });

export const IF_MATCH = z.string().optional().meta({
  description: 'ETags of which the rule must have one; * for any. Without it the rule is changed whatever it is',
});

export const IDEMPOTENCY_KEY = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({
    description:
      '1 to 255 visible ASCII characters. For 24 hours the same key with the same body creates no second job: the first 202 ' +
      'is returned again, and an inline request returns the result of the first job; a different body gives 409',
  });

export const DECIDE_IDEMPOTENCY_KEY = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({
    description:
      '1 to 255 visible ASCII characters; no effect with a public key. For 30 seconds the same key with the same body gets the first ' +
      'response again and counts nothing; a different body gives 400',
  });

/** Parameters that are components of the document → component name. */
export const PARAMETER_NAMES: ReadonlyMap<z.ZodType, string> = new Map<z.ZodType, string>([
  [LIMIT, 'Limit'],
  [CURSOR, 'Cursor'],
  [FINGERPRINT_HASH, 'FingerprintHash'],
  [WEBHOOK_ID, 'WebhookId'],
  [DELIVERY_ID, 'DeliveryId'],
  [EXTRACTION_ID, 'ExtractionId'],
  [WATCH_ID, 'WatchId'],
  [SESSION_ID, 'SessionId'],
  [CONNECTOR_ID, 'ConnectorId'],
  [IDEMPOTENCY_KEY, 'IdempotencyKey'],
  [DECIDE_IDEMPOTENCY_KEY, 'DecideIdempotencyKey'],
  [RULE_CODE, 'RuleCode'],
  [LIST_NAME, 'ListName'],
  [IF_MATCH, 'IfMatch'],
]);
