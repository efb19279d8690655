import * as z from 'zod';
import { pointerPart, problem, type FieldError, type Problem } from '../base/problem.ts';

export type Validated<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Choice: as many as a person reads; a body of thousands must not be answered by thousands. */
const FIELD_ERRORS_MAX = 32;

/**
 * A body by its schema, or the 422. Unknown fields are ignored. Codes are stable: `required`, `wrong_type`, `invalid_value`,
 * `too_long`, `too_short`, `too_many`, `too_few`, `too_large`, `too_small`. A schema gives a message of its own to what has a
 * form (`regex`, `refine`); everything else is worded here.
 */
export function validate<T>(schema: z.ZodType<T>, body: unknown): Validated<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { kind: 'ok', value: parsed.data };
  return invalid(parsed.error.issues.slice(0, FIELD_ERRORS_MAX).map((issue) => fieldError(issue, body)));
}

/** The 422 for what a schema cannot say. */
export function invalid(errors: readonly FieldError[]): Validated<never> {
  return { kind: 'problem', problem: problem('validation_failed', 'A field is not valid.', { errors }) };
}

/** A text of so many characters at most, counted as people do; halves of surrogate pairs, which no store keeps, are replaced. */
export function text(charactersMax: number): z.ZodType<string> {
  return z
    .string()
    .check((context) => {
      // A character is at most two units, so most texts need not be counted.
      if (context.value.length <= charactersMax || Array.from(context.value).length <= charactersMax) return;
      context.issues.push({ code: 'too_big', origin: 'string', maximum: charactersMax, input: context.value });
    })
    .transform((value) => Buffer.from(value).toString());
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
      return ['invalid_value', 'This is none of what is accepted here.'];
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
