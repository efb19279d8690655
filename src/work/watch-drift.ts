import { META } from '../contract/vocabulary.ts';

/** Field → share of the records in which nothing was found for it, 0 to 1. */
export type NullShares = Readonly<Record<string, number>>;

/** Choice: shares of fewer records say little. */
const RECORDS_MIN = 10;
/** Choice: a field that is rarely empty and then mostly is: its selector fits no more. A shop that is half sold out is between them. */
const RARELY = 0.2;
const MOSTLY = 0.6;
/** Choice: an extraction has at most 60 fields of its own, each of at most two columns. */
const FIELDS_MAX = 120;

/** Counts in how many records of a run each field has nothing: null, or an empty list. */
export class NullCounter {
  #records = 0;
  readonly #nulls = new Map<string, number>();

  get records(): number {
    return this.#records;
  }

  add(record: Readonly<Record<string, unknown>>): void {
    this.#records++;
    for (const [name, value] of Object.entries(record)) {
      if (name === META || (this.#nulls.size >= FIELDS_MAX && !this.#nulls.has(name))) continue;
      const isNothing = value === null || (Array.isArray(value) && value.length === 0);
      this.#nulls.set(name, (this.#nulls.get(name) ?? 0) + (isNothing ? 1 : 0));
    }
  }

  /** Returns null if there are too few records. Shares have two decimals. */
  shares(): NullShares | null {
    if (this.#records < RECORDS_MIN) return null;
    return Object.fromEntries(
      [...this.#nulls].map(([name, nulls]) => [name, Math.round((100 * nulls) / this.#records) / 100]),
    );
  }
}

/** What a run says of the fields. */
export interface FieldDrift {
  /** Fields in which nothing is found any more, in the order of the records. */
  readonly drifted: readonly string[];
  /** What the next run is compared with. */
  readonly nullShares: NullShares;
}

/**
 * Returns null for a run with too few records to say anything. A field that has drifted keeps its share from before, so that each run
 * names it until it is found again. A run without any record has lost all fields: the selector of the records themselves fits no more.
 */
export function driftOf(before: NullShares, counter: NullCounter): FieldDrift | null {
  const known = Object.keys(before);
  if (counter.records === 0 && known.length > 0) return { drifted: known, nullShares: before };
  const now = counter.shares();
  if (now === null) return null;
  const drifted = Object.keys(now).filter(
    (name) => Object.hasOwn(before, name) && (before[name] ?? 1) <= RARELY && (now[name] ?? 0) >= MOSTLY,
  );
  const kept = drifted.map((name) => [name, before[name] ?? 0] as const);
  return { drifted, nullShares: { ...now, ...Object.fromEntries(kept) } };
}
