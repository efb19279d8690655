import { FEATURE_NAMES } from './features.ts';
import { readFeatureRow } from './stored-features.ts';

/**
 * Columns that are not shown: reasons already name the rules, the registry's figures are those of all customers and shown only as
 * `shared_registry`, and the hour is a point on a circle.
 */
const HIDDEN = /^(?:rule|registry|time):/;
const SHOWN: readonly (readonly [name: string, column: number])[] = FEATURE_NAMES.flatMap((name, column) =>
  HIDDEN.test(name) ? [] : [[name, column] as const],
);
/** Values are stored with 24 bits; more decimals would show their rounding. */
const DECIMALS = 1_000;

/** Names of the signals, in the order in which they are shown. */
export const SIGNAL_NAMES: readonly string[] = SHOWN.map(([name]) => name);

/**
 * Returns what the rules and models read of a request, by name, from its stored feature row. 0 stands for "no" and for "not known". Null if
 * the record has no row, or that of a newer build with other columns.
 */
export function readSignals(features: Buffer | null): Readonly<Record<string, number>> | null {
  if (features === null) return null;
  const row = readFeatureRow(features);
  if (row === null) return null;
  const rounded = (column: number): number => Math.round((row.values.get(column) ?? 0) * DECIMALS) / DECIMALS;
  return Object.fromEntries(SHOWN.map(([name, column]) => [name, rounded(column)]));
}
