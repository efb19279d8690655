import { pointerPart, problem, type FieldError, type Problem } from '../contract/problem.ts';
import {
  ENTITY_KEYS_MAX,
  ENTITY_NAME_CHARACTERS_MAX,
  ENTITY_VALUE_CHARACTERS_MAX,
  HEADERS_MAX,
  JSON_ITEMS_MAX,
} from '../kernel/limits.ts';
import type { AttributeValue, Entity } from './facts.ts';
import { ATTRIBUTE_NAME } from './policy/attributes.ts';
import { parseJsonObject, type ParsedObject } from '../contract/json-body.ts';
import type { HttpSignature } from './signals/bot-signature.ts';
import { isOutcome, type Outcome, OUTCOMES } from './event-outcome.ts';

/** The parsed body of POST /v1/decide. Absent and `null` are equivalent. Source: contract, 4.1 and 4.2. */
export interface DecideRequest {
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly url: string | null;
  readonly referrer: string | null;
  /** `''` when none was given. */
  readonly sessionToken: string;
  readonly entities: readonly Entity[];
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Lower case; `''` when none was given. */
  readonly eventType: string;
  /** The outcome of the action, if the caller requests the decision after it. */
  readonly outcome: Outcome | null;
  /** What the customer knows besides, by name. */
  readonly attributes: ReadonlyMap<string, AttributeValue>;
  /** The visitor's signed request; null without both of its fields. */
  readonly httpSignature: HttpSignature | null;
}

export type ParsedRequest =
  | {
      readonly kind: 'request';
      readonly request: DecideRequest;
      /** Names of the top level that nothing reads; absent without any. */
      readonly ignored?: readonly string[];
    }
  | { readonly kind: 'fault'; readonly problem: Problem };

/** Choice: all wrong fields of the top level, and a few below it; thousands of errors must not exceed the size of a response slot. */
const FIELD_ERRORS_MAX = 10;

/** Source: contract, 4.7. */
const ATTRIBUTES_MAX = 32;
const ATTRIBUTE_CHARACTERS_MAX = 256;
const ATTRIBUTE_ITEMS_MAX = 16;

const NO_ATTRIBUTES: ReadonlyMap<string, AttributeValue> = new Map();
const NO_ENTITIES: readonly Entity[] = [];
const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/**
 * Parses the bytes into a request, or into the 400 that explains the error. Reads by allow-list, so `__proto__` and unknown fields have no
 * effect. `bytes` may be a view of shared memory.
 */
export function parseDecideRequest(bytes: Buffer): ParsedRequest {
  const parsed = parseJsonObject(bytes, JSON_ITEMS_MAX);
  return parsed.kind === 'fault' ? parsed : readFields(parsed.value);
}

/** The members of the body. Other names are ignored. */
export const DECIDE_MEMBERS: readonly string[] = [
  'session_token',
  'event_type',
  'ip',
  'user_agent',
  'url',
  'referrer',
  'entity_keys',
  'headers',
  'attributes',
  'timestamp',
  'outcome',
  'http_signature',
];
const KNOWN_MEMBERS: ReadonlySet<string> = new Set(DECIDE_MEMBERS);

function readFields(fields: ParsedObject): ParsedRequest {
  const errors: FieldError[] = [];
  const request: DecideRequest = {
    ip: textField(fields, 'ip', errors),
    userAgent: textField(fields, 'user_agent', errors),
    url: textField(fields, 'url', errors),
    referrer: textField(fields, 'referrer', errors),
    sessionToken: textField(fields, 'session_token', errors) ?? '',
    entities: readEntities(fields['entity_keys'], errors),
    headers: readHeaders(fields['headers'], errors),
    eventType: textField(fields, 'event_type', errors)?.trim().toLowerCase() ?? '',
    outcome: readOutcome(fields, errors),
    attributes: readAttributes(fields['attributes'], errors),
    httpSignature: readHttpSignature(fields['http_signature'], errors),
  };
  const timestamp = fields['timestamp'];
  if (timestamp !== undefined && timestamp !== null && !Number.isInteger(timestamp)) {
    errors.push(wrongType('/timestamp', 'an integer'));
  }
  if (errors.length > 0) {
    const detail = errors.some(({ code }) => code === 'wrong_type')
      ? 'A field has the wrong type.'
      : 'A field has a value that is not known.';
    return { kind: 'fault', problem: problem('invalid_request', detail, { errors }) };
  }
  const ignored = ignoredNames(fields);
  return ignored === null ? { kind: 'request', request } : { kind: 'request', request, ignored };
}

function ignoredNames(fields: ParsedObject): readonly string[] | null {
  let names: string[] | null = null;
  for (const name in fields) if (!KNOWN_MEMBERS.has(name)) (names ??= []).push(name);
  return names;
}

function textField(fields: ParsedObject, name: string, errors: FieldError[]): string | null {
  const value = fields[name];
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  errors.push(wrongType(`/${name}`, 'a string'));
  return null;
}

function readOutcome(fields: ParsedObject, errors: FieldError[]): Outcome | null {
  const text = textField(fields, 'outcome', errors);
  if (text === null || isOutcome(text)) return text;
  errors.push({ pointer: '/outcome', code: 'invalid_value', message: `This must be one of ${OUTCOMES.join(', ')}.` });
  return null;
}

function readEntities(value: unknown, errors: FieldError[]): readonly Entity[] {
  if (value === undefined || value === null) return NO_ENTITIES;
  if (!isObject(value)) {
    errors.push(wrongType('/entity_keys', 'an object'));
    return NO_ENTITIES;
  }
  const entities: Entity[] = [];
  // Choice: iterates without building a list of pairs. The object is fresh from the parser and inherits nothing enumerable.
  for (const name in value) {
    const entity = value[name];
    if (entities.length === ENTITY_KEYS_MAX || errors.length >= FIELD_ERRORS_MAX) break;
    if (entity === null) continue;
    if (typeof entity !== 'string' && typeof entity !== 'number') {
      errors.push(wrongType(`/entity_keys/${pointerPart(name)}`, 'a string or a number'));
      continue;
    }
    const valueText = String(entity);
    if (valueText === '' || name.length > ENTITY_NAME_CHARACTERS_MAX) continue;
    if (valueText.length <= ENTITY_VALUE_CHARACTERS_MAX) entities.push({ name, value: valueText });
  }
  return entities;
}

function readAttributes(value: unknown, errors: FieldError[]): ReadonlyMap<string, AttributeValue> {
  if (value === undefined || value === null) return NO_ATTRIBUTES;
  if (!isObject(value)) {
    errors.push(wrongType('/attributes', 'an object'));
    return NO_ATTRIBUTES;
  }
  const attributes = new Map<string, AttributeValue>();
  let members = 0;
  for (const name in value) {
    if (errors.length >= FIELD_ERRORS_MAX) break;
    const given = value[name];
    const message = ++members > ATTRIBUTES_MAX ? TOO_MANY_ATTRIBUTES : attributeFault(name, given);
    if (message !== null) errors.push({ pointer: `/attributes/${pointerPart(name)}`, code: 'invalid_value', message });
    else if (given !== null) attributes.set(name, given as AttributeValue);
  }
  return attributes;
}

const TOO_MANY_ATTRIBUTES = `There may be at most ${ATTRIBUTES_MAX} attributes.`;

/** Returns what is wrong with an attribute; null if nothing is. */
function attributeFault(name: string, value: unknown): string | null {
  if (!ATTRIBUTE_NAME.test(name))
    return 'A name has 1 to 32 lower-case letters, digits and _, and begins with a letter.';
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return null;
  if (typeof value === 'string')
    return value.length <= ATTRIBUTE_CHARACTERS_MAX
      ? null
      : `A text has at most ${ATTRIBUTE_CHARACTERS_MAX} characters.`;
  if (!Array.isArray(value)) return 'This must be a text, a number, true, false, or a list of texts.';
  const isListOfTexts = value.every((one) => typeof one === 'string' && one.length <= ATTRIBUTE_CHARACTERS_MAX);
  return isListOfTexts && value.length <= ATTRIBUTE_ITEMS_MAX
    ? null
    : `A list has at most ${ATTRIBUTE_ITEMS_MAX} texts of at most ${ATTRIBUTE_CHARACTERS_MAX} characters.`;
}

function readHttpSignature(value: unknown, errors: FieldError[]): HttpSignature | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    errors.push(wrongType('/http_signature', 'an object'));
    return null;
  }
  const text = (name: string): string | null => {
    const given = value[name];
    if (typeof given === 'string') return given;
    if (given !== undefined && given !== null && errors.length < FIELD_ERRORS_MAX)
      errors.push(wrongType(`/http_signature/${name}`, 'a string'));
    return null;
  };
  const [signatureInput, signature] = [text('signature_input'), text('signature')];
  const rest = {
    signatureAgent: text('signature_agent'),
    method: text('method'),
    authority: text('authority'),
    path: text('path'),
  };
  return signatureInput === null || signature === null ? null : { signatureInput, signature, ...rest };
}

function readHeaders(value: unknown, errors: FieldError[]): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return NO_HEADERS;
  if (!isObject(value)) {
    errors.push(wrongType('/headers', 'an object'));
    return NO_HEADERS;
  }
  const headers = new Map<string, string>();
  for (const name in value) {
    const header = value[name];
    if (headers.size === HEADERS_MAX || errors.length >= FIELD_ERRORS_MAX) break;
    if (header === null) continue;
    const text = headerText(header);
    if (text === null) errors.push(wrongType(`/headers/${pointerPart(name)}`, 'a string or an array of strings'));
    else headers.set(name.toLowerCase(), text);
  }
  return headers;
}

function headerText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value) && value.every((x) => typeof x === 'string')) return value.join(', ');
  return null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(pointer: string, expected: string): FieldError {
  return { pointer, code: 'wrong_type', message: `This must be ${expected}.` };
}
