/**
 * Characters that a terminal obeys instead of showing them, or that hide or reorder others: control characters of both sets (C0 without tab
 * and ends of lines, C1), separators of lines, and marks of writing direction.
 */
const OBEYED = /(?!\t|\r?\n)[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * Returns text for a terminal: stored text of strangers, such as names and error messages of sites, could otherwise move the cursor, change
 * the title or hide lines. Escapes as JSON does, so that JSON stays JSON.
 */
export function forTerminal(text: string): string {
  return text.replace(OBEYED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
