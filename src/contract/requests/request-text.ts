import * as z from 'zod';

/**
 * Returns the schema of a text of at most `charactersMax` characters, counted in code points. Lone surrogates are replaced, because the
 * store cannot hold them.
 */
export function text(charactersMax: number): z.ZodType<string, string> {
  return z
    .string()
    .check((context) => {
      if (hasAtMost(context.value, charactersMax)) return;
      context.issues.push({ code: 'too_big', origin: 'string', maximum: charactersMax, input: context.value });
    })
    .meta({ maxLength: charactersMax })
    .transform((value) => Buffer.from(value).toString());
}

/** A character is one or two UTF-16 units, so only texts of nearly the maximum are counted: a text of 1 MB would take 13 ms. */
function hasAtMost(value: string, charactersMax: number): boolean {
  if (value.length <= charactersMax) return true;
  return value.length <= 2 * charactersMax && Array.from(value).length <= charactersMax;
}
