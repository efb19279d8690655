import * as z from 'zod';
import type { FingerprintHash } from '../../kernel/brand.ts';
import { BODIES } from '../../contract/bodies.ts';
import { ENTITY_KIND, LIST_KINDS } from '../../contract/vocabulary.ts';
import { HASH, LIST_CHANGE } from '../../contract/requests/list-requests.ts';
import { WEBHOOK_CHANGE, WEBHOOK_PATCH } from '../../contract/requests/webhook-requests.ts';
import type { ParsedObject } from '../../contract/json-body.ts';
import { LIST_BATCH_ENTRIES_MAX } from '../../kernel/limits.ts';
import { type ListTarget, listKindOf, readListTarget } from '../../risk/lists/list-kind.ts';
import type { GivenListEntry } from '../../state/tables/list-change.ts';
import { ANY_REQUEST_BODY, type BodyReader } from './request-body.ts';
import { NAMED_ITEMS_BODY } from '../lists/named-items.ts';
import { OUTCOME_REPORT } from '../outcome-body.ts';
import { SIMULATION_BODY } from '../simulation-body.ts';
import { invalid, validate, type Validated } from '../../contract/validate.ts';

/** Body readers of the management endpoints. They use neither the store nor a clock. */

/** An entry as a client sends it. */
export interface GivenEntry extends GivenListEntry {
  readonly isConfirmed: boolean;
}

export const LIST_ENTRY_BODY: BodyReader<Validated<GivenEntry>> = {
  name: 'list_entry',
  shape: 'object',
  schema: LIST_CHANGE,
  read: (body, nowMs) => readChange(body, Math.floor(nowMs / 1000)),
};

/** One entry of a batch, with what the client sent as the hash or the value; at most 64 characters of it are returned to the client. */
export interface BatchRow {
  readonly given:
    | { readonly fingerprint_hash: string | null }
    | { readonly kind: string; readonly value: string | null };
  readonly change: Validated<GivenEntry>;
}

/** Each part is the JSON of several `BatchRow`s. Passed as objects, 1,000 rows would block the receiving thread for 8 ms. */
export type BatchParts = readonly string[];

/** Choice: a part of this many rows takes about 0.2 ms to parse. */
const ROWS_PER_PART = 50;
/** Measured: writing a row holds the main thread for 2 µs, and what is kept of it until then for 5 µs of young collections. */
const ROW_HELD_MS = 0.007;
/** Measured: an invalid entry takes 20 µs to check. */
const QUICK_ENTRIES_MAX = 20;
const ENTRIES = z.array(z.unknown()).max(LIST_BATCH_ENTRIES_MAX);

/** Reads `{"entries":[...]}`, or the array alone. */
export const LIST_BATCH_BODY: BodyReader<Validated<BatchParts>> = {
  name: 'list_batch',
  shape: 'object_or_array',
  schema: z.union([z.array(LIST_CHANGE), z.object({ entries: z.array(LIST_CHANGE) })]),
  isSlow: (body) => (entriesIn(body)?.length ?? 0) > QUICK_ENTRIES_MAX,
  read(body, nowMs) {
    const read = readEntries(body);
    if (read.kind === 'problem') return read;
    const rows = read.value.map((given): BatchRow => ({
      given: givenSubject(given),
      change: readChange(given, Math.floor(nowMs / 1000)),
    }));
    const parts: string[] = [];
    for (let from = 0; from < rows.length; from += ROWS_PER_PART)
      parts.push(JSON.stringify(rows.slice(from, from + ROWS_PER_PART)));
    return { kind: 'ok', value: parts };
  },
  heldMs: (read) => (read.kind === 'ok' ? read.value.length * ROWS_PER_PART * ROW_HELD_MS : 0),
};

function entriesIn(body: ParsedObject | readonly unknown[]): readonly unknown[] | null {
  const entries = Array.isArray(body) ? body : (body as ParsedObject)['entries'];
  return Array.isArray(entries) ? (entries as readonly unknown[]) : null;
}

function readEntries(body: ParsedObject | readonly unknown[]): Validated<readonly unknown[]> {
  const entries = entriesIn(body);
  // Entries are counted before any of them is validated.
  if (entries !== null && entries.length > LIST_BATCH_ENTRIES_MAX) {
    const pointer = Array.isArray(body) ? '' : '/entries';
    const message = `This must have at most ${LIST_BATCH_ENTRIES_MAX} items.`;
    return invalid([{ pointer, code: 'too_many', message }]);
  }
  if (Array.isArray(body)) return validate(ENTRIES, body);
  const read = validate(z.object({ entries: ENTRIES }), body);
  return read.kind === 'problem' ? read : { kind: 'ok', value: read.value.entries };
}

function readChange(body: unknown, nowSeconds: number): Validated<GivenEntry> {
  const read = validate(LIST_CHANGE, body);
  if (read.kind === 'problem') return read;
  const { action, note = null, expires_at: expiresAt = null, event_types: eventTypes, confirm } = read.value;
  const target = readSubject(read.value);
  if (target.kind === 'problem') return target;
  if (expiresAt !== null && expiresAt <= nowSeconds) {
    return invalid([{ pointer: '/expires_at', code: 'invalid_value', message: 'This must be in the future.' }]);
  }
  const value: GivenEntry = {
    target: target.value,
    action,
    note,
    expiresAtSeconds: expiresAt,
    eventTypes: eventTypes ?? [],
    // A call in the form of earlier versions succeeds for every fingerprint. Source: contract, 7.5.
    isConfirmed: confirm === true || read.value.fingerprint_hash !== undefined,
  };
  return { kind: 'ok', value };
}

/** Reads `fingerprint_hash`, or `kind` and `value`. */
function readSubject(given: z.output<typeof LIST_CHANGE>): Validated<ListTarget> {
  const { fingerprint_hash: hash, kind: kindText, value } = given;
  if (hash !== undefined) {
    if (kindText === undefined && value === undefined)
      return { kind: 'ok', value: { kind: 'fingerprint', value: hash } };
    const pointer = kindText === undefined ? '/value' : '/kind';
    return invalid([{ pointer, code: 'invalid_value', message: 'This must not stand beside fingerprint_hash.' }]);
  }
  if (kindText === undefined) {
    const pointer = value === undefined ? '/fingerprint_hash' : '/kind';
    return invalid([{ pointer, code: 'required', message: 'This is required: fingerprint_hash, or kind and value.' }]);
  }
  const kind = listKindOf(kindText);
  if (kind === null) {
    const message = `This must be one of ${LIST_KINDS.join(', ')}, or ${ENTITY_KIND}<name>.`;
    return invalid([{ pointer: '/kind', code: 'invalid_value', message }]);
  }
  if (value === undefined) return invalid([{ pointer: '/value', code: 'required', message: 'This is required.' }]);
  const target = readListTarget(kind, String(value));
  if (target.kind === 'fault') return invalid([{ pointer: '/value', code: 'invalid_value', message: target.message }]);
  return { kind: 'ok', value: target.target };
}

function givenSubject(given: unknown): BatchRow['given'] {
  const { fingerprint_hash: hash, kind, value } = (typeof given === 'object' ? (given ?? {}) : {}) as ParsedObject;
  if (typeof kind === 'string')
    return { kind: kind.slice(0, 80), value: typeof value === 'string' ? value.slice(0, 64) : null };
  return { fingerprint_hash: typeof hash === 'string' ? hash.slice(0, 64) : null };
}

/** Returns the fingerprint hash of a path segment, or null if it is not a hash. */
export function hashIn(text: string): FingerprintHash | null {
  return HASH.test(text) ? (text.toLowerCase() as FingerprintHash) : null;
}

type Bodies = typeof BODIES;
const SCHEMAS: { readonly [Id in keyof Bodies]: z.ZodType<z.output<Bodies[Id]>> } = BODIES;

/** Returns the reader of a body that a schema alone validates. */
export function schemaBody<Id extends keyof Bodies>(id: Id): BodyReader<Validated<z.output<Bodies[Id]>>> {
  return { name: id, shape: 'object', schema: SCHEMAS[id], read: (body) => validate(SCHEMAS[id], body) };
}

export interface BodyTargetFault {
  /** `invalid`: malformed URL. */
  readonly code: 'invalid' | 'blocked_url';
  readonly detail: string;
}

/** Returns null if deliveries may go to the URL, as far as this can be decided without DNS. `detail` is public text. */
export type CheckBodyTarget = (url: string) => BodyTargetFault | null;

type NewWebhook = z.infer<typeof WEBHOOK_CHANGE>;

export function newWebhook(checkTarget: CheckBodyTarget): BodyReader<Validated<NewWebhook>> {
  const fields = WEBHOOK_CHANGE.extend({ url: WEBHOOK_CHANGE.shape.url.check(targetCheck(checkTarget)) });
  return { name: 'webhook', shape: 'object', schema: fields, read: (body) => validate(fields, body) };
}

type WebhookChange = z.infer<typeof WEBHOOK_PATCH>;

export function webhookChange(checkTarget: CheckBodyTarget): BodyReader<Validated<WebhookChange>> {
  const url = WEBHOOK_CHANGE.shape.url.check(targetCheck(checkTarget)).optional();
  const fields = WEBHOOK_PATCH.extend({ url });
  return { name: 'webhook_change', shape: 'object', schema: fields, read: (body) => validate(fields, body) };
}

/** Reports malformed URLs only. A blocked target has a problem code of its own, `blocked_url`. */
function targetCheck(checkTarget: CheckBodyTarget): (context: z.core.ParsePayload<string>) => void {
  return (context) => {
    const fault = checkTarget(context.value);
    if (fault?.code !== 'invalid') return;
    context.issues.push({ code: 'custom', message: fault.detail, input: context.value });
  };
}

/** Returns all readers, for the worker, which selects one by its name. */
export function managementBodies(checkTarget: CheckBodyTarget): readonly BodyReader<unknown>[] {
  return [
    ANY_REQUEST_BODY,
    LIST_ENTRY_BODY,
    LIST_BATCH_BODY,
    NAMED_ITEMS_BODY,
    OUTCOME_REPORT,
    SIMULATION_BODY,
    ...(Object.keys(BODIES) as (keyof Bodies)[]).map(schemaBody),
    newWebhook(checkTarget),
    webhookChange(checkTarget),
  ];
}
