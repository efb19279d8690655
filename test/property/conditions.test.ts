import { Environment } from '@marcbachmann/cel-js';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../src/risk/conditions/compile-condition.ts';
import {
  CONDITION_COST_MAX,
  type ConditionNames,
  type ConditionType,
  type ConditionValue,
} from '../../src/risk/conditions/condition.ts';
import { timesInFull } from '../support/long.ts';

/** Conditions against the evaluator of the library whose parser they use, on random expressions and facts, of which some are absent. */

type Given = Readonly<Record<string, ConditionValue>>;

const TYPES: Readonly<Record<string, ConditionType>> = {
  n1: 'number',
  n2: 'number',
  t1: 'text',
  t2: 'text',
  b1: 'boolean',
  b2: 'boolean',
  l1: 'list',
};

const NAMES: ConditionNames<Given> = {
  known: Object.keys(TYPES).map((name) => `f.${name}`),
  fact([root, name = '', more]) {
    const type = TYPES[name];
    if (root !== 'f' || type === undefined || more !== undefined) return null;
    return { name: `f.${name}`, type, meaning: '', absentWhen: '', read: (given) => given[name] };
  },
  list: () => null,
};

const text = fc.constantFrom('', 'a', 'A', 'ab', 'äb', 'b😀');
const number = fc.constantFrom(0, 1, -1, 0.5, 3, 1_000_000);
const values: fc.Arbitrary<Given> = fc.record(
  {
    n1: number,
    n2: number,
    t1: text,
    t2: text,
    b1: fc.boolean(),
    b2: fc.boolean(),
    l1: fc.array(text, { maxLength: 4 }),
  },
  { requiredKeys: [] },
);

const literal = (value: number): string =>
  (Number.isInteger(value) ? `${value}.0` : String(value)).replace(/^-(.*)$/, '(-$1)');

/** Expressions of each type. Excluded is what the two define apart: `%`, divisions by 0, and `lowerAscii` of other letters. */
const expressions = fc.letrec<{ boolean: string; number: string; text: string; list: string }>((tie) => {
  const two = (type: 'boolean' | 'number' | 'text', ...operators: string[]): fc.Arbitrary<string> =>
    fc
      .tuple(tie(type), fc.constantFrom(...operators), tie(type))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`);
  const ternary = (type: 'boolean' | 'number' | 'text'): fc.Arbitrary<string> =>
    fc.tuple(tie('boolean'), tie(type), tie(type)).map(([when, yes, no]) => `(${when} ? ${yes} : ${no})`);
  const method = (...names: string[]): fc.Arbitrary<string> =>
    fc.tuple(tie('text'), fc.constantFrom(...names), tie('text')).map(([on, name, by]) => `${on}.${name}(${by})`);
  return {
    boolean: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      fc.constantFrom('f.b1', 'f.b2', 'true', 'false', 'has(f.n1)', 'has(f.t1)', '!has(f.l1)'),
      two('boolean', '&&', '||', '&&', '||', '==', '!='),
      two('number', '<', '<=', '>', '>=', '==', '!='),
      two('text', '==', '!='),
      tie('boolean').map((one) => `!(${one})`),
      fc.tuple(tie('text'), tie('list')).map(([item, list]) => `(${item} in ${list})`),
      method('startsWith', 'endsWith', 'contains'),
      ternary('boolean'),
      fc
        .tuple(tie('list'), fc.constantFrom('exists', 'all'), fc.constantFrom('==', '!='), tie('text'))
        .map(([list, name, operator, to]) => `${list}.${name}(x, x ${operator} ${to})`),
      fc
        .tuple(tie('list'), fc.constantFrom('exists', 'all'), tie('boolean'))
        .map(([list, name, body]) => `${list}.${name}(y, y.startsWith("a") || ${body})`),
    ),
    number: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom('f.n1', 'f.n2'),
      number.map(literal),
      two('number', '+', '-', '*'),
      fc.tuple(tie('number'), fc.constantFrom('2.0', '(-4.0)')).map(([one, by]) => `(${one} / ${by})`),
      tie('number').map((one) => `(-${one})`),
      fc.oneof(tie('text'), tie('list')).map((one) => `double(size(${one}))`),
      ternary('number'),
    ),
    text: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom('f.t1', 'f.t2'),
      text.map((one) => JSON.stringify(one)),
      tie('text').map((one) => `${one}.lowerAscii()`),
      ternary('text'),
    ),
    list: fc.oneof(
      fc.constant('f.l1'),
      fc.array(tie('text'), { minLength: 1, maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    ),
  };
});

const LIBRARY = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false });

/** Returns what the library finds; undefined when it throws. */
function byLibrary(expression: string, given: Given): unknown {
  const run = LIBRARY.parse(expression);
  try {
    return run({ f: given });
  } catch {
    return undefined;
  }
}

/** Sizes are numbers here; the library has whole numbers apart. */
const ours = (expression: string): string => expression.replaceAll(/double\((size\()/g, '($1');

describe('conditions against the evaluator of the library', () => {
  test('Random expressions have the same result; what the library throws at is unknown', { timeout: 300_000 }, () => {
    const outcomes = { true: 0, false: 0, undefined: 0 };
    fc.assert(
      fc.property(expressions.boolean, values, (expression, given) => {
        const compiled = compileCondition(ours(expression), NAMES);
        if (compiled.kind === 'faults') {
          expect(compiled.faults.map(({ code }) => code)).toEqual(['too_costly']);
          return;
        }
        const result = compiled.condition.evaluate(given);
        outcomes[String(result) as keyof typeof outcomes]++;
        expect(result).toBe(byLibrary(expression, given));
      }),
      { numRuns: timesInFull(3_000) },
    );
    // Each result occurs.
    for (const count of Object.values(outcomes)) expect(count).toBeGreaterThan(100);
  });

  test('Random texts and expressions neither throw nor cost more than their bound', { timeout: 300_000 }, () => {
    const word = fc.constantFrom(
      'f.n1',
      'f.t1',
      'f.l1',
      'g.x',
      '1',
      '"a"',
      '(',
      ')',
      '&&',
      '<',
      '==',
      'in',
      '[',
      ']',
      '?',
      ':',
      '.',
      'has(',
      'x',
      '"',
      '\\',
      '{',
      'null',
      '%',
      '!',
      'size(',
      '.matches("a+")',
      '.exists(x,',
    );
    const noise = fc.array(word, { maxLength: 30 }).map((words) => words.join(' '));
    fc.assert(
      fc.property(
        fc.oneof(noise, expressions.boolean.map(ours), fc.string({ maxLength: 80 })),
        values,
        (expression, given) => {
          const compiled = compileCondition(expression, NAMES);
          if (compiled.kind === 'faults') {
            for (const { line, column, message } of compiled.faults) {
              expect(line).toBeGreaterThanOrEqual(1);
              expect(column).toBeGreaterThanOrEqual(1);
              expect(message).not.toBe('');
            }
            return;
          }
          expect(compiled.condition.cost).toBeLessThanOrEqual(CONDITION_COST_MAX);
          expect([true, false, undefined]).toContain(compiled.condition.evaluate(given));
        },
      ),
      { numRuns: timesInFull(10_000) },
    );
  });
});
