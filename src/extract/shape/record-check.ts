import { format, Validator } from '@cfworker/json-schema';
import type { JsonObject, JsonValue } from '../connector.ts';
import { PATTERNS_MAX, patternFormat, type CompiledSchema } from './schema-compile.ts';
import { StepBudget, type SafePattern } from './patterns.ts';

/** Choice: each item of such an array is compared with each other one; 1,000 items take some 10 ms. */
const UNIQUE_ITEMS_MAX = 1_000;

/** Null, or in a few words why the record does not hold to the schema; for the operator, because it may quote the record. */
export type RecordCheck = (record: JsonObject) => string | null;

/**
 * The library has no place for patterns of our own but its table of formats. So the formats of these names stand for the patterns of
 * the schema that is being run; running one is synchronous, so there is never a second.
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
    if (compiled.hasUniqueItems && hasLongArray(record)) return 'An array is too long to tell its items apart.';
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

/** A copy that inherits nothing, because the library asks for names with `in`. */
function bare(value: JsonValue): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(bare);
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [name, item] of Object.entries(value)) copy[name] = bare(item);
  return copy;
}

function hasLongArray(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) && value.length > UNIQUE_ITEMS_MAX) return true;
  return Object.values(value).some((item: JsonValue) => hasLongArray(item));
}
