import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONNECTORS } from '../../src/extract/connectors/index.ts';
import { cataloguePage } from './catalogue-page.ts';

const PATH = 'docs/connectors.md';
const BEGIN = '<!-- The catalogue begins. It is written by test/conformance/connectors-page.test.ts. -->';
const END = '<!-- The catalogue ends. -->';

/** Without the width of columns and the folding of lines, which belong to the formatter. */
function bare(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, '---').replaceAll(/\s+/g, ' ').trim();
}

describe('docs/connectors.md', () => {
  const page = readFileSync(PATH, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const [catalogue = '', after = ''] = rest.split(END);

  it('has the catalogue as the connectors have it (CATALOGUE=write writes it, then format)', () => {
    const expected = cataloguePage(CONNECTORS);
    if (process.env['CATALOGUE'] === 'write') {
      writeFileSync(PATH, `${before}${BEGIN}\n\n${expected}\n\n${END}${after}`);
      return;
    }
    expect(bare(catalogue)).toBe(bare(expected));
  });

  it('names, in what it says of adding a connector, files that there are', () => {
    const named = [...(before + after).matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(3);
    for (const path of named) expect(readFileSync(path, 'utf8')).not.toBe('');
  });
});
