import { countOf } from '../../format.ts';

/** What a person pastes into the fields of a named list. */

/** Source: contract, 7.6. */
export const VALUES_PER_CALL = 10_000;
/** Choice: ten calls at most; larger files are for the command line. */
export const PASTED_MAX = 100_000;

/** A value as the API takes it. */
export type GivenValue = string | { readonly value: string; readonly expires_at: number };

/** Reads values, one a line, with `#` before comments of a whole line. */
export function readValues(text: string): readonly string[] {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))];
}

/** The sentence about what a write did. */
export function changedWords(added: number, removed: number, rejected: number): string {
  const parts = [
    added > 0 ? `${countOf(added, 'item')} added` : '',
    removed > 0 ? `${countOf(removed, 'item')} removed` : '',
    rejected > 0 ? `${countOf(rejected, 'value')} rejected` : '',
  ].filter(Boolean);
  return parts.length === 0 ? 'Nothing changed' : parts.join(', ');
}
