import { describe, expect, test } from 'vitest';
import { generic } from '../../../../src/extract/connectors/generic.ts';
import type { Operation, StepResult } from '../../../../src/extract/base/connector.ts';
import { fakeSource } from '../../../support/fake-source.ts';
import { pageText } from '../../../support/pages.ts';
import { ran } from './operation-runs.ts';

export function operation(name: string): Operation {
  const found = generic.operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

const URL_OF = 'https://courier.example/news/bridge';
const at = (text: string): ReadonlyMap<string, string> => new Map([[URL_OF, text]]);

/** Runs the single step that reads the page. */
function step(name: string, text: string, recordsLeft = Infinity): Promise<StepResult> {
  return operation(name).run({ url: URL_OF }, fakeSource(at(text)), { recordsLeft });
}

const REVIEW = '<p itemscope itemtype="https://schema.org/Review"><b itemprop=reviewBody>Good</b></p>';

describe('operations on a single page', () => {
  test('page.article returns a page as an article', async () => {
    const { records } = await ran(operation('page.article'), { url: URL_OF }, at(pageText('article/news.page')));
    expect(records).toEqual([
      expect.objectContaining({
        id: URL_OF,
        fields: expect.objectContaining({
          url: URL_OF,
          byline: 'Ada Quist, Ben Ruiz',
          published_at: '2026-03-02T07:30:00Z',
        }),
      }),
    ]);
  });

  test('page.article reads a plain text with all its characters, and a page that is called plain text as a page', async () => {
    const article = (body: string): Promise<StepResult> => {
      const reply = { headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
      const step = { url: URL_OF };
      return operation('page.article').run(step, fakeSource(new Map([[URL_OF, reply]])), { recordsLeft: 1 });
    };
    const text = 'Key words <to> use\nif (a<b && c>d) &amp; x<p>y.\r\n \r\n   Second &lt; part.\n';
    expect((await article(text)).records[0]?.fields['text']).toBe(
      'Key words <to> use if (a<b && c>d) &amp; x<p>y.\nSecond &lt; part.',
    );
    const page = '\n<!doctype html><p>The harbour is <b>open</b> &amp; free.</p>';
    expect((await article(page)).records[0]?.fields['text']).toBe('The harbour is open & free.');
  });

  test('page.article fails with parse_failed for a page without readable text', async () => {
    const run = ran(operation('page.article'), { url: URL_OF }, at(pageText('article/menu-only.page')));
    await expect(run).rejects.toMatchObject({ reason: 'parse_failed', retryable: false });
  });

  test('page.structured returns the machine-readable data of a page', async () => {
    const { fields } = await ran(operation('page.structured'), { url: URL_OF }, at(pageText('article/news.page')));
    expect(fields.map(({ format, types }) => [format, types])).toEqual([
      ['json_ld', ['WebPage']],
      ['json_ld', ['NewsArticle']],
      ['json_ld', ['Organization']],
      ['open_graph', []],
    ]);
  });

  test('page.links returns the links of a page', async () => {
    const { fields, records } = await ran(
      operation('page.links'),
      { url: URL_OF },
      at(
        '<a href="/a#x">A</a><a href="https://www.courier.example/b"></a><a href="https://x.example/" rel="nofollow">X</a>',
      ),
    );
    expect(records.map(({ id }) => id)).toEqual([
      'https://courier.example/a',
      'https://www.courier.example/b',
      'https://x.example/',
    ]);
    expect(fields.map(({ internal, nofollow, text }) => [internal, nofollow, text])).toEqual([
      [true, false, 'A'],
      [true, false, null],
      [false, true, 'X'],
    ]);
  });

  test("page.tables returns the rows of a page's tables", async () => {
    const { fields } = await ran(operation('page.tables'), { url: URL_OF }, at(pageText('tables/tables.page')));
    expect(fields[0]).toEqual({
      page_url: URL_OF,
      table: 0,
      caption: 'Boats for hire',
      row: 0,
      values: { Boat: 'Dinghy', 'Price / Hour': '10 euros', 'Price / Day': '60' },
      cells: ['Dinghy', '10 euros', '60'],
    });
  });

  test('place.reviews returns the reviews of a page, each with a stable id', async () => {
    const review = { '@type': 'Review', reviewBody: 'Good', author: 'Ada', itemReviewed: { name: 'Café' } };
    const text = `<script type="application/ld+json">${JSON.stringify([review, { ...review, author: 'Ben' }])}</script>`;
    const first = await ran(operation('place.reviews'), { url: URL_OF }, at(text));
    const again = await ran(operation('place.reviews'), { url: URL_OF }, at(text));
    expect(first.fields.map(({ subject, author, url }) => [subject, author, url])).toEqual([
      ['Café', 'Ada', URL_OF],
      ['Café', 'Ben', URL_OF],
    ]);
    expect(new Set(first.records.map(({ id }) => id)).size).toBe(2);
    expect(again.records).toEqual(first.records);
  });

  test('a single-page operation returns everything even if fewer records are wanted, because the output may reject some', async () => {
    const found = await step('page.links', '<a href=1>1<a href=2>2<a href=3>3', 1);
    expect([found.records.length, found.leftOut]).toEqual([3, undefined]);
  });

  test.each([
    ['page.links', Array.from({ length: 20_001 }, (_, i) => `<a href=${i}>1</a>`).join(''), 20_000, 'after the first'],
    ['page.links', `<a href=1>1${'<b>'.repeat(600)}<a href=2>2`, 1, 'too deep'],
    ['page.structured', '<p itemscope><b itemprop=name>x</b></p>'.repeat(1_001), 1_000, 'after the first'],
    ['page.structured', `<p itemscope><b itemprop=name>x</b></p>${'<b>'.repeat(600)}`, 1, 'too deep'],
    ['place.reviews', `${REVIEW}${'<b>'.repeat(600)}${REVIEW}`, 1, 'too deep'],
    ['page.tables', '<table><tr><td>1</table>'.repeat(1_001), 1_000, 'tables'],
    ['page.tables', `<table><tr><td>1</table>${'<b>'.repeat(600)}<table><tr><td>1</table>`, 1, 'too deep'],
  ])('%s reports what was left out', async (name, text, records, told) => {
    const found = await step(name, text);
    expect([found.records.length, found.leftOut]).toEqual([records, expect.stringContaining(told)]);
  });
});

test('an invalid URL is reported as a fault of the url input', () => {
  for (const one of generic.operations)
    expect(one.start({ url: 'mailto:a@b.example' })).toMatchObject({ kind: 'fault', pointer: '/url' });
});
