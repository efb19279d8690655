import type { FieldError } from '../../contract/problem.ts';
import { unreachable } from '../../kernel/brand.ts';
import type { OutputOptions } from '../../work/extraction-job.ts';
import type { JsonObject, JsonSchema, JsonValue } from '../base/connector.ts';
import { fitRecord, jsonBytes, type FitBounds } from './fit-record.ts';
import { flattened, leavesOf, type Leaf } from './flatten.ts';
import { planOutput, type OutputMember } from './plan.ts';
import { createRecordCheck, type RecordCheck } from './record-check.ts';
import { META, type RecordMeta } from './record-meta.ts';
import { compileSchema } from './schema-compile.ts';
import { pick, project } from './selection.ts';

export type Shaped =
  /** `_meta` is its last member; `_meta.truncated` is true if the record was truncated. */
  | { readonly kind: 'record'; readonly value: JsonObject }
  /** The record does not match the schema, and such records are dropped. `detail` is for the operator only. */
  | { readonly kind: 'dropped'; readonly detail: string }
  /** The same, but the job ends with `schema_mismatch`. */
  | { readonly kind: 'failed'; readonly detail: string };

export type FullRecord = JsonObject & { readonly [META]: RecordMeta };

export interface Shaper {
  /**
   * `record` satisfies the record schema, `_meta` aside. With `bounds` the record is truncated to that size before it is validated against
   * the customer's schema, and dropped if it cannot be truncated.
   */
  shape(record: FullRecord, bounds?: FitBounds): Shaped;
  /** Whether records may be dropped. */
  readonly mayDrop: boolean;
  /** The leaves of all records except those of `_meta`, in order: CSV's columns. */
  readonly columns: readonly Leaf[];
}

/** Returns the columns of a job's records without compiling its schema, whose patterns take long. Empty if the options are invalid. */
export function columnsOfOutput(output: Pick<OutputOptions, 'fields' | 'rename'>, record: JsonSchema): readonly Leaf[] {
  const planned = planOutput(output, record);
  return planned.kind === 'ok' ? leavesOfMembers(planned.members) : [];
}

function leavesOfMembers(members: readonly OutputMember[]): readonly Leaf[] {
  return members.flatMap(({ name, selection, schema }) => leavesOf([name], selection, schema));
}

export type CreatedShaper =
  | { readonly kind: 'ok'; readonly shaper: Shaper }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/**
 * Creates the shaper of one job's records. It applies fields, then renames, then flattening, then the customer's schema, which is checked
 * against the record without `_meta`. All errors in the options are reported here, before anything is fetched; pointers start at the
 * request body.
 */
export function createShaper(output: OutputOptions, recordSchema: JsonSchema): CreatedShaper {
  const planned = planOutput(output, recordSchema);
  const check = checkOf(output);
  if (planned.kind === 'faults' || check.kind === 'faults') {
    return { kind: 'faults', errors: [planned, check].flatMap((part) => (part.kind === 'faults' ? part.errors : [])) };
  }
  const { members } = planned;
  const columns = leavesOfMembers(members);
  const mayDrop = output.schema !== null && output.onInvalid === 'drop';
  return {
    kind: 'ok',
    shaper: {
      columns,
      mayDrop,
      shape: (record, bounds) => shape(record, { output, members, columns, check: check.check }, bounds ?? null),
    },
  };
}

type Check = { readonly kind: 'ok'; readonly check: RecordCheck } | Extract<CreatedShaper, { kind: 'faults' }>;

function checkOf(output: OutputOptions): Check {
  if (output.schema === null) return { kind: 'ok', check: () => null };
  const result = compileSchema(output.schema, '/output/schema');
  return result.kind === 'faults' ? result : { kind: 'ok', check: createRecordCheck(result.compiled) };
}

interface Plan {
  readonly output: OutputOptions;
  readonly members: readonly OutputMember[];
  readonly columns: readonly Leaf[];
  readonly check: RecordCheck;
}

/** Choice: generous size of the name `_meta` and of the member `seq`, which is added later. */
const META_BYTES = 64;

function shape(record: FullRecord, { output, members, columns, check }: Plan, bounds: FitBounds | null): Shaped {
  const given: JsonObject = Object.fromEntries(members.map((member) => [member.name, memberValue(record, member)]));
  const toOutput = (fields: JsonObject): JsonObject => (output.flatten ? flattened(fields, columns) : fields);
  const meta = bounds === null ? record[META] : { ...record[META], truncated: true };
  const fields = bounds === null ? given : fit(given, members, bounds, jsonBytes(meta), toOutput);
  if (fields === null) return { kind: 'dropped', detail: 'The record is too large and cannot be truncated.' };
  const value = toOutput(fields);
  const detail = check(value);
  const whole = { ...value, [META]: meta };
  if (detail === null) return { kind: 'record', value: whole };
  switch (output.onInvalid) {
    case 'keep':
      return { kind: 'record', value: whole };
    case 'drop':
      return { kind: 'dropped', detail };
    case 'fail':
      return { kind: 'failed', detail };
    default:
      return unreachable(output.onInvalid);
  }
}

function fit(
  fields: JsonObject,
  members: readonly OutputMember[],
  { bytesMax, ...bounds }: FitBounds,
  metaBytes: number,
  toOutput: (fields: JsonObject) => JsonObject,
): JsonObject | null {
  const own = { ...bounds, bytesMax: bytesMax - metaBytes - META_BYTES };
  return fitRecord(fields, members, own, (cut) => jsonBytes(toOutput(cut)));
}

function memberValue(record: JsonObject, { path, selection }: OutputMember): JsonValue {
  return project(pick(record, path), selection);
}
