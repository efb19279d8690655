import { describe, expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../src/extract/base/connector.ts';
import { readHtml } from '../../../../src/extract/read/html.ts';
import { readSelectPlan, type SelectPlan } from '../../../../src/extract/select/field-plan.ts';
import { schemaOfFields } from '../../../../src/extract/select/field-schema.ts';
import { readSelected } from '../../../../src/extract/select/read-fields.ts';
import { SELECT_STEPS_MAX, SelectStepsSpent } from '../../../../src/extract/select/select-budget.ts';
import { faultsOf } from '../../../conformance/records.ts';

const URL_OF = 'https://shop.example/cups/';

function planOf(input: JsonObject): SelectPlan {
  const read = readSelectPlan(input);
  if (read.kind === 'fault') throw new Error(`${read.pointer}: ${read.message}`);
  return read.plan;
}

function rowsOf(markup: string, input: JsonObject): readonly JsonObject[] {
  const plan = planOf(input);
  const rows = readSelected(plan, readHtml(markup, URL_OF)).rows.map(({ fields }) => fields);
  for (const row of rows) expect(faultsOf(schemaOfFields(plan.fields), row)).toEqual([]);
  return rows;
}

/** Returns the value of one field of a page. */
function valueOf(markup: string, field: JsonValue): JsonValue | undefined {
  return rowsOf(markup, { fields: { a: field } })[0]?.['a'];
}

const SHOP = `<ul>
<li class="p" data-id="1"><h3><a href="tea">Tea <b>cup</b></a></h3><span class="price">€ 12,50</span><i class="tag">new</i><i class="tag">blue</i>
  <div class="r"><i>5</i><p>Good</p></div><div class="r"><i>none</i><p>Bad</p></div></li>
<li class="p" data-id="2"><h3>Pot</h3></li></ul><a rel="next nofollow" href="?page=2">Next</a>`;

describe('readSelected', () => {
  test('reads records with texts, attributes, links, money, lists and objects', () => {
    const fields = {
      id: { attr: 'data-id' },
      title: 'h3',
      link: { select: 'h3 a', type: 'url' },
      price: { select: '.price', type: 'money' },
      reviews: { each: '.r', fields: { stars: { select: 'i', type: 'number' }, text: 'p' } },
      tags: { select: '.tag', list: true },
    };
    const found = readSelected(planOf({ each: 'li.p', next: 'a[rel~=next]', fields }), readHtml(SHOP, URL_OF));
    expect(found.next).toBe('https://shop.example/cups/?page=2');
    expect(rowsOf(SHOP, { each: 'li.p', fields })).toEqual([
      {
        id: '1',
        title: 'Tea cup',
        link: 'https://shop.example/cups/tea',
        price: { amount: 12.5, currency: 'EUR' },
        reviews: [
          { stars: 5, text: 'Good' },
          { stars: null, text: 'Bad' },
        ],
        tags: ['new', 'blue'],
      },
      { id: '2', title: 'Pot', link: null, price: null, reviews: [], tags: [] },
    ]);
  });

  test.each<[string, JsonValue, JsonValue]>([
    ['<p>a</p><p>b</p>', 'p', 'a'],
    ['<p>a<br>b</p>', { select: 'p', type: 'lines' }, 'a\nb'],
    ['<p>a <b>b</b></p>', { select: 'p', type: 'markdown' }, 'a **b**'],
    ['<p onclick="x()" class="c"><b>b</b><script>x()</script></p>', { select: 'p', type: 'html' }, '<b>b</b>'],
    ['<img src="x.png">', { select: 'img', type: 'url' }, 'https://shop.example/cups/x.png'],
    ['<a href="javascript:x()">', { select: 'a', type: 'url' }, null],
    ['<b data-n="1.299,5">x</b>', { select: 'b', attr: 'DATA-N', type: 'number' }, 1299.5],
    ['<b>3.9</b>', { select: 'b', type: 'integer' }, 3],
    ['<time datetime="2026-01-31">today</time>', { select: 'time', type: 'date' }, '2026-01-31T00:00:00Z'],
    ['<b>31 January 2026</b>', { select: 'b', type: 'date' }, '2026-01-31T00:00:00Z'],
    ['<b></b>', { select: 'b', type: 'exists' }, true],
    ['<b></b>', { select: 'i', type: 'exists' }, false],
    ['<input checked>', { select: 'input', type: 'exists', attr: 'checked' }, true],
    ['<input>', { select: 'input', type: 'exists', attr: 'checked' }, false],
    ['<b>In stock</b>', { select: 'b', type: 'boolean' }, true],
    ['<b>no</b>', { select: 'b', type: 'boolean' }, false],
    ['<b>perhaps</b>', { select: 'b', type: 'boolean' }, null],
    ['<b>SKU 12-34</b>', { select: 'b', pattern: '(\\d+)-' }, '12'],
    ['<b>SKU 12-34</b>', { select: 'b', pattern: '\\d+-\\d+' }, '12-34'],
    ['<b>SKU</b>', { select: 'b', pattern: '\\d+', default: 'none' }, 'none'],
    ['<b>x</b>', { select: 'b', type: 'number', default: 0 }, 0],
    ['<b>x</b>', { select: 'i' }, null],
    ['<b>1</b><i>x</i><b>2</b>', { select: 'b', list: true, type: 'number' }, [1, 2]],
    ['<b>x</b>', { select: 'b', fields: { self: {}, inner: 'i' } }, { self: 'x', inner: null }],
    ['<b>x</b>', { select: 'i', fields: { self: {} } }, null],
    ['<b>x</b>', { type: 'text' }, 'x'],
    ['<template><b>x</b></template>', 'b', null],
  ])('in %j, the field %j is %j', (markup, field, value) => {
    expect(valueOf(markup, field)).toEqual(value);
  });

  test('selectors within an element see only what is below it, and :scope is that element', () => {
    const markup = '<div class="x"><p>1<b>2</b></p></div><div><p>3</p><b>4</b></div>';
    const fields = { outer: 'div b', direct: ':scope > b', child: '> p', self: ':scope' };
    expect(rowsOf(markup, { each: 'div', fields })).toEqual([
      { outer: '2', direct: null, child: '12', self: '12' },
      { outer: '4', direct: '4', child: '3', self: '3 4' },
    ]);
  });

  test('selectors within an element may lead to the elements after it', () => {
    const markup = '<dl><dt>a<dd>1<dt>b<dt>c<dd>3</dl>';
    expect(rowsOf(markup, { each: 'dt', fields: { name: {}, value: '+ dd' } })).toEqual([
      { name: 'a', value: '1' },
      { name: 'b', value: null },
      { name: 'c', value: '3' },
    ]);
  });

  test('a plan reads one page after the other, each with all its steps', () => {
    const plan = planOf({ fields: { a: ':not(:has(> *))' } });
    for (const text of ['x', 'y']) {
      const { rows } = readSelected(plan, readHtml(`<p><b>${text}</b></p>`, URL_OF));
      expect(rows[0]?.fields).toEqual({ a: text });
      expect(plan.budget.spent).toBeGreaterThan(0);
      expect(plan.budget.spent).toBeLessThan(100);
    }
  });
});

const FLAT = '<p>'.repeat(120_000);
const DEEP = `${'<div>'.repeat(240)}${'<i>x</i>'.repeat(500)}${'</div>'.repeat(240)}`.repeat(150);
const LONG_CLASS = `<p class="${'a '.repeat(20_000)}">`.repeat(40);
/** White space between comments is nodes without text. */
const BLANKS = `${'<u>'.repeat(200)}${' <!---->'.repeat(100_000)}`;
const LONG_TEXT = `<u>${'0'.repeat(1_000_000)}</u>`;

const HOSTILE: readonly (readonly [name: string, markup: string, input: JsonObject])[] = [
  ['siblings', FLAT, { fields: { a: { select: 'p ~ b ~ p', list: true } } }],
  ['positions', FLAT, { fields: { a: { select: 'p:nth-child(2n+1)', list: true } } }],
  ['last positions', FLAT, { fields: { a: { select: 'p:nth-last-of-type(7)', list: true } } }],
  ['no later siblings', FLAT, { fields: { a: { select: ':not(:has(~ *))', list: true } } }],
  ['ancestors', DEEP, { fields: { a: { select: 'u div div div div i', list: true } } }],
  ['descendants', DEEP, { each: 'div', fields: { a: 'div:has(b)' } }],
  ['nested records', DEEP, { each: 'div', fields: { a: { type: 'text' } } }],
  ['nested Markdown', DEEP, { each: 'div', fields: { a: { type: 'markdown' } } }],
  ['nested HTML', DEEP, { each: 'div', fields: { a: { type: 'html' } } }],
  ['later siblings of records', FLAT, { each: 'p', fields: { a: '~ i' } }],
  ['long attributes', LONG_CLASS, { fields: Object.fromEntries(fieldsOf(60, '[class~=b]')) }],
  ['blank texts', BLANKS, { each: 'u', fields: Object.fromEntries(fieldsOf(60, ':scope')) }],
  [
    'patterns',
    LONG_TEXT,
    {
      fields: Object.fromEntries(
        fieldsOf(60, 'u').map(([name, select]) => [name, { select, pattern: '(0|00|[01]*)*1$' }]),
      ),
    },
  ],
];

function fieldsOf(count: number, select: string): readonly (readonly [string, JsonValue])[] {
  return Array.from({ length: count }, (_, at) => [`f${at}`, select]);
}

describe('selectors and pages that are made to be slow', () => {
  test.each(HOSTILE)('%s end when their steps are spent', (_, markup, input) => {
    const plan = planOf(input);
    const page = readHtml(markup, URL_OF);
    expect(() => readSelected(plan, page)).toThrow(SelectStepsSpent);
    expect(plan.budget.spent).toBeGreaterThan(SELECT_STEPS_MAX);
  });
});
