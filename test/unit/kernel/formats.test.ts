import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENVIRONMENT_FORMATS, FILE_FORMATS } from '../../../src/kernel/formats.ts';

const PAGE = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8');
const SECTION = PAGE.split(/^#{2,3} /m).find((section) => section.startsWith('Format versions\n')) ?? '';

describe('the table of formats', () => {
  test.each(Object.entries(ENVIRONMENT_FORMATS))('The steps of %s lead from version 1 to its version', (_, format) => {
    const expected = Array.from({ length: format.version - 1 }, (_, n) => n + 1);
    expect(format.steps.map(({ from }) => from)).toEqual(expected);
  });

  test.each(Object.values({ ...ENVIRONMENT_FORMATS, ...FILE_FORMATS }))(
    'docs/operating.md lists $path with version $version',
    ({ path, version }) => {
      const rows = SECTION.split('\n').filter((line) => line.startsWith(`| \`${path}\``));
      expect(rows.map((row) => row.split('|')[3]?.trim())).toEqual([String(version)]);
    },
  );
});
