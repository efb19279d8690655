/** How well a text is read: precision and recall of its words, each counted as often as it occurs. */

export interface WordScore {
  /** Harmonic mean of precision and recall, from 0 to 1. */
  readonly f1: number;
  readonly precision: number;
  readonly recall: number;
}

/** Words are runs of letters, digits and `_`, in lower case. */
function wordsOf(text: string): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []) words.set(word, (words.get(word) ?? 0) + 1);
  return words;
}

export function scoreWords(text: string, expected: string): WordScore {
  const [got, wanted] = [wordsOf(text), wordsOf(expected)];
  const total = (words: ReadonlyMap<string, number>): number => [...words.values()].reduce((sum, n) => sum + n, 0);
  const shared = [...got].reduce((sum, [word, n]) => sum + Math.min(n, wanted.get(word) ?? 0), 0);
  const precision = shared / Math.max(1, total(got));
  const recall = shared / Math.max(1, total(wanted));
  return { f1: shared === 0 ? 0 : (2 * precision * recall) / (precision + recall), precision, recall };
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
