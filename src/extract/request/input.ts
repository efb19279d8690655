import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { type FieldError, pointerPart } from '../../base/problem.ts';
import type { JsonObject, JsonValue, Operation, Step } from '../connector.ts';
import type { CheckTarget } from './target.ts';

export type ReadInput =
  | { readonly kind: 'ok'; readonly input: JsonObject; readonly steps: readonly Step[] }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/** Choice: schemas of operations allow a few KiB; more is not looked at. */
const INPUT_BYTES_MAX = 65_536;

/**
 * The input of an operation: held to its schema, then to what the operation itself says. A null is the same as a member that is
 * absent, as in the rest of a body. Pointers start at the request's body, `/input/…`.
 */
export function readInput(given: Readonly<Record<string, unknown>>, operation: Operation): ReadInput {
  // It came as JSON, so it is made of nothing else.
  const all = Object.entries(given as JsonObject);
  const input: JsonObject = Object.fromEntries(all.filter(([, value]) => value !== null));
  if (Buffer.byteLength(JSON.stringify(input)) > INPUT_BYTES_MAX) {
    const message = `This must have at most ${INPUT_BYTES_MAX} bytes.`;
    return { kind: 'faults', errors: [{ pointer: '/input', code: 'too_large', message }] };
  }
  const { valid, errors } = validatorOf(operation).validate(input);
  if (!valid) return { kind: 'faults', errors: fieldErrors(errors, input, operation.input) };
  const started = operation.start(input);
  if (started.kind === 'steps') return { kind: 'ok', input, steps: started.steps };
  const { pointer, message } = started;
  return { kind: 'faults', errors: [{ pointer: `/input${pointer}`, code: 'invalid_value', message }] };
}

const validators = new WeakMap<Operation, Validator>();

function validatorOf(operation: Operation): Validator {
  const known = validators.get(operation);
  if (known !== undefined) return known;
  // All that is wrong is told at once.
  const made = new Validator(operation.input, '2020-12', false);
  validators.set(operation, made);
  return made;
}

/** The library tells of every level on the way to a fault; only the fault itself is worth telling. */
const WRAPPERS = new Set(['properties', 'additionalProperties', 'items', 'prefixItems', 'allOf', 'anyOf', 'oneOf']);

function fieldErrors(units: readonly OutputUnit[], input: JsonObject, schema: JsonObject): FieldError[] {
  const leaves = units.filter(({ keyword }) => !WRAPPERS.has(keyword));
  const faults = leaves.filter((unit) => unit.keyword !== 'false' || !leaves.some((other) => isWithin(other, unit)));
  const errors = (faults.length > 0 ? faults : units).flatMap((unit) => errorsOf(unit, input, schema));
  // Of each place the first fault, which is that of its type.
  return [...new Map(errors.reverse().map((error) => [error.pointer, error])).values()].reverse();
}

/** The library takes a member whose value is wrong for one that nothing in the schema speaks of, too. */
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
      return ['invalid_value', 'This operation takes nothing of this name.'];
    default:
      return ['invalid_value', 'This is none of what is accepted here.'];
  }
}

/** What stands at `#/a/b` in a value. */
function at(value: JsonValue, location: string): JsonValue | undefined {
  let here: JsonValue | undefined = value;
  for (const part of location.split('/').slice(1)) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as JsonObject)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return here;
}

/** The names in it are the client's. */
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
 * Inputs that are addresses, in all operations: a URL or a host name, which stands for https. Choice: told by their names, because
 * what other inputs hold, words to look for among them, may look like a URL and goes nowhere.
 */
const ADDRESSES = ['url', 'site', 'company'] as const;

/** Of each address in the input its name and how it would be fetched. `input` holds to its schema. */
export function addressesOf(input: JsonObject): readonly { readonly name: string; readonly url: string }[] {
  return ADDRESSES.flatMap((name) => {
    const given = input[name];
    const url = typeof given === 'string' ? urlOf(given.trim()) : null;
    return url === null ? [] : [{ name, url }];
  });
}

/** An error for each address in the input that the service may not reach. `input` holds to its schema. */
export function blockedInputs(input: JsonObject, checkTarget: CheckTarget): readonly FieldError[] {
  return addressesOf(input).flatMap(({ name, url }) => {
    const fault = checkTarget(url);
    return fault?.code === 'blocked_url'
      ? [{ pointer: `/input/${name}`, code: fault.code, message: fault.detail }]
      : [];
  });
}

/**
 * As it would be fetched: without a user and a fragment. null for what is no address; the operation has taken it for something.
 * Whether it is a URL or a host name is for the URL parser to say, which takes `http:10.0.0.1` and `http:\\10.0.0.1` for URLs too.
 */
function urlOf(text: string): string | null {
  const url = parsed(text) ?? parsed(`https://${text}`);
  return url === null ? null : url.origin + url.pathname + url.search;
}

/** null for what is no http or https URL: the colon of `localhost:8080` is none of a scheme. */
function parsed(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null;
}
