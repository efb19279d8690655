import type { Problem } from '../base/problem.ts';
import { type Decision, DECISIONS } from '../core/decision.ts';
import { SEARCH_TEXT_CHARACTERS_MAX } from '../limits.ts';
import type { ManagedRequest } from './managed.ts';
import { badQuery } from './paging.ts';

/** What both searches of the decision log have in common: `?decision=&q=` and the form of a place in a cursor. */
export type DecisionQuery =
  | { readonly kind: 'ok'; readonly decision: Decision | null; readonly text: string | null }
  | { readonly kind: 'problem'; readonly problem: Problem };

export function readDecisionQuery({ query }: ManagedRequest): DecisionQuery {
  const given = query.get('decision');
  const decision = given === null ? null : DECISIONS.find((value) => value === given);
  if (decision === undefined) {
    return { kind: 'problem', problem: badQuery('decision', `This must be one of ${DECISIONS.join(', ')}.`) };
  }
  const text = (query.get('q') ?? '').trim();
  if (text.length > SEARCH_TEXT_CHARACTERS_MAX) {
    const message = `This must have at most ${SEARCH_TEXT_CHARACTERS_MAX} characters.`;
    return { kind: 'problem', problem: badQuery('q', message) };
  }
  return { kind: 'ok', decision, text: text === '' ? null : text };
}

/** The numbers of a place that a cursor of ours holds; null where another version wrote it in another form. */
export function readPlace(place: string, count: number): readonly number[] | null {
  const numbers = place.split('.').map(Number);
  return numbers.length === count && numbers.every((number) => Number.isSafeInteger(number)) ? numbers : null;
}

export function writePlace(...numbers: readonly number[]): string {
  return numbers.join('.');
}
