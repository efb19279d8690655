/** Names of months in the languages of the web, as the runtime knows them: long and short, alone and beside a day. */

type Months = ReadonlyMap<string, number>;

/** Choice: languages of Europe and some others that write dates with Latin, Greek or Cyrillic letters. */
const LANGUAGES =
  'af bg bs ca cs cy da de el es et eu fi fr ga gl hr hu id is it lt lv mk ms nb nl nn pl pt ro ru sk sl sq sr sr-Latn sv sw tr uk'.split(
    ' ',
  );

/** Choice: maximum number of languages whose month names are cached. Pages with ever new languages cause them to be rebuilt. */
const LANGUAGES_MAX = 50;
const kept = new Map<string, Months>();
let common: Months | null = null;

/**
 * Returns the month (1 to 12) whose complete name or abbreviation the word is, in the language or in English; undefined if there is none.
 * `language` is a BCP 47 tag; null if it is unknown.
 */
export function monthNamed(word: string, language: string | null): number | undefined {
  return monthsOf(language).get(folded(word));
}

/** The same, but in any language in which the name is known, if it means the same month in all of them: `lis` is none. */
export function monthNamedAnywhere(word: string): number | undefined {
  common ??= commonMonths();
  return common.get(folded(word));
}

function folded(word: string): string {
  return word.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** For an unsupported language the runtime would use the machine's own. */
export function isSupported(language: string): boolean {
  return Intl.DateTimeFormat.supportedLocalesOf([language]).length > 0;
}

function monthsOf(language: string | null): Months {
  const base = language?.split('-', 1)[0]?.toLowerCase() ?? 'en';
  const known = kept.get(base);
  if (known !== undefined) return known;
  const months = new Map<string, number>([['sept', 9]]);
  for (const locale of ['en-US', base].filter(isSupported))
    for (const [name, month] of namesIn(locale)) months.set(name, month);
  if (kept.size >= LANGUAGES_MAX) kept.clear();
  kept.set(base, months);
  return months;
}

function commonMonths(): Months {
  const months = new Map<string, number>();
  const ambiguous = new Set<string>();
  for (const locale of LANGUAGES.filter(isSupported)) {
    for (const [name, month] of namesIn(locale)) {
      if ((months.get(name) ?? month) !== month) ambiguous.add(name);
      months.set(name, month);
    }
  }
  for (const name of ambiguous) months.delete(name);
  return months;
}

function* namesIn(locale: string): Generator<readonly [name: string, month: number]> {
  for (const length of ['long', 'short'] as const) {
    for (const day of [undefined, 'numeric'] as const) {
      const format = new Intl.DateTimeFormat(locale, { month: length, day, timeZone: 'UTC', calendar: 'gregory' });
      for (let month = 1; month <= 12; month++) {
        const parts = format.formatToParts(Date.UTC(2024, month - 1, 15));
        const name = folded(parts.find(({ type }) => type === 'month')?.value ?? '');
        // Some languages number their months: `5月`, `tháng 5`.
        if (!/\d/.test(name)) yield [name.replaceAll(/[^\p{L}]/gu, ''), month];
      }
    }
  }
}
