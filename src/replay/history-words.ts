import type { Outcome } from '../risk/event-outcome.ts';

/** Words of the columns `label` and `outcome` and of boolean attributes, in the languages that exports are written in. */

/** Yes and no in English, German, French, Spanish, Italian, Portuguese, Dutch and Polish. pandas writes 1.0 beside empty cells. */
const YES_WORDS = wordsOf(
  'true 1 1.0 yes y t ja j wahr waar oui vrai sí si sì verdadero vero sim verdadeiro tak prawda',
);
const NO_WORDS = wordsOf('false 0 0.0 no n f nein falsch nee onwaar non faux falso não nao nie fałsz');
const FRAUD_WORDS = wordsOf(
  `fraud fraudulent confirmed_fraud bad attack abuse chargeback charge_back attacker bot malicious betrug betrügerisch fraude
  frauduleux fraudulento frode fraudolento oszustwo`,
);
const LEGITIMATE_WORDS = wordsOf(
  `legitimate legit good honest genuine ok human benign normal not_fraud non_fraud no_fraud legitim kein_betrug légitime legitime
  legítimo legitimo legittimo legitiem`,
);
const OUTCOME_WORDS: Readonly<Record<Outcome, readonly string[]>> = {
  succeeded: [...wordsOf('succeeded success successful ok approved accepted paid completed'), ...YES_WORDS],
  failed: [...wordsOf('failed failure fail error wrong_password invalid'), ...NO_WORDS],
  declined: wordsOf('declined refused rejected denied'),
  challenge_passed: wordsOf('challenge_passed challenge_succeeded'),
  challenge_failed: wordsOf('challenge_failed'),
};

function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/);
}

type Meanings<T> = ReadonlyMap<string, T>;

export const BOOLEAN_WORDS: Meanings<boolean> = meanings([
  [true, YES_WORDS],
  [false, NO_WORDS],
]);
/** True: fraud. False: legitimate. */
export const LABEL_WORDS: Meanings<boolean> = meanings([
  [true, [...FRAUD_WORDS, ...YES_WORDS]],
  [false, [...LEGITIMATE_WORDS, ...NO_WORDS]],
]);
export const OUTCOME_MEANINGS: Meanings<Outcome> = meanings(
  Object.entries(OUTCOME_WORDS).map(([outcome, words]) => [outcome as Outcome, words] as const),
);

function meanings<T>(pairs: readonly (readonly [meaning: T, words: readonly string[]])[]): Meanings<T> {
  return new Map(pairs.flatMap(([meaning, words]) => words.map((word) => [word.normalize('NFC'), meaning] as const)));
}

/** Returns what a word means, in any case, with spaces or hyphens for `_`; undefined if it is not in the table. */
export function meaningOf<T>(words: Meanings<T>, word: string): T | undefined {
  return words.get(
    word
      .trim()
      .normalize('NFC')
      .toLowerCase()
      .replaceAll(/(?<=\p{L})[\s-]+(?=\p{L})/gu, '_'),
  );
}

/** A word without a meaning. Rows count from 1, without the header and empty lines. */
export interface UnknownWord {
  readonly count: number;
  readonly firstRow: number;
}

/** Choice: different words that are counted; the rest has one count. */
const UNKNOWN_WORDS_MAX = 20;
const OTHER_WORDS = '(others)';
/** Choice: a value of a wrongly mapped column may be a whole page. */
const UNKNOWN_WORD_CHARACTERS_MAX = 64;

/** Counts a word without a meaning. */
export function addUnknownWord(unknowns: Map<string, UnknownWord>, word: string, row: number): void {
  const name = word.trim().toLowerCase().slice(0, UNKNOWN_WORD_CHARACTERS_MAX);
  const counted = unknowns.has(name) || unknowns.size < UNKNOWN_WORDS_MAX ? name : OTHER_WORDS;
  const before = unknowns.get(counted);
  unknowns.set(counted, { count: (before?.count ?? 0) + 1, firstRow: before?.firstRow ?? row });
}
