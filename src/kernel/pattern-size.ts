/** Bounds the work of compiling a pattern before it is compiled. */

const ESCAPE = String.raw`\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|.)`;
const CLASS = String.raw`\[(?:\\.|[^\]\\])*\]`;
const GROUP = String.raw`\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?`;
const QUANTIFIER = String.raw`[*+?]|\{\d+(?:,\d*)?\}`;
const TOKENS = new RegExp(`${ESCAPE}|${CLASS}|${GROUP}|${QUANTIFIER}|.`, 'gsu');

/** Returns the length of a valid pattern after expanding every repeat: `(ab{3}){2}` has about 10. Takes a single pass. */
export function repeatedSize(source: string): number {
  // For each open group: the size before its last part, and the size of that part, to which a quantifier may apply.
  const outer: { before: number; last: number }[] = [];
  let level = { before: 0, last: 0 };
  for (const [token] of source.matchAll(TOKENS)) {
    const repeats = /^\{(\d+)(,?)(\d*)\}$/.exec(token);
    if (repeats !== null) {
      const [, least, comma, most] = repeats;
      level.last *= Math.max(1, Number(most === '' ? least : most)) + (comma !== '' && most === '' ? 1 : 0);
    } else if (token === '*' || token === '+' || token === '?') level.last++;
    else if (token.startsWith('(')) {
      outer.push(level);
      level = { before: 0, last: 0 };
    } else if (token === ')') {
      const inner = level.before + level.last;
      level = outer.pop() ?? { before: 0, last: 0 };
      level = { before: level.before + level.last, last: inner + 1 };
    } else level = { before: level.before + level.last, last: 1 };
  }
  return level.before + level.last;
}
