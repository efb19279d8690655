import * as z from 'zod';
import { childPointer } from '../../core/json-pointer.ts';
import { OUTPUT_FORMATS, type OutputOptions } from '../../core/extraction.ts';
import type { FieldError } from '../../base/problem.ts';
import { validate } from '../../manage/validate.ts';
import { META } from './record-meta.ts';

/** Choice: more than the widest record schema has. */
const FIELDS_MAX = 200;
const PATH_CHARACTERS_MAX = 200;
/** Choice: a schema is compiled in memory and run for every record; those that people write have some KiB. */
const SCHEMA_BYTES_MAX = 65_536;
const SCHEMA_DEPTH_MAX = 32;
/** Source: open points, section 5: RFC 4180's comma, and what spreadsheets of other countries write. */
const DELIMITERS = [',', ';', '\t', '|'] as const;

const PATH_FORM = 'This must be names joined by single dots.';
const NAME_FORM = `This must be a name without dots and control characters, other than ${META}.`;

const path = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .refine((text) => !text.split('.').includes(''), { message: PATH_FORM });

/** Choice: no dots, so that a new name can never be one that flattening makes. */
const newName = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .refine((text) => /^[^.\p{Cc}]+$/u.test(text) && text !== META && text !== '__proto__', { message: NAME_FORM });

/** Keys are read as plain names: the text of a path is checked where it is looked up in the record schema. */
const rename = z.record(z.string(), newName).refine((names) => Object.keys(names).length <= FIELDS_MAX, {
  message: `This must have at most ${FIELDS_MAX} names.`,
});

const BODY = z.object({
  output: z
    .object({
      format: z.enum(OUTPUT_FORMATS).nullish(),
      fields: z.array(path).min(1).max(FIELDS_MAX).nullish(),
      rename: rename.nullish(),
      flatten: z.boolean().nullish(),
      schema: z.record(z.string(), z.unknown()).nullish(),
      on_invalid: z.enum(['drop', 'keep', 'fail']).nullish(),
      csv: z
        .object({
          delimiter: z.enum(DELIMITERS).nullish(),
          bom: z.boolean().nullish(),
          header: z.boolean().nullish(),
        })
        .nullish(),
    })
    .nullish(),
});

export type ParsedOutput =
  | { readonly kind: 'ok'; readonly output: OutputOptions }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/**
 * The `output` member of a request; an absent one gives the defaults. Pointers start at the request's body, `/output/…`.
 * Source: open points, section 5. Choice: `on_invalid` is `drop` where a schema stands alone: a schema is given so that what comes
 * out holds to it, and one odd record must not end a job of a thousand.
 */
export function parseOutput(json: unknown): ParsedOutput {
  const read = validate(BODY, { output: json });
  if (read.kind === 'problem') return { kind: 'faults', errors: read.problem.errors ?? [] };
  const given = read.value.output ?? {};
  const errors = [...longPaths(given.rename ?? {}), ...largeSchema(given.schema ?? null)];
  if (errors.length > 0) return { kind: 'faults', errors };
  return {
    kind: 'ok',
    output: {
      format: given.format ?? 'json',
      fields: given.fields ?? null,
      rename: given.rename ?? {},
      flatten: given.flatten ?? false,
      schema: given.schema ?? null,
      onInvalid: given.on_invalid ?? 'drop',
      csv: {
        delimiter: given.csv?.delimiter ?? ',',
        bom: given.csv?.bom ?? false,
        header: given.csv?.header ?? true,
      },
    },
  };
}

function longPaths(names: Readonly<Record<string, string>>): FieldError[] {
  return Object.keys(names)
    .filter((text) => !path.safeParse(text).success)
    .map((text) => ({
      pointer: childPointer('/output/rename', text.slice(0, 64)),
      code: 'invalid_value',
      message: `${PATH_FORM} At most ${PATH_CHARACTERS_MAX} characters.`,
    }));
}

function largeSchema(schema: Readonly<Record<string, unknown>> | null): FieldError[] {
  if (schema === null) return [];
  const pointer = '/output/schema';
  // Depth first, because what writes JSON goes as deep as the value does.
  if (isDeeperThan(schema, SCHEMA_DEPTH_MAX))
    return [{ pointer, code: 'too_large', message: `This must nest at most ${SCHEMA_DEPTH_MAX} levels.` }];
  if (Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES_MAX)
    return [{ pointer, code: 'too_large', message: `This must have at most ${SCHEMA_BYTES_MAX} bytes.` }];
  return [];
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}
