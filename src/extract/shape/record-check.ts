import { format, Validator } from '@cfworker/json-schema';
import type { JsonObject, JsonValue } from '../base/connector.ts';
import { PATTERNS_MAX, patternFormat, type CompiledSchema } from './schema-compile.ts';
import { StepBudget, type SafePattern } from './patterns.ts';

/** Choice: each item of such an array is compared with every other one; 1,000 items take about 10 ms. */
const UNIQUE_ITEMS_MAX = 1_000;
/**
 * Limit for comparisons of items and of their members, over all arrays of one record.
 * Measured: 1,000 objects with one number are 2,000,000 and take 42 ms, so a record takes 0.4 s at most.
 */
const COMPARISONS_PER_RECORD_MAX = 20_000_000;
/**
 * Limit for values of a record times subschemas that apply at their depth.
 * Measured: one such check takes 0.06 to 0.35 µs, and 6.4 µs at worst, so a record takes 0.2 s, and 3.2 s at worst. A schema of
 * 1,900 subschemas and a record of 80 KB need 38 million.
 */
const CHECKS_PER_RECORD_MAX = 500_000;
/** Measured: counting the characters of a text takes 2.6 µs for this many, about as long as the checks of one value. */
const CHARACTERS_PER_VALUE = 1_000;

/** Returns null if the record matches the schema, else a short reason. For the operator only, because it may quote the record. */
export type RecordCheck = (record: JsonObject) => string | null;

/**
 * The library accepts custom patterns only as entries in its global table of formats. The formats with these names therefore run the
 * patterns of the schema that is currently being applied. Validation is synchronous, so only one schema runs at a time.
 */
let running: readonly SafePattern[] = [];
const budget = new StepBudget();
for (let index = 0; index < PATTERNS_MAX; index++) {
  format[patternFormat(index)] = (text) => {
    const pattern = running[index];
    if (pattern === undefined) return true;
    budget.spend(pattern.programSize * (text.length + 1));
    return pattern.test(text);
  };
}

export function createRecordCheck(compiled: CompiledSchema): RecordCheck {
  const validator = new Validator(compiled.schema, compiled.draft);
  return (record) => {
    const size = sizeOf(record);
    if (checksOf(compiled, size) > CHECKS_PER_RECORD_MAX) return 'The record is too large for this schema.';
    if (compiled.hasUniqueItems && hasLongArrays(size))
      return 'An array is too long to check that its items are unique.';
    running = compiled.patterns;
    budget.reset();
    try {
      const { valid, errors } = validator.validate(compiled.hasInheritedNames ? bare(record) : record);
      return valid ? null : wording(errors.at(-1));
    } catch (error) {
      return `The schema could not be applied: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
}

function wording(error: { readonly instanceLocation: string; readonly error: string } | undefined): string {
  return error === undefined ? 'The record is not valid.' : `${error.instanceLocation}: ${error.error}`.slice(0, 500);
}

/** Returns a copy without a prototype, because the library looks up names with `in`. */
function bare(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(bare);
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [name, item] of Object.entries(value)) copy[name] = bare(item);
  return copy;
}

interface RecordSize {
  /** Number of values at each depth, a long text counted once for each `CHARACTERS_PER_VALUE`; index 0 is the record itself. */
  readonly valuesAtDepth: readonly number[];
  readonly longestArray: number;
  /** Comparisons that all arrays need if the items of each must be unique. */
  readonly comparisons: number;
}

function sizeOf(record: JsonObject): RecordSize {
  const valuesAtDepth: number[] = [];
  let longestArray = 0;
  let comparisons = 0;
  /** Returns the number of values in this one, including itself. */
  const count = (value: JsonValue, depth: number): number => {
    const weight = typeof value === 'string' ? 1 + Math.floor(value.length / CHARACTERS_PER_VALUE) : 1;
    valuesAtDepth[depth] = (valuesAtDepth[depth] ?? 0) + weight;
    if (typeof value !== 'object' || value === null) return 1;
    let inner = 0;
    for (const item of Object.values(value) as readonly JsonValue[]) inner += count(item, depth + 1);
    if (Array.isArray(value)) {
      longestArray = Math.max(longestArray, value.length);
      comparisons += value.length * inner;
    }
    return inner + 1;
  };
  count(record, 0);
  return { valuesAtDepth, longestArray, comparisons };
}

function checksOf({ weightAtDepth }: CompiledSchema, { valuesAtDepth }: RecordSize): number {
  return weightAtDepth.reduce((sum, weight, depth) => sum + weight * (valuesAtDepth[depth] ?? 0), 0);
}

function hasLongArrays({ longestArray, comparisons }: RecordSize): boolean {
  return longestArray > UNIQUE_ITEMS_MAX || comparisons > COMPARISONS_PER_RECORD_MAX;
}
