import { expect, test } from 'vitest';
import { blocksOf } from '../../../src/web/dashboard/pages/extractions/markdown-blocks.ts';
import { emptyCount, trialOf } from '../../../src/web/dashboard/pages/extractions/select-words.ts';

const FIELDS = { id: { attr: 'data-id' }, price: '.price' };

test('A trial of own fields reads one page, whatever the input asks for', () => {
  const trial = {
    connector: 'generic',
    operation: 'page.select',
    input: { url: 'shop.example', each: 'li', fields: FIELDS },
    collect: { mode: 'limit', limit: 20 },
  };
  expect(trialOf({ url: 'shop.example', each: 'li', fields: FIELDS, next: 'a', max_pages: 9, max_depth: 3 })).toEqual(
    trial,
  );
  expect(trialOf({ urls: ['shop.example', 'other.example'], each: 'li', fields: FIELDS })).toEqual(trial);
});

test('There is no trial without a page or without fields', () => {
  expect(trialOf({ fields: FIELDS })).toBeNull();
  expect(trialOf({ urls: [], fields: FIELDS })).toBeNull();
  expect(trialOf({ url: 'shop.example' })).toBeNull();
});

test('A field is empty where it is null, absent, or a list of nothing', () => {
  const records = [{ a: null }, {}, { a: [] }, { a: 0 }, { a: '' }, { a: false }, { a: [1] }];
  expect(emptyCount(records, 'a')).toBe(3);
});

test('Markdown is read as headings, paragraphs, items, quotes and code', () => {
  const text = '# Tea\n\nTwo\nlines\n- one\n2. two\n> said\n\n```js\n# no heading\n\n- no item\n```\nend';
  expect(blocksOf(text).map(({ kind, text: shown }) => [kind, shown])).toEqual([
    ['heading', 'Tea'],
    ['text', 'Two\nlines'],
    ['item', 'one'],
    ['item', 'two'],
    ['quote', 'said'],
    ['code', '# no heading\n\n- no item'],
    ['text', 'end'],
  ]);
});

test('Code ends at its own marks only, and without them at the end', () => {
  expect(blocksOf('````\n```\n~~~\n````\nx').map(({ kind }) => kind)).toEqual(['code', 'text']);
  expect(blocksOf('```\nopen').map(({ kind }) => kind)).toEqual(['code']);
});

test('HTML in Markdown is a text, and hostile Markdown has at most 500 blocks', () => {
  expect(blocksOf('<script>alert(1)</script>')).toEqual([{ at: 0, kind: 'text', text: '<script>alert(1)</script>' }]);
  expect(blocksOf('- a\n'.repeat(100_000)).length).toBe(500);
});
