import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readArticle } from '../../src/extract/read/article.ts';
import { readHtml } from '../../src/extract/read/html.ts';
import { meanOf, scoreWords } from './score.ts';

/** A larger set, read by hand with `GATEHOUSE_GOLD=<folder> npm run test:quality`. CONTRIBUTING.md describes the folder. */
const FOLDER = process.env['GATEHOUSE_GOLD'];

interface Truth {
  readonly url: string;
  readonly page_type: string;
  readonly main_content: string;
}

const FLOORS: Readonly<Record<string, number>> = {
  article: 0.935,
  documentation: 0.92,
  service: 0.8,
  forum: 0.72,
  listing: 0.7,
  collection: 0.62,
  product: 0.6,
};

describe.skipIf(FOLDER === undefined)('the pages of GATEHOUSE_GOLD', () => {
  const folder = FOLDER ?? '';
  const files = FOLDER === undefined ? [] : readdirSync(join(folder, 'truth'));
  const scores = new Map<string, number[]>();
  for (const file of files) {
    const truth = JSON.parse(readFileSync(join(folder, 'truth', file), 'utf8')) as Truth;
    const name = file.replace(/\.json$/, '');
    const html = gunzipSync(readFileSync(join(folder, 'html', `${name}.html.gz`))).toString('utf8');
    const text = readArticle(readHtml(html, truth.url))?.text ?? '';
    const list = scores.get(truth.page_type) ?? [];
    scores.set(truth.page_type, [...list, scoreWords(text, truth.main_content ?? '').f1]);
  }

  test.each(Object.entries(FLOORS))('the mean F1 of the words of %s is at least %d', (kind, floor) => {
    const list = scores.get(kind) ?? [];
    console.log(`${kind}: ${meanOf(list).toFixed(4)} on ${list.length} pages`);
    expect(list.length === 0 ? floor : meanOf(list)).toBeGreaterThanOrEqual(floor);
  });
});
