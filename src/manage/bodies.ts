import * as z from 'zod';
import type { FingerprintHash } from '../base/brand.ts';
import type { JsonObject } from '../core/json-body.ts';
import { LIST_ACTIONS } from '../core/decision.ts';
import { LABELS, VERDICTS } from '../core/judgement.ts';
import { DECISIONS } from '../core/decision.ts';
import { LIST_BATCH_ENTRIES_MAX, NOTE_CHARACTERS_MAX } from '../limits.ts';
import { EXPIRY_MAX, type ListChange } from '../store/lists.ts';
import { ANY_BODY, type BodyReader } from './body.ts';
import { OUTCOME_REPORT } from './outcome-body.ts';
import { invalid, text, validate, type Validated } from './validate.ts';

/** What each management call may say in its body. Nothing here knows the store or a clock. */

const HASH = /^[0-9a-fA-F]{64}$/;

const ENTRY = z.object({
  fingerprint_hash: z
    .string()
    .regex(HASH, 'This must be 64 hexadecimal digits.')
    .transform((hash) => hash.toLowerCase() as FingerprintHash),
  action: z.enum(LIST_ACTIONS),
  note: text(NOTE_CHARACTERS_MAX).nullish(),
  expires_at: z.int().max(EXPIRY_MAX).nullish(),
});

export const LIST_ENTRY: BodyReader<Validated<ListChange>> = {
  name: 'list_entry',
  shape: 'object',
  read: (body, nowMs) => readChange(body, Math.floor(nowMs / 1000)),
};

/** One of a batch, with what the client called it by, as far as that may come back. */
export interface BatchRow {
  readonly givenHash: string | null;
  readonly change: Validated<ListChange>;
}

/** JSON of some `BatchRow`s each: a thousand rows as objects take the thread that receives them 8 ms at once. */
export type BatchParts = readonly string[];

/** Choice: rows of a part, some 0.2 ms to parse. */
const ROWS_PER_PART = 50;
/** Measured: an entry that is wrong takes 20 µs to check. */
const QUICK_ENTRIES_MAX = 20;
const ENTRIES = z.array(z.unknown()).max(LIST_BATCH_ENTRIES_MAX);

/** `{"entries":[...]}`, or the array alone. */
export const LIST_BATCH: BodyReader<Validated<BatchParts>> = {
  name: 'list_batch',
  shape: 'object_or_array',
  isSlow: (body) => (entriesIn(body)?.length ?? 0) > QUICK_ENTRIES_MAX,
  read(body, nowMs) {
    const read = readEntries(body);
    if (read.kind === 'problem') return read;
    const rows = read.value.map((given): BatchRow => ({
      givenHash: givenHash(given),
      change: readChange(given, Math.floor(nowMs / 1000)),
    }));
    const parts: string[] = [];
    for (let from = 0; from < rows.length; from += ROWS_PER_PART)
      parts.push(JSON.stringify(rows.slice(from, from + ROWS_PER_PART)));
    return { kind: 'ok', value: parts };
  },
};

function entriesIn(body: JsonObject | readonly unknown[]): readonly unknown[] | null {
  const entries = Array.isArray(body) ? body : (body as JsonObject)['entries'];
  return Array.isArray(entries) ? (entries as readonly unknown[]) : null;
}

function readEntries(body: JsonObject | readonly unknown[]): Validated<readonly unknown[]> {
  const entries = entriesIn(body);
  // Counted before each is looked at.
  if (entries !== null && entries.length > LIST_BATCH_ENTRIES_MAX) {
    const pointer = Array.isArray(body) ? '' : '/entries';
    const message = `This must have at most ${LIST_BATCH_ENTRIES_MAX} items.`;
    return invalid([{ pointer, code: 'too_many', message }]);
  }
  if (Array.isArray(body)) return validate(ENTRIES, body);
  const read = validate(z.object({ entries: ENTRIES }), body);
  return read.kind === 'problem' ? read : { kind: 'ok', value: read.value.entries };
}

function readChange(body: unknown, nowSeconds: number): Validated<ListChange> {
  const read = validate(ENTRY, body);
  if (read.kind === 'problem') return read;
  const { fingerprint_hash: fingerprintHash, action, note = null, expires_at: expiresAt = null } = read.value;
  if (expiresAt !== null && expiresAt <= nowSeconds) {
    return invalid([{ pointer: '/expires_at', code: 'invalid_value', message: 'This must lie in the future.' }]);
  }
  return { kind: 'ok', value: { fingerprintHash, action, note, expiresAtSeconds: expiresAt } };
}

function givenHash(given: unknown): string | null {
  const hash =
    typeof given === 'object' && given !== null && 'fingerprint_hash' in given ? given.fingerprint_hash : null;
  return typeof hash === 'string' ? hash.slice(0, 64) : null;
}

/** The hash in a path; null for what is none. */
export function hashIn(text: string): FingerprintHash | null {
  return HASH.test(text) ? (text.toLowerCase() as FingerprintHash) : null;
}

const LABEL_FIELDS = z.object({
  request_id: z.string(),
  label: z.enum(LABELS),
  note: text(NOTE_CHARACTERS_MAX).nullish(),
});
export const LABEL: BodyReader<Validated<z.infer<typeof LABEL_FIELDS>>> = {
  name: 'label',
  shape: 'object',
  read: (body) => validate(LABEL_FIELDS, body),
};

const VERDICT_FIELDS = z.object({ verdict: z.enum(VERDICTS) });
export const VERDICT: BodyReader<Validated<z.infer<typeof VERDICT_FIELDS>>> = {
  name: 'verdict',
  shape: 'object',
  read: (body) => validate(VERDICT_FIELDS, body),
};

/** Choice: a week; an old secret that counts longer was not replaced. */
const GRACE_SECONDS_MAX = 7 * 86_400;
const ROTATION_FIELDS = z.object({ grace_seconds: z.int().min(0).max(GRACE_SECONDS_MAX).nullish() });
export const ROTATION: BodyReader<Validated<z.infer<typeof ROTATION_FIELDS>>> = {
  name: 'rotation',
  shape: 'object',
  read: (body) => validate(ROTATION_FIELDS, body),
};

export interface TargetFault {
  /** `invalid`: not of a URL's form. */
  readonly code: 'invalid' | 'blocked_url';
  readonly detail: string;
}

/** null when deliveries may go there, as far as that can be told without asking the name service. `detail` is public text. */
export type CheckTarget = (url: string) => TargetFault | null;

/** Source: open points, section 4. */
const URL_CHARACTERS_MAX = 2_048;
/** Choice: as long as a list entry's note. */
const DESCRIPTION_CHARACTERS_MAX = 500;

// Counted before each is looked at: a body of many thousand must not take as many checks.
const EVENT_TYPES = z
  .array(z.unknown())
  .min(1)
  .max(DECISIONS.length)
  .pipe(z.array(z.enum(DECISIONS)).check(findTwins));

type NewWebhook = {
  readonly url: string;
  readonly event_types: (typeof DECISIONS)[number][];
  readonly description?: string | null | undefined;
};

export function newWebhook(checkTarget: CheckTarget): BodyReader<Validated<NewWebhook>> {
  const fields = z.object({
    url: targetUrl(checkTarget),
    event_types: EVENT_TYPES,
    description: text(DESCRIPTION_CHARACTERS_MAX).nullish(),
  });
  return { name: 'webhook', shape: 'object', read: (body) => validate(fields, body) };
}

type WebhookChange = {
  readonly url?: string | undefined;
  readonly event_types?: (typeof DECISIONS)[number][] | undefined;
  readonly description?: string | null | undefined;
  readonly disabled?: boolean | undefined;
};

export function webhookChange(checkTarget: CheckTarget): BodyReader<Validated<WebhookChange>> {
  const fields = z.object({
    url: targetUrl(checkTarget).optional(),
    event_types: EVENT_TYPES.optional(),
    description: text(DESCRIPTION_CHARACTERS_MAX).nullish(),
    disabled: z.boolean().optional(),
  });
  return { name: 'webhook_change', shape: 'object', read: (body) => validate(fields, body) };
}

function targetUrl(checkTarget: CheckTarget): z.ZodType<string> {
  return text(URL_CHARACTERS_MAX).check((context) => {
    const fault = checkTarget(context.value);
    if (fault?.code !== 'invalid') return;
    context.issues.push({ code: 'custom', message: fault.detail, input: context.value });
  });
}

/** Names each event type that was named before. */
function findTwins(context: z.core.ParsePayload<readonly string[]>): void {
  for (const [i, name] of context.value.entries()) {
    if (context.value.indexOf(name) === i) continue;
    context.issues.push({ code: 'custom', message: 'This is given twice.', path: [i], input: context.value });
  }
}

/** For the worker, which knows them by their names. */
export function managementBodies(checkTarget: CheckTarget): readonly BodyReader<unknown>[] {
  return [
    ANY_BODY,
    LIST_ENTRY,
    LIST_BATCH,
    LABEL,
    VERDICT,
    OUTCOME_REPORT,
    ROTATION,
    newWebhook(checkTarget),
    webhookChange(checkTarget),
  ];
}
