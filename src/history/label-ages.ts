import { LABEL_SOURCES, type KnownTruth, type LabelSource } from './model-comparison.ts';

const DAY_MS = 86_400_000;
/** Ages of labels, the newest first; the last one has no end. */
export const LABEL_AGES = ['week', 'month', 'older'] as const;
const AGE_ENDS_MS = [7 * DAY_MS, 30 * DAY_MS, Infinity] as const;

export interface LabelCounts {
  readonly fraud: number;
  readonly legitimate: number;
}

export interface SourceAges {
  readonly source: LabelSource;
  /** In the order of `LABEL_AGES`. */
  readonly ages: readonly LabelCounts[];
}

/** Counts labels by what gave them and by their age. */
export class LabelAges {
  readonly #counts = LABEL_SOURCES.map(() => AGE_ENDS_MS.map(() => ({ fraud: 0, legitimate: 0 })));

  add({ source, isFraud }: KnownTruth, ageMs: number): void {
    const at = AGE_ENDS_MS.findIndex((endMs) => ageMs <= endMs);
    const counts = this.#counts[LABEL_SOURCES.indexOf(source)]?.[at];
    if (counts !== undefined) counts[isFraud ? 'fraud' : 'legitimate']++;
  }

  /** Sources with a label. */
  bySource(): readonly SourceAges[] {
    return LABEL_SOURCES.flatMap((source, at) => {
      const ages = this.#counts[at] ?? [];
      return ages.some(({ fraud, legitimate }) => fraud + legitimate > 0) ? [{ source, ages }] : [];
    });
  }
}

/** Returns labels by source and age as the API and `models rows --json` show them. */
export function showLabelAges(bySource: readonly SourceAges[]) {
  return bySource.map(({ source, ages }) => ({
    source,
    ages: Object.fromEntries(LABEL_AGES.map((age, at) => [age, ages[at]])),
  }));
}
