import type { Facts } from './facts.ts';
import { COMPUTED_FEATURES, computeFeatures, FEATURE_NAMES } from './features.ts';

/**
 * The feature row of a decision, as its record keeps it, for models that learn from labelled decisions:
 *
 *   set     a hash of the names of all columns, u32: rows of builds with other columns have other sets
 *   bits    one for each column, set unless the value is 0
 *   values  for each set bit: a whole number from 1 to 254 as u8, otherwise 255 and a float32
 *
 * The values are those that a model gets (`fillFeatures`). Measured: some 70 bytes. `stored-features.ts` reads it.
 */
export const FEATURE_SET = featureSetOf(FEATURE_NAMES);

const SET_BYTES = 4;
const BITS_BYTES = Math.ceil(FEATURE_NAMES.length / 8);
const VALUES_AT = SET_BYTES + BITS_BYTES;
const SMALL_MAX = 254;
const FLOAT = 255;

const RULE_PREFIX = 'rule:';
/** These columns come after those that are computed from the facts. */
const RULE_COLUMNS: ReadonlyMap<string, number> = new Map(
  FEATURE_NAMES.flatMap((name, at) => (name.startsWith(RULE_PREFIX) ? [[name.slice(RULE_PREFIX.length), at]] : [])),
);

/** Writes the row at `start`, at most `VALUES_AT` bytes and 5 for each column; returns the number of bytes. */
export function writeFeatureRow(
  target: Buffer,
  start: number,
  facts: Facts,
  fired: readonly { readonly rule: { readonly code: string } }[],
): number {
  for (let i = 0; i < SET_BYTES; i++) target[start + i] = FEATURE_SET >>> (24 - 8 * i);
  const bitsAt = start + SET_BYTES;
  let end = start + VALUES_AT;
  for (let at = bitsAt; at < end; at++) target[at] = 0;
  const values = computeFeatures(facts);
  for (let column = 0; column < COMPUTED_FEATURES; column++) {
    const given = values[column] ?? 0;
    if (given === 0) continue;
    const value = Math.fround(given);
    if (value === 0 || !Number.isFinite(value)) continue;
    setBit(target, bitsAt, column);
    if (value >= 1 && value <= SMALL_MAX && Number.isInteger(value)) target[end++] = value;
    else {
      target[end++] = FLOAT;
      end = target.writeFloatBE(value, end);
    }
  }
  // The values of rules are all 1, so their order does not matter.
  for (const { rule } of fired) {
    const column = RULE_COLUMNS.get(rule.code);
    if (column !== undefined && setBit(target, bitsAt, column)) target[end++] = 1;
  }
  return end - start;
}

/** Returns whether the bit was 0. */
function setBit(target: Buffer, bitsAt: number, column: number): boolean {
  const at = bitsAt + (column >> 3);
  const before = target[at] ?? 0;
  const bit = 1 << (column & 7);
  target[at] = before | bit;
  return (before & bit) === 0;
}

/** Returns the number that identifies a set of columns: FNV-1a of their names. */
export function featureSetOf(names: readonly string[]): number {
  const text = names.join('\n');
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
