import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { withFacts } from '../../../scripts/facts-table.ts';
import { compileCondition } from '../../../src/risk/conditions/compile-condition.ts';
import type { ConditionNames, ConditionValue } from '../../../src/risk/conditions/condition.ts';
import { parsePolicy } from '../../../src/risk/policy/policy-check.ts';

const PAGE = readFileSync('docs/own-rules.md', 'utf8');
const unaligned = (text: string): string => text.replaceAll(/-{3,}/g, '---').replaceAll(/ +/g, ' ');

type Given = Readonly<Record<string, ConditionValue>>;
const NAMES: ConditionNames<Given> = {
  known: [],
  fact: ([name = '']) => ({
    name,
    type: 'boolean',
    meaning: '',
    absentWhen: '',
    read: (given) => given[name],
  }),
  list: () => null,
};

const valueOf = (word: string): ConditionValue => ({ true: true, false: false })[word];

describe('docs/own-rules.md', () => {
  test('The table of facts is the one that conditions are checked with (npm run write:structure updates it)', () => {
    expect(unaligned(PAGE)).toBe(unaligned(withFacts(PAGE)));
  });

  test('The policy in it is valid', () => {
    const [, json = ''] = /```json\n([\s\S]*?)```/.exec(PAGE) ?? [];
    expect(parsePolicy(json)).toMatchObject({ kind: 'ok', warnings: [] });
  });

  test('Its truth table is that of the language', () => {
    const rows = [
      ...PAGE.matchAll(
        /^\| (true|false|unknown) +\| (true|false|unknown) +\| (\w+) +\| (\w+) +\| (\w+) +\| (\w+) +\|$/gm,
      ),
    ];
    expect(rows).toHaveLength(8);
    const evaluate = (when: string, given: Given): ConditionValue => {
      const compiled = compileCondition(when, NAMES);
      if (compiled.kind === 'faults') throw new Error(compiled.faults[0]?.message);
      return compiled.condition.evaluate(given);
    };
    for (const [, a = '', b = '', both = '', either = '', no = '', chosen = ''] of rows) {
      const given = { a: valueOf(a), b: valueOf(b), x: true, y: false };
      const results = ['a && b', 'a || b', '!a', 'a ? x : y'].map((when) => evaluate(when, given));
      const choice = { x: true, y: false }[chosen];
      expect([a, b, ...results]).toEqual([a, b, valueOf(both), valueOf(either), valueOf(no), choice]);
    }
  });
});
