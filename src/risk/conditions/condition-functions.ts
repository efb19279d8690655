import { RE2JS } from 're2js';
import type { ConditionType } from './condition.ts';
import { lowerAscii, ofOne, ofTwoTexts, type Part, sizeOf } from './condition-operators.ts';

/** The functions of conditions that are no macros. */

/** Choice: a pattern whose program is larger than this is no condition for a person. */
const PROGRAM_SIZE_MAX = 200;
/**
 * Choice: characters of all patterns of one condition after expanding their repeats, counted before anything is compiled.
 * Measured: 4,000 take 8 ms to compile.
 */
export const PATTERNS_SIZE_MAX = 1_000;

interface ConditionFunction {
  readonly type: ConditionType;
  readonly parameters: readonly (readonly ConditionType[])[];
  readonly example: string;
  make(parts: readonly Part<unknown>[]): Part<unknown>;
}

const NOTHING_KNOWN: Part<unknown> = () => undefined;

function ofTexts(example: string, operate: (a: string, b: string) => boolean): ConditionFunction {
  return {
    type: 'boolean',
    parameters: [['text'], ['text']],
    example,
    make: ([a = NOTHING_KNOWN, b = NOTHING_KNOWN]) => ofTwoTexts(a, b, operate),
  };
}

export const CONDITION_FUNCTIONS: ReadonlyMap<string, ConditionFunction> = new Map([
  ['startsWith', ofTexts('page.path.startsWith("/admin")', (a, b) => a.startsWith(b))],
  ['endsWith', ofTexts('email.domain.endsWith(".example")', (a, b) => a.endsWith(b))],
  ['contains', ofTexts('agent.text.contains("Acme")', (a, b) => a.includes(b))],
  [
    'lowerAscii',
    {
      type: 'text',
      parameters: [['text']],
      example: 'page.path.lowerAscii()',
      make: ([a = NOTHING_KNOWN]) => ofOne(a, lowerAscii),
    },
  ],
  [
    'size',
    {
      type: 'number',
      parameters: [['text', 'list', 'numbers']],
      example: 'size(reasons)',
      make: ([a = NOTHING_KNOWN]) => ofOne(a, sizeOf),
    },
  ],
  [
    'timestamp',
    {
      type: 'number',
      parameters: [['text']],
      example: 'timestamp("2026-11-27T00:00:00Z")',
      make: ([a = NOTHING_KNOWN]) => ofOne(a, secondsOf),
    },
  ],
]);

/** All names, also of those that the compiler knows itself. */
export const FUNCTION_NAMES = [...CONDITION_FUNCTIONS.keys(), 'matches', 'has', 'exists', 'all'];

/** Source: RFC 3339. Undefined for other text. */
function secondsOf(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms / 1_000;
}

interface ConditionPattern {
  readonly size: number;
  test(text: string): boolean;
}

/** Returns the pattern, `''` for one that is too large, or what is wrong with it. */
export function patternOf(source: string): ConditionPattern | string {
  try {
    const compiled = RE2JS.compile(source);
    const size = compiled.programSize();
    return size > PROGRAM_SIZE_MAX ? '' : { size, test: (text) => compiled.test(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `The pattern is not one of RE2: ${reason}.`;
  }
}

/** Returns the type with its article, for messages. */
export function withArticle(type: ConditionType, isFirst = false): string {
  const words = { number: 'a number', text: 'a text', boolean: 'true or false', list: 'a list', numbers: 'a list' }[
    type
  ];
  return isFirst ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}
