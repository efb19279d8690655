import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONNECTORS } from '../../src/extract/connectors/connector-table.ts';
import { cataloguePage } from './catalogue-page.ts';

const PATH = 'docs/connectors.md';
const BEGIN = '<!-- The catalogue begins. It is written by test/conformance/connectors-page.test.ts. -->';
const END = '<!-- The catalogue ends. -->';

/** Normalises column widths and line breaks, which the formatter controls. */
function bare(markdown: string): string {
  return markdown.replaceAll(/-{3,}/g, '---').replaceAll(/\s+/g, ' ').trim();
}

describe('docs/connectors.md', () => {
  const page = readFileSync(PATH, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const [catalogue = '', after = ''] = rest.split(END);

  it('docs/connectors.md contains the current catalogue (CATALOGUE=write updates it; run the formatter afterwards)', () => {
    const expected = cataloguePage(CONNECTORS);
    if (process.env['CATALOGUE'] === 'write') {
      writeFileSync(PATH, `${before}${BEGIN}\n\n${expected}\n\n${END}${after}`);
      return;
    }
    expect(bare(catalogue)).toBe(bare(expected));
  });

  it('The files named in the instructions of docs/connectors.md exist', () => {
    const named = [...(before + after).matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(3);
    for (const path of named) expect(readFileSync(path, 'utf8')).not.toBe('');
  });
});
