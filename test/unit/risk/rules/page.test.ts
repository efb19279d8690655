import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';

const PAGE = readFileSync('docs/rules.md', 'utf8');

/** The rows of the tables of rules, by the code in their first cell. The table of titles has fewer cells. */
const ROWS = new Map(
  PAGE.slice(PAGE.indexOf('\n## All rules'), PAGE.indexOf('\n## Tuning'))
    .split('\n')
    .flatMap((line) => {
      const [, first = '', ...cells] = line.split('|').map((cell) => cell.trim());
      const code = /^`(\w+)`$/.exec(first)?.[1];
      return code === undefined || cells.length < 4 ? [] : [[code, cells] as const];
    }),
);

/** Weights as the page writes them: `.62`, or `0`. */
function weightText(weight: number): string {
  return weight === 0 ? '0' : weight === 1 ? 'BLOCK, 100' : weight.toFixed(2).slice(1);
}

function withoutMarkup(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}

describe('docs/rules.md', () => {
  it('docs/rules.md has every rule once, in the order of their table, and no other', () => {
    expect([...ROWS.keys()]).toEqual(RULES.map(({ code }) => code));
  });

  it.each(RULES.map((rule) => [rule.code, rule] as const))(
    'docs/rules.md has the weights, the thresholds and what quiets it of %s',
    (code, rule) => {
      const [weights = '', , quietedBy = '', thresholds = ''] = ROWS.get(code) ?? [];
      const levels = Object.entries(rule.weights).map(
        ([level, weight]) => `${level === 'default' ? '' : `\`${level}\` `}${weightText(weight)}`,
      );
      expect(weights.split('; ').map((text) => text.replace(/ · p$|, ALLOW$/, ''))).toEqual(levels);
      const named = Object.entries(rule.thresholds ?? {}).map(([name, value]) => `\`${name}\` ${value}`);
      expect(withoutMarkup(quietedBy)).toBe(rule.quietedBy);
      expect(thresholds).toBe(named.length === 0 ? '–' : named.join(', '));
    },
  );
});
