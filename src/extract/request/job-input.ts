import { parseUrl } from '../../kernel/parse-url.ts';
import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { type FieldError, pointerPart } from '../../contract/problem.ts';
import type { JsonObject, JsonValue, Operation, Step } from '../base/connector.ts';
import type { CheckTarget } from './request-target.ts';

export type ReadInput =
  | { readonly kind: 'ok'; readonly input: JsonObject; readonly steps: readonly Step[] }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/** Choice: the schemas of operations allow a few KiB. Larger inputs are rejected without validation. */
const INPUT_BYTES_MAX = 65_536;
/** Choice: 1,000 addresses of 250 characters, since each queued job keeps its input in memory. */
const LIST_INPUT_BYTES_MAX = 262_144;

/**
 * Validates the input of an operation: first against its schema, then with the operation's own check. A null counts as an absent member, as
 * in the rest of a body. Pointers start at the request body: `/input/…`.
 */
export function readInput(given: Readonly<Record<string, unknown>>, operation: Operation): ReadInput {
  // The body was JSON, so it contains only JSON values.
  const all = Object.entries(given as JsonObject);
  const input: JsonObject = Object.fromEntries(all.filter(([, value]) => value !== null));
  const bytesMax = isAddressList(input) ? LIST_INPUT_BYTES_MAX : INPUT_BYTES_MAX;
  if (Buffer.byteLength(JSON.stringify(input)) > bytesMax) {
    const message = `This must have at most ${bytesMax} bytes.`;
    return { kind: 'faults', errors: [{ pointer: '/input', code: 'too_large', message }] };
  }
  const { valid, errors } = validatorOf(operation).validate(input);
  if (!valid) return { kind: 'faults', errors: fieldErrors(errors, input, operation.input) };
  const started = operation.start(input);
  if (started.kind === 'steps') return { kind: 'ok', input, steps: started.steps };
  const { pointer, code = 'invalid_value', message } = started;
  return { kind: 'faults', errors: [{ pointer: `/input${pointer}`, code, message }] };
}

const validators = new WeakMap<Operation, Validator>();

function validatorOf(operation: Operation): Validator {
  const known = validators.get(operation);
  if (known !== undefined) return known;
  // `false` reports all errors, not only the first.
  const made = new Validator(operation.input, '2020-12', false);
  validators.set(operation, made);
  return made;
}

/** The library also reports every level above an error. Only the error itself is useful. */
const WRAPPERS = new Set(['properties', 'additionalProperties', 'items', 'prefixItems', 'allOf', 'anyOf', 'oneOf']);

function fieldErrors(units: readonly OutputUnit[], input: JsonObject, schema: JsonObject): FieldError[] {
  const leaves = units.filter(({ keyword }) => !WRAPPERS.has(keyword));
  const faults = leaves.filter((unit) => unit.keyword !== 'false' || !leaves.some((other) => isWithin(other, unit)));
  const errors = (faults.length > 0 ? faults : units).flatMap((unit) => errorsOf(unit, input, schema));
  // Keeps the first error of each location, which is the one about its type.
  return [...new Map(errors.reverse().map((error) => [error.pointer, error])).values()].reverse();
}

/** The library also reports a member with an invalid value as a member that the schema does not allow. */
function isWithin(other: OutputUnit, { instanceLocation }: OutputUnit): boolean {
  if (other.keyword === 'false') return false;
  return `${other.instanceLocation}/`.startsWith(`${instanceLocation}/`);
}

function errorsOf({ instanceLocation, keyword, keywordLocation }: OutputUnit, input: JsonObject, schema: JsonObject) {
  const pointer = `/input${cut(instanceLocation.slice(1))}`;
  const bound = at(schema, keywordLocation);
  if (keyword === 'required') {
    const holder = at(input, instanceLocation);
    return namesOf(bound)
      .filter((name) => !hasMember(holder, name))
      .map((name) => ({ pointer: `${pointer}/${name}`, code: 'required', message: 'This is required.' }));
  }
  const [code, message] = wording(keyword, bound);
  return [{ pointer, code, message }];
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

function wording(keyword: string, bound: JsonValue | undefined): readonly [code: string, message: string] {
  const told = typeof bound === 'string' || typeof bound === 'number' ? String(bound) : '';
  switch (keyword) {
    case 'type':
      return ['wrong_type', `This must be ${TYPES[told] ?? 'of another type'}.`];
    case 'enum':
      return ['invalid_value', `This must be one of ${namesOf(bound).join(', ')}.`];
    case 'minLength':
      return ['too_short', `This must have at least ${told} characters.`];
    case 'maxLength':
      return ['too_long', `This must have at most ${told} characters.`];
    case 'minItems':
      return ['too_few', `This must have at least ${told} items.`];
    case 'maxItems':
      return ['too_many', `This must have at most ${told} items.`];
    case 'minimum':
      return ['too_small', `This must be at least ${told}.`];
    case 'maximum':
      return ['too_large', `This must be at most ${told}.`];
    case 'pattern':
      return ['invalid_value', `This must match ${told}.`];
    case 'false':
      return ['invalid_value', 'This operation has no input of this name.'];
    default:
      return ['invalid_value', 'This is not an accepted value.'];
  }
}

/** Returns the value at `#/a/b`. */
function at(value: JsonValue, location: string): JsonValue | undefined {
  let here: JsonValue | undefined = value;
  for (const part of location.split('/').slice(1)) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as JsonObject)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return here;
}

/** Truncates the names in the pointer, because they come from the client. */
function cut(location: string): string {
  const names = location.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return names.map(pointerPart).join('/');
}

function namesOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function hasMember(value: JsonValue | undefined, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
}

/**
 * Inputs that contain addresses, in all operations: a URL, or a host name that stands for https. Choice: identified by name, because other
 * inputs, such as search words, may look like a URL but are never fetched.
 */
const ADDRESSES = ['url', 'site', 'company'] as const;
/** An input that is a list of addresses. */
const LIST = 'urls';

/** Returns whether an input names a list of addresses, which are read one after the other. */
export function isAddressList(input: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(input[LIST]);
}

/** Returns the place of each address in the input and the URL that would be fetched. `input` matches its schema. */
export function addressesOf(input: JsonObject): readonly { readonly name: string; readonly url: string }[] {
  const list = input[LIST];
  const listed = Array.isArray(list) ? (list as readonly JsonValue[]) : [];
  const all = [
    ...ADDRESSES.map((name) => [name, input[name]] as const),
    ...listed.map((given, at) => [`${LIST}/${at}`, given] as const),
  ];
  return all.flatMap(([name, given]) => {
    const url = typeof given === 'string' ? urlOf(given.trim()) : null;
    return url === null ? [] : [{ name, url }];
  });
}

/** Returns an error for each address in the input that the service must not reach. `input` matches its schema. */
export function blockedInputs(input: JsonObject, checkTarget: CheckTarget): readonly FieldError[] {
  return addressesOf(input).flatMap(({ name, url }) => {
    const fault = checkTarget(url);
    return fault?.code === 'blocked_url'
      ? [{ pointer: `/input/${name}`, code: fault.code, message: fault.detail }]
      : [];
  });
}

/**
 * Returns the URL as it would be fetched: without user info and fragment. Returns null for a text that is not an address; the operation has
 * accepted it as something else. The URL parser decides whether the text is a URL or a host name, because it also accepts `http:10.0.0.1`
 * and `http:\\10.0.0.1` as URLs.
 */
function urlOf(text: string): string | null {
  const url = parsed(text) ?? parsed(`https://${text}`);
  return url === null ? null : url.origin + url.pathname + url.search;
}

/** Returns null if the text is not an http or https URL: the colon in `localhost:8080` does not end a scheme. */
function parsed(text: string): URL | null {
  const url = parseUrl(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : null;
}
