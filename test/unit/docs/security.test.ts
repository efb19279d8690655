import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/security.md'), 'utf8').replaceAll(/\s+/g, ' ');
/** A file below `test/` in back quotes, a colon, and a title in quotes. */
const CITATIONS = [...PAGE.matchAll(/`([\w/.-]+\.test\.ts)`: "([^"]+)"/g)].map(([, file = '', title = '']) => ({
  file,
  title,
}));

describe('docs/security.md', () => {
  test('The page names a test for each of its statements', () => {
    const statements = PAGE.split(/ (?=- |## )/).filter((line) => line.startsWith('- ') && !line.startsWith('- ['));
    const claims = statements.slice(
      0,
      statements.findIndex((line) => line.includes('reads everything')),
    );
    expect(claims.length).toBeGreaterThan(40);
    expect(claims.filter((line) => !/\.test\.ts`: "/.test(line))).toEqual([]);
  });

  test.each(CITATIONS)('The file $file has a test with the title $title', ({ file, title }) => {
    const path = join(ROOT, 'test', file);
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, 'utf8')).toContain(title.replaceAll("'", "\\'"));
  });
});
