import { RE2JS } from 're2js';

/** Choice: longer ones are no patterns that people write. */
const PATTERN_CHARACTERS_MAX = 1_000;
/** Choice: `^[a-z]{1,255}$` has some 510. */
const PROGRAM_SIZE_MAX = 1_000;
/**
 * Characters times the size of the pattern's program, for all patterns of one record.
 * Measured: a pattern made to be slow takes 0.1 µs for each, so a record takes 0.2 s at most.
 */
const STEPS_PER_RECORD_MAX = 2_000_000;

export type CompiledPattern =
  | { readonly kind: 'ok'; readonly pattern: SafePattern }
  | { readonly kind: 'fault'; readonly message: string };

export interface SafePattern {
  readonly programSize: number;
  test(text: string): boolean;
}

/** The patterns of one record took too many steps; the record can't be said to hold to its schema. */
export class TooManySteps extends Error {}

/** How much of a record's steps is left. */
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

/** A pattern of JSON Schema in an engine whose time grows with the text alone; one that it can't take is refused. */
export function compilePattern(source: string): CompiledPattern {
  if (source.length > PATTERN_CHARACTERS_MAX)
    return { kind: 'fault', message: `A pattern must have at most ${PATTERN_CHARACTERS_MAX} characters.` };
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    const programSize = compiled.programSize();
    if (programSize > PROGRAM_SIZE_MAX) return { kind: 'fault', message: 'This pattern repeats too much.' };
    return { kind: 'ok', pattern: { programSize, test: (text) => compiled.test(text) } };
  } catch {
    const message = 'This pattern is not taken: look-around, back references and large repeats are not supported.';
    return { kind: 'fault', message };
  }
}

/**
 * Whether a pattern of names may be run by the platform's own engine, which the library uses for `patternProperties`: no groups, no
 * alternatives, and at most one quantifier, behind an anchor. Such a pattern takes one pass and can't backtrack.
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
