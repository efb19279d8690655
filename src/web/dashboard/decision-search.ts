import { type DecisionFilters, type FieldReading, readSearchField, unknownFieldFault } from './search-fields.ts';
import { HASH_FORM } from './value-forms.ts';

/** The search text of decisions: words and `name:value` pairs, read here and turned into parameters of `GET /v1/decisions`. */

export interface SearchTerm {
  /** As it was typed. */
  readonly text: string;
  readonly name: string;
  readonly value: string;
}

interface FilteredRow {
  readonly country: string | null;
  readonly score: number;
}

export interface DecisionSearch {
  readonly terms: readonly SearchTerm[];
  readonly filters: DecisionFilters;
  /** Comparisons that the API lacks: the country, and bounds that a whole number does not express. null: every row of a response counts. */
  readonly keeps: ((row: FilteredRow) => boolean) | null;
  /** Parts of the text that cannot be searched for, as sentences. */
  readonly faults: readonly string[];
}

const TERM = /"[^"]*"|(?:[^\s"]|"[^"]*")+/g;
const SCORE = /^score\s*(>=|<=|>|<|=|:)\s*(\d{1,3})$/i;
const SCORE_MAX = 100;
/** An e-mail address without a name before it, as support tickets quote it: no address, country or reason contains an @. */
const EMAIL = /^[^\s"@:]+@[^\s"@:]+$/;

export function readSearch(text: string): DecisionSearch {
  const reader = new SearchReader();
  // Spaces around a comparison belong to it: `score > 70`.
  for (const [typed] of text.replaceAll(/\bscore\s*(>=|<=|>|<|=)\s*/gi, 'score$1').matchAll(TERM)) reader.read(typed);
  return reader.result();
}

/** Collects the terms of one text. */
class SearchReader {
  readonly #terms: SearchTerm[] = [];
  readonly #faults: string[] = [];
  readonly #words: string[] = [];
  #filters: DecisionFilters = {};
  #country: string | null = null;
  /** Scores lie between these bounds, without them. */
  #above = -1;
  #below = SCORE_MAX + 1;

  read(typed: string): void {
    const score = SCORE.exec(typed);
    if (score !== null) {
      const [, sign = '', digits = ''] = score;
      this.#addScore(typed, sign === ':' ? '=' : sign, Number(digits));
      return;
    }
    const colon = typed.indexOf(':');
    const bare = EMAIL.test(typed) ? 'email' : HASH_FORM.test(typed) ? 'fp' : '';
    const name = colon < 1 ? bare : typed.slice(0, colon);
    const value = typed.slice(colon + 1).replaceAll('"', '');
    if (name === '' || value === '') {
      this.#addWord(typed, typed.replaceAll('"', ''));
      return;
    }
    const reading = readSearchField(name, value);
    if (reading !== null) {
      this.#apply(reading);
      this.#terms.push({ text: typed, name: name.toLowerCase(), value });
      return;
    }
    const fault = unknownFieldFault(typed);
    if (fault !== null) this.#faults.push(fault);
    this.#addWord(typed, typed);
  }

  result(): DecisionSearch {
    const [country, above, below] = [this.#country, this.#above, this.#below];
    const q = this.#words.length > 0 ? this.#words.join(' ') : country;
    const isExact = country === null && above === -1 && below === SCORE_MAX + 1;
    return {
      terms: this.#terms,
      filters: q === null ? this.#filters : { ...this.#filters, q },
      keeps: isExact
        ? null
        : (row) => (country === null || row.country === country) && row.score > above && row.score < below,
      faults: this.#faults,
    };
  }

  #addWord(typed: string, word: string): void {
    this.#words.push(word);
    this.#terms.push({ text: typed, name: 'text', value: word });
  }

  /** The API's bounds include their value: rows with exactly 70 are left out on the page. */
  #addScore(typed: string, sign: string, value: number): void {
    this.#terms.push({ text: typed, name: 'score', value: `${sign} ${value}` });
    const bound = Math.min(SCORE_MAX, value);
    if (sign === '>') this.#above = value;
    if (sign === '<') this.#below = value;
    if (sign !== '<' && sign !== '<=') this.#setFilter({ score_min: bound }, 'lower bound');
    if (sign !== '>' && sign !== '>=') this.#setFilter({ score_max: bound }, 'upper bound');
  }

  #apply(reading: FieldReading): void {
    if (reading.kind === 'fault') this.#faults.push(reading.fault);
    else if (reading.kind === 'country') this.#country = reading.country;
    else this.#setFilter(reading.filter, reading.what);
  }

  #setFilter(filter: DecisionFilters, what: string): void {
    const [name] = Object.keys(filter) as (keyof DecisionFilters)[];
    if (name !== undefined && this.#filters[name] !== undefined)
      this.#faults.push(`Only one ${what} can be searched for at a time.`);
    else this.#filters = { ...this.#filters, ...filter };
  }
}

/** The search without one of its terms. */
export function withoutTerm(terms: readonly SearchTerm[], removed: SearchTerm): string {
  return terms
    .filter((term) => term !== removed)
    .map(({ text }) => text)
    .join(' ');
}
