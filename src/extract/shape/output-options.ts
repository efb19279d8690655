import * as z from 'zod';
import { childPointer } from '../../kernel/json-pointer.ts';
import { FIELD_PATH, OUTPUT, PATH_CHARACTERS_MAX, PATH_FORM } from '../../contract/requests/extraction-requests.ts';
import type { OutputOptions } from '../../work/extraction-job.ts';
import type { FieldError } from '../../contract/problem.ts';
import { validate } from '../../contract/validate.ts';

/** Choice: a schema is compiled in memory and run for every record. Hand-written ones have a few KiB. */
const SCHEMA_BYTES_MAX = 65_536;
const SCHEMA_DEPTH_MAX = 32;
const BODY = z.object({ output: OUTPUT.nullish() });

export type ParsedOutput =
  | { readonly kind: 'ok'; readonly output: OutputOptions }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/**
 * Parses the `output` member of a request; an absent one yields the defaults. Pointers start at the request body: `/output/…`.
 * Source: contract, 11.3. Choice: `on_invalid` defaults to `drop`, because a customer gives a schema so that all
 * records match it, and a single invalid record must not end a job of a thousand.
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
    .filter((text) => !FIELD_PATH.safeParse(text).success)
    .map((text) => ({
      pointer: childPointer('/output/rename', text.slice(0, 64)),
      code: 'invalid_value',
      message: `${PATH_FORM} At most ${PATH_CHARACTERS_MAX} characters.`,
    }));
}

function largeSchema(schema: Readonly<Record<string, unknown>> | null): FieldError[] {
  if (schema === null) return [];
  const pointer = '/output/schema';
  // Checks the depth first, because `JSON.stringify` recurses as deep as the value.
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
