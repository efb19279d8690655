import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findBadNames } from '../../../src/core/json-names.ts';
import { childPointer, pointerOf } from '../../../src/core/json-pointer.ts';

const pointers = (text: string): readonly string[] => findBadNames(text).map(({ pointer }) => pointer);

describe('names of a JSON text', () => {
  test('that stand twice are found wherever they are', () => {
    expect(pointers('{"a":1,"b":{"c":[{"d":1},{"d":2,"d":3}]},"a":2}')).toEqual(['/b/c/1/d', '/a']);
    expect(pointers('{"a":{"x":1,"x":2},"b":{"x":1}}')).toEqual(['/a/x']);
  });

  test('are compared as they read, not as they are written', () => {
    expect(pointers(String.raw`{"a":1,"\u0061":2}`)).toEqual(['/a']);
    expect(pointers(String.raw`{"a\"":1,"a\\":2,"a":3}`)).toEqual([]);
  });

  test('that a reader of JSON may drop are found', () => {
    expect(pointers('{"__proto__":1,"x":[{"__proto__":{}}]}')).toEqual(['/__proto__', '/x/0/__proto__']);
  });

  test('inside of texts are none', () => {
    expect(pointers(String.raw`{"a":"{\"b\":1,\"b\":2}","b":["b:","b,b","\\"],"c":"b"}`)).toEqual([]);
  });

  test('may nest deeper than any stack', () => {
    expect(pointers('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000))).toEqual([]);
  });

  test('of what was written by JSON.stringify are all good', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('__proto__'));
        expect(findBadNames(text)).toEqual([]);
      }),
    );
  });
});

describe('a pointer', () => {
  test('escapes as RFC 6901 says', () => {
    expect(childPointer('', 'a/b')).toBe('/a~1b');
    expect(childPointer('/x', 'm~n')).toBe('/x/m~0n');
    expect(pointerOf(['a', 0, ''])).toBe('/a/0/');
    expect(pointerOf([])).toBe('');
  });
});
