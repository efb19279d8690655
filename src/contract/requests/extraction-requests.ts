import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { META, OUTPUT_FORMATS } from '../vocabulary.ts';
import { EXTRACTION_DELIVERY } from './extraction-delivery-requests.ts';
import { text } from './request-text.ts';

/** Source: contract, 11.2. */
const COLLECT_LIMIT_MAX = 100_000;
/** Source: contract, 11.2. */
export const COLLECT_LIMIT_DEFAULT = 100;
/** Choice: far longer than any name in the catalogue. */
const NAME_CHARACTERS_MAX = 100;

/** Choice: more fields than the widest record schema has. */
const FIELDS_MAX = 200;
export const PATH_CHARACTERS_MAX = 200;
/** Source: contract, 11.3: RFC 4180's comma, and the delimiters that spreadsheets use in other countries. */
const DELIMITERS = [',', ';', '\t', '|'] as const;

export const PATH_FORM = 'This must be names joined by single dots.';
const NAME_FORM = `This must be a name without dots and control characters, other than ${META}.`;
export const NO_SUCH_SESSION_MESSAGE = 'There is no such session.';
const SESSION_ID = idPattern('ses');

/** Names joined by dots that select a field of a record. */
export const FIELD_PATH = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .refine((given) => !given.split('.').includes(''), { message: PATH_FORM });

/** Choice: no dots, so that a new name cannot collide with a name that flattening creates. */
const newName = z
  .string()
  .min(1)
  .max(PATH_CHARACTERS_MAX)
  .refine((given) => /^[^.\p{Cc}]+$/u.test(given) && given !== META && given !== '__proto__', { message: NAME_FORM });

/** Keys are not validated here: a path is checked when it is looked up in the record schema. */
const rename = z.record(z.string(), newName).refine((names) => Object.keys(names).length <= FIELDS_MAX, {
  message: `This must have at most ${FIELDS_MAX} names.`,
});

const COLLECT = z
  .object({
    mode: z.enum(['limit', 'all']).nullish().meta({ default: 'limit' }),
    limit: z.int().min(1).max(COLLECT_LIMIT_MAX).nullish().meta({
      default: COLLECT_LIMIT_DEFAULT,
      description: 'Only with the mode limit. The operator may have set a lower maximum',
    }),
  })
  .check(findLimitOfAll)
  .meta({ id: 'Collect' });

export const OUTPUT = z
  .object({
    format: z.enum(OUTPUT_FORMATS).nullish().meta({ default: 'json' }),
    fields: z.array(FIELD_PATH).min(1).max(FIELDS_MAX).nullish().meta({
      description: 'Paths such as author.name; by default all fields',
    }),
    rename: rename.nullish().meta({ description: 'Path → new name' }),
    flatten: z.boolean().nullish().meta({ default: false }),
    schema: z.record(z.string(), z.unknown()).nullish().meta({
      description: 'JSON Schema that each record must match',
    }),
    on_invalid: z.enum(['drop', 'keep', 'fail']).nullish().meta({ default: 'drop' }),
    csv: z
      .object({
        delimiter: z.enum(DELIMITERS).nullish().meta({ default: ',' }),
        bom: z.boolean().nullish().meta({ default: false }),
        header: z.boolean().nullish().meta({ default: true }),
      })
      .nullish(),
  })
  .meta({ id: 'Output' });

/** The body of `POST /v1/extractions`, as far as a schema can validate it; `extract/request.ts` checks the rest. */
export const EXTRACTION_REQUEST = z
  .object({
    connector: text(NAME_CHARACTERS_MAX).meta({ description: 'An id of the catalogue' }),
    operation: text(NAME_CHARACTERS_MAX).meta({ description: "A name among the connector's operations" }),
    input: z.record(z.string(), z.unknown()).meta({ description: "Must match the operation's input_schema" }),
    collect: COLLECT.nullish(),
    output: OUTPUT.nullish(),
    session: z
      .string()
      .refine((id) => SESSION_ID.test(id), { message: NO_SUCH_SESSION_MESSAGE })
      .meta({ pattern: SESSION_ID.source })
      .nullish(),
    delivery: EXTRACTION_DELIVERY.nullish(),
  })
  .meta({ id: 'ExtractionRequest' });

export interface GivenCollect {
  readonly mode?: 'limit' | 'all' | null | undefined;
  readonly limit?: number | null | undefined;
}

/** Choice: refused, because a caller who gives a limit does not expect a million records. */
function findLimitOfAll(context: z.core.ParsePayload<GivenCollect>): void {
  const { mode, limit } = context.value;
  if (mode !== 'all' || limit === null || limit === undefined) return;
  const message = 'This is allowed only with the mode limit.';
  context.issues.push({ code: 'custom', message, path: ['limit'], input: context.value });
}
