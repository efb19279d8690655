import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TABLES } from '../../../src/state/tables/table-names.ts';

test('docs/privacy.md says of every table how long it keeps a row and how a person is found in it', () => {
  const page = readFileSync(new URL('../../../docs/privacy.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('\n## Tables\n');
  const rows = [...section.matchAll(/^\| `([\w-]+)` +\| `(\w+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(([, ...row]) => row);
  const name = (person: string): string => (person === 'none' || person === 'extracted' ? person : `\`${person}\``);
  expect(rows).toEqual(TABLES.map((one) => [one.name, one.environment, one.kept, name(one.person)]));
});
