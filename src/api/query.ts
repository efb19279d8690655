import type * as z from 'zod';
import { problem, type Problem } from '../contract/problem.ts';
import type { Shape } from '../contract/routes.ts';

/** Parameter → value. A parameter that was not sent has its default, or undefined. */
export type QueryValues<Of extends Shape> = { readonly [Name in keyof Of]: z.output<Of[Name]> };

type QueryRead<Of extends Shape> =
  | { readonly kind: 'ok'; readonly value: QueryValues<Of> }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Reads an endpoint's parameters, those of `QUERIES`, from a query without repeated names. Names outside of `shape` are ignored. */
export function readQuery<Of extends Shape>(query: URLSearchParams, shape: Of): QueryRead<Of> {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(shape)) {
    const parsed = parseText(schema, query.get(name) ?? undefined);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return { kind: 'problem', problem: badQuery(name, issue?.message ?? 'This is not valid.') };
    }
    values[name] = parsed.data;
  }
  return { kind: 'ok', value: values as QueryValues<Of> };
}

/** Returns the 400 for an invalid query parameter. */
export function badQuery(name: string, message: string): Problem {
  const errors = [{ pointer: `?${name}`, code: 'invalid_value', message }];
  return problem('invalid_request', `The query parameter ${name} is not valid.`, { errors });
}

/** A text that the schema refuses because of its type is read as a number or a boolean, in the one form that JSON has for it. */
function parseText(schema: z.ZodType, text: string | undefined): z.ZodSafeParseResult<unknown> {
  const parsed = schema.safeParse(text);
  const isOfOtherType = parsed.error?.issues[0]?.code === 'invalid_type';
  return isOfOtherType && text !== undefined && JSON_SCALAR.test(text) ? schema.safeParse(JSON.parse(text)) : parsed;
}

/** An integer from 0 on, or a boolean. */
const JSON_SCALAR = /^(?:0|[1-9]\d{0,14}|true|false)$/;
