import type { FactRow } from '../../../../contract/wire-types.ts';
import type { ConditionErrorBody } from './condition-check.ts';

/** Completions at the caret of a condition. */
export interface Completion {
  /** The part of the text that a fact would replace. */
  readonly from: number;
  readonly to: number;
  /** The best first. */
  readonly facts: readonly FactRow[];
}

const COMPLETIONS_MAX = 8;
const NAME_BEFORE = /[A-Za-z_][\w.]*$/;
const NAME_AFTER = /^[\w.]*/;
/** An entity's name is the customer's own: `entity.<name>.devices_24h`. */
const ENTITY = /^entity\.([a-z][\w-]*)\./;
const ENTITY_NAME = '<name>';

/** Returns the facts of which the name or a word in it begins with what is before the caret; null in a text or where nothing fits. */
export function completionAt(text: string, caret: number, facts: readonly FactRow[]): Completion | null {
  const before = text.slice(0, caret);
  if (isInText(before)) return null;
  const typed = NAME_BEFORE.exec(before)?.[0] ?? '';
  if (typed.length < 2) return null;
  const to = caret + (NAME_AFTER.exec(text.slice(caret))?.[0].length ?? 0);
  const entity = ENTITY.exec(typed)?.[1];
  const named = facts.map((fact) =>
    entity === undefined ? fact : { ...fact, name: fact.name.replace(ENTITY_NAME, entity) },
  );
  const wanted = typed.toLowerCase();
  const beginning = named.filter(({ name }) => name.startsWith(wanted));
  const containing = named.filter(({ name }) => name.includes(`.${wanted}`) || name.includes(`_${wanted}`));
  const found = [...beginning, ...containing].slice(0, COMPLETIONS_MAX);
  // Nothing more to write.
  if (found.length === 0 || found[0]?.name === text.slice(caret - typed.length, to)) return null;
  return { from: caret - typed.length, to, facts: found };
}

/** Returns the text with the fact in it, and where the caret then is: at the entity's name if that is still to be written. */
export function complete(
  text: string,
  { from, to }: Completion,
  { name }: FactRow,
): { readonly text: string; readonly caret: number; readonly caretEnd: number } {
  const at = name.indexOf(ENTITY_NAME);
  const caret = at === -1 ? from + name.length : from + at;
  return {
    text: text.slice(0, from) + name + text.slice(to),
    caret,
    caretEnd: at === -1 ? caret : caret + ENTITY_NAME.length,
  };
}

const NAME_WRITTEN = /^\w+(?:\.\w+|\["[^"]*"\])*/;

/** Returns the text with the suggested name in the place of the wrong one, and where the caret then is: behind it. */
export function corrected(
  text: string,
  { line = 1, column = 1, did_you_mean: meant = '' }: ConditionErrorBody,
  facts: readonly FactRow[],
): { readonly text: string; readonly caret: number } {
  const start = offsetOf(text, line, column);
  const written = NAME_WRITTEN.exec(text.slice(start))?.[0] ?? '';
  const isCall = text[start + written.length] === '(';
  const isFunction = isCall && !meant.includes('.') && facts.every(({ name }) => name !== meant);
  // page.pth.startsWith(…): the last part is a function.
  const method = isCall ? written.lastIndexOf('.') : -1;
  const from = isFunction ? start + method + 1 : start;
  const to = start + (isFunction || method === -1 ? written.length : method);
  return { text: text.slice(0, from) + meant + text.slice(to), caret: from + meant.length };
}

function isInText(before: string): boolean {
  let quote = '';
  for (let at = 0; at < before.length; at++) {
    const sign = before[at] ?? '';
    if (quote === '') quote = sign === '"' || sign === "'" ? sign : '';
    else if (sign === '\\') at++;
    else if (sign === quote) quote = '';
  }
  return quote !== '';
}

/** Returns the offset of a line and a column, both from 1. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split('\n').slice(0, line - 1);
  const start = lines.reduce((sum, { length }) => sum + length + 1, 0);
  return Math.min(text.length, start + column - 1);
}
