import * as z from 'zod';

/**
 * Returns the schema of a text of at most `charactersMax` characters, counted in code points. Lone surrogates are replaced, because the
 * store cannot hold them.
 */
export function text(charactersMax: number): z.ZodType<string, string> {
  return z
    .string()
    .check((context) => {
      // A text has at most as many characters as UTF-16 units, so most texts need not be counted.
      if (context.value.length <= charactersMax || Array.from(context.value).length <= charactersMax) return;
      context.issues.push({ code: 'too_big', origin: 'string', maximum: charactersMax, input: context.value });
    })
    .meta({ maxLength: charactersMax })
    .transform((value) => Buffer.from(value).toString());
}
