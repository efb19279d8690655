import { RE2JS } from 're2js';
import { repeatedSize } from '../../kernel/pattern-size.ts';

/** Choice: longer patterns are not written by people. */
const PATTERN_CHARACTERS_MAX = 1_000;
/** Choice: `^[a-z]{1,255}$` has about 510. */
const PROGRAM_SIZE_MAX = 1_000;
/**
 * Maximum number of characters after expanding all repeats, counted before anything is compiled. Choice: above `PROGRAM_SIZE_MAX`, because
 * the engine merges alternatives such as `a|b|c`. Measured: a pattern of this size takes 8 ms to compile; without the limit, 990 characters
 * took 0.2 s.
 */
const REPEATED_SIZE_MAX = 4_000;
/**
 * Limit for characters times the size of the pattern's program, over all patterns of one record.
 * Measured: a pattern made to be slow takes 0.1 µs for each, so a record takes 0.2 s at most.
 */
const STEPS_PER_RECORD_MAX = 2_000_000;

export type CompiledPattern =
  | { readonly kind: 'ok'; readonly pattern: SafePattern }
  | { readonly kind: 'fault'; readonly message: string };

export interface SafePattern {
  readonly programSize: number;
  test(text: string): boolean;
  /** Returns the first group of the first match, or the match if there is no group; null without a match. */
  find(text: string): string | null;
}

/** Thrown when the patterns of one record took too many steps, so its validity is unknown. */
export class TooManySteps extends Error {}

/** Counts the remaining steps of a record. */
export class StepBudget {
  #left = STEPS_PER_RECORD_MAX;

  reset(): void {
    this.#left = STEPS_PER_RECORD_MAX;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new TooManySteps('The patterns take too many steps.');
  }
}

/**
 * Compiles a JSON Schema pattern for an engine whose running time is linear in the text. Rejects patterns that the engine does not support
 * or would interpret differently.
 */
export function compilePattern(source: string): CompiledPattern {
  if (source.length > PATTERN_CHARACTERS_MAX)
    return { kind: 'fault', message: `A pattern must have at most ${PATTERN_CHARACTERS_MAX} characters.` };
  if (!isRegex(source)) return { kind: 'fault', message: 'This is not a valid ECMA-262 pattern with the flag u.' };
  if (repeatedSize(source) > REPEATED_SIZE_MAX) return { kind: 'fault', message: 'This pattern repeats too much.' };
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(translate(source)));
    const programSize = compiled.programSize();
    if (programSize > PROGRAM_SIZE_MAX) return { kind: 'fault', message: 'This pattern repeats too much.' };
    const find = (text: string): string | null => {
      const matcher = compiled.matcher(text);
      return matcher.find() ? matcher.group(matcher.groupCount() > 0 ? 1 : 0) : null;
    };
    return { kind: 'ok', pattern: { programSize, test: (text) => compiled.test(text), find } };
  } catch {
    const message =
      'This pattern is rejected: look-around, back references, flags and large repeats are not supported.';
    return { kind: 'fault', message };
  }
}

/** `\s` of ECMA-262. The engine's own class contains only the ASCII characters. */
const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
/** All other characters: a class within a class cannot be negated. */
const NO_SPACES = String.raw`\x00-\x08\x0e-\x1f\x21-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
/** `.` of ECMA-262. The engine's own matches everything except `\n`. */
const NO_LINE_END = String.raw`[^\n\r\x{2028}\x{2029}]`;

/** Translates the constructs that mean something else in the engine and that `translateRegExp` leaves unchanged. `source` is valid. */
function translate(source: string): string {
  let isInClass = false;
  const parts = /\\u(d[89ab]..)\\u(d[c-f]..)|\\.|\(\?.|./gisu;
  return source.replaceAll(parts, (part, high: string | undefined, low: string | undefined) => {
    if (high !== undefined && low !== undefined) return codePoint(high, low);
    if (part === '\\s') return isInClass ? SPACES : `[${SPACES}]`;
    if (part === '\\S') return isInClass ? NO_SPACES : `[^${SPACES}]`;
    if (isInClass) {
      if (part === ']') isInClass = false;
      // The engine would read `[:alpha:]` as a class of its own.
      return part === '[' ? '\\[' : part === '\\b' ? '\\x08' : part;
    }
    if (part === '[') isInClass = true;
    if (part === '.') return NO_LINE_END;
    // The engine would read `\12` as an octal number and `\k` as a letter.
    if (/^\\[1-9k]|^\(\?[^:<]/.test(part)) throw new Error(`${part} is not supported`);
    return part;
  });
}

/** Joins two escapes that form one character. */
function codePoint(high: string, low: string): string {
  const character = String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16));
  return `\\x{${character.codePointAt(0)?.toString(16)}}`;
}

/**
 * Returns whether a pattern for names may run in the platform's own engine, which the library uses for `patternProperties`: no groups, no
 * alternatives, and at most one quantifier, which requires a leading anchor. Such a pattern takes one pass and cannot backtrack.
 */
export function isPlainNamePattern(source: string): boolean {
  if (source.length > PATTERN_CHARACTERS_MAX) return false;
  // Escapes and classes count as one plain character each.
  const plain = source.replaceAll(/\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)/gsu, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  if (/[()|]/.test(plain)) return false;
  const quantifiers = plain.match(/[*+?]|\{\d+(?:,\d*)?\}/g)?.length ?? 0;
  return (quantifiers === 0 || (quantifiers === 1 && plain.startsWith('^'))) && isRegex(source);
}

function isRegex(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== '';
  } catch {
    return false;
  }
}
