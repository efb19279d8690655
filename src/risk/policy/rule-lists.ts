/** Choice: a text in quotes that has this form counts too; it only keeps a list from being deleted. */
const NAMED = /\blist\s*\.\s*(?<name>[a-z][a-z0-9_]{0,39})\b/g;

/** Returns the named lists in a condition, also in one that cannot be compiled. */
export function listsNamedIn(when: string): readonly string[] {
  return [...new Set([...when.matchAll(NAMED)].flatMap(({ groups }) => groups?.['name'] ?? []))];
}
