import type * as z from 'zod';
import { pointerPart, problem, type FieldError, type Problem } from './problem.ts';

export type Validated<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Choice: as many errors as a person reads; a body with thousands of errors must not give a response with thousands. */
const FIELD_ERRORS_MAX = 32;

/**
 * Validates a body against its schema. Returns the value, or the 422. Unknown fields are ignored. Codes are stable: `required`,
 * `wrong_type`, `invalid_value`, `too_long`, `too_short`, `too_many`, `too_few`, `too_large`, `too_small`. Format checks (`regex`,
 * `refine`) have a message in their schema; all other messages are written here.
 */
export function validate<T>(schema: z.ZodType<T>, body: unknown): Validated<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { kind: 'ok', value: parsed.data };
  return invalid(parsed.error.issues.slice(0, FIELD_ERRORS_MAX).map((issue) => fieldError(issue, body)));
}

/** Returns the 422 for errors that a schema cannot express. */
export function invalid(errors: readonly FieldError[]): Validated<never> {
  return { kind: 'problem', problem: problem('validation_failed', 'A field is not valid.', { errors }) };
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

function fieldError(issue: z.core.$ZodIssue, body: unknown): FieldError {
  const pointer = issue.path.map((part) => `/${pointerPart(String(part))}`).join('');
  const given = valueAt(body, issue.path);
  if (given === undefined || given === null) return { pointer, code: 'required', message: 'This is required.' };
  const [code, message] = wording(issue);
  return { pointer, code, message };
}

function wording(issue: z.core.$ZodIssue): readonly [code: string, message: string] {
  switch (issue.code) {
    case 'invalid_type':
      return ['wrong_type', `This must be ${TYPES[issue.expected] ?? 'of another type'}.`];
    case 'invalid_value':
      return ['invalid_value', `This must be ${orList(issue.values.map(String))}.`];
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum));
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum));
    case 'custom':
    case 'invalid_format':
      return ['invalid_value', issue.message];
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return ['invalid_value', 'This value is not accepted here.'];
    default:
      return ['invalid_value', 'This is not valid.'];
  }
}

function tooBig(origin: string, maximum: number): readonly [code: string, message: string] {
  if (origin === 'string') return ['too_long', `This must have at most ${counted(maximum, 'character')}.`];
  if (origin === 'array') return ['too_many', `This must have at most ${counted(maximum, 'item')}.`];
  return ['too_large', `This must be at most ${maximum}.`];
}

function tooSmall(origin: string, minimum: number): readonly [code: string, message: string] {
  if (origin === 'string') return ['too_short', `This must have at least ${counted(minimum, 'character')}.`];
  if (origin === 'array') return ['too_few', `This must have at least ${counted(minimum, 'item')}.`];
  return ['too_small', `This must be at least ${minimum}.`];
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function orList(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<PropertyKey, unknown>>)[part];
  }
  return value;
}
