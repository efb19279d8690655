import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { REASON_TITLES, reasonTitle } from '../../../src/contract/reason-titles.ts';
import { RULES } from '../../../src/risk/rules/rule-table.ts';

/** Choice: fits a column of the decisions at 1,280 pixels. */
const CHARACTERS_MAX = 32;

describe('titles of reasons', () => {
  test('Every rule has a title of its own that fits a column, and no title is left over', () => {
    const codes = [...RULES.map(({ code }) => code), 'missing_session_token', 'test_input'];
    const titled = Object.keys(REASON_TITLES);
    const wrong = [
      ...codes.filter((code) => !titled.includes(code)).map((code) => `src/contract/reason-titles.ts lacks ${code}`),
      ...titled
        .filter((code) => !codes.includes(code))
        .map((code) => `src/contract/reason-titles.ts has ${code}, which is no rule`),
    ];
    expect(wrong).toEqual([]);
    const titles = Object.values(REASON_TITLES);
    expect(new Set(titles).size).toBe(titles.length);
    expect(titles.filter((title) => title.length > CHARACTERS_MAX || !/^[A-Z]/.test(title))).toEqual([]);
  });

  test('The table "Titles" in docs/rules.md has the titles of src/contract/reason-titles.ts', () => {
    const rows = readFileSync('docs/rules.md', 'utf8').matchAll(/^\| `(\w+)` +\| ([^|]+?) +\|$/gm);
    const listed = new Map([...rows].map(([, code = '', title = '']) => [code, title]));
    for (const [code, title] of Object.entries(REASON_TITLES)) expect([code, listed.get(code)]).toEqual([code, title]);
  });

  test('A reason of another build gets its words', () => {
    expect(reasonTitle('ip_new_kind')).toBe('Ip new kind');
    expect(reasonTitle('constructor')).toBe('Constructor');
  });
});
