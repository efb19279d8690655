import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/extract/base/connector.ts';
import {
  at,
  idOf,
  integerOf,
  readEach,
  textMember,
  textsOf,
  urlOf,
} from '../../../../../src/extract/connectors/kit/json.ts';

describe('readers for JSON from other parties', () => {
  it('at finds the value at a path, and nothing that every object inherits', () => {
    expect(at({ a: { b: 5 } }, 'a', 'b')).toBe(5);
    for (const path of [['constructor'], ['a', 'toString'], ['a', 'b', 'c'], ['__proto__']]) {
      expect(at({ a: { b: 5 } }, ...path)).toBeUndefined();
    }
    expect(at([1], '0')).toBeUndefined();
  });

  it('textOf accepts texts that are not blank, and idOf accepts strings and numbers', () => {
    expect([textMember('x'), textMember(' '), textMember(5), textMember(null)]).toEqual(['x', null, null, null]);
    expect([idOf(5), idOf('5'), idOf(1.5), idOf(2 ** 60), idOf({})]).toEqual(['5', '5', null, null, null]);
    expect([integerOf('12'), integerOf(-3), integerOf('1e3'), integerOf(0.5), integerOf(true)]).toEqual([
      12,
      -3,
      null,
      null,
      null,
    ]);
    expect([textsOf(['a', 5, '']), textsOf({})]).toEqual([['a'], null]);
  });

  it.each([
    ['https://x.example/a', 'https://x.example/a'],
    ['//x.example/a', 'https://x.example/a'],
    ['/a', 'https://base.example/a'],
  ])('urlOf resolves %s', (text, url) => expect(urlOf(text, 'https://base.example/b/')).toBe(url));

  it.each(['javascript:alert(1)', 'mailto:a@b.example', 'data:text/html,x', 'http://[', '', 5, null])(
    'urlOf returns null for %j',
    (value) => expect(urlOf(value, 'https://base.example/')).toBeNull(),
  );

  it('readEach omits unreadable items, but fails if all are unreadable', () => {
    const read = (item: JsonObject) => textMember(item['id']);
    expect(readEach([{ id: 'a' }, {}, null, 5], read)).toEqual(['a']);
    expect(readEach([], read)).toEqual([]);
    expect(() => readEach([{}, null], read)).toThrow('none of 2 items');
  });
});
