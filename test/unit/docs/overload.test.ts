import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OVERLOAD_REASONS } from '../../../src/contract/problem.ts';

test('docs/overload.md has a row for each reason of overloaded, and no other', () => {
  const page = readFileSync('docs/overload.md', 'utf8');
  const table = page.slice(page.indexOf('## `overloaded`'));
  const rows = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, reason]) => reason);
  expect(rows.filter((reason) => reason !== 'reason')).toEqual([...OVERLOAD_REASONS]);
});
