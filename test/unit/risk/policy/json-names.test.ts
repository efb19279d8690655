import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findBadNames } from '../../../../src/risk/policy/json-names.ts';
import { childPointer, pointerOf } from '../../../../src/kernel/json-pointer.ts';

const pointers = (text: string): readonly string[] => findBadNames(text).map(({ pointer }) => pointer);

describe('names of a JSON text', () => {
  test('Duplicate names of a JSON text are found at any depth', () => {
    expect(pointers('{"a":1,"b":{"c":[{"d":1},{"d":2,"d":3}]},"a":2}')).toEqual(['/b/c/1/d', '/a']);
    expect(pointers('{"a":{"x":1,"x":2},"b":{"x":1}}')).toEqual(['/a/x']);
  });

  test('Names of a JSON text are compared after unescaping', () => {
    expect(pointers(String.raw`{"a":1,"\u0061":2}`)).toEqual(['/a']);
    expect(pointers(String.raw`{"a\"":1,"a\\":2,"a":3}`)).toEqual([]);
  });

  test('Names that JSON parsers may drop are found', () => {
    expect(pointers('{"__proto__":1,"x":[{"__proto__":{}}]}')).toEqual(['/__proto__', '/x/0/__proto__']);
  });

  test('Names inside strings are ignored', () => {
    expect(pointers(String.raw`{"a":"{\"b\":1,\"b\":2}","b":["b:","b,b","\\"],"c":"b"}`)).toEqual([]);
  });

  test('Names may be nested deeper than any call stack', () => {
    expect(pointers('{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000))).toEqual([]);
  });

  test('No text written by JSON.stringify has a bad name', () => {
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
  test('A pointer is escaped according to RFC 6901', () => {
    expect(childPointer('', 'a/b')).toBe('/a~1b');
    expect(childPointer('/x', 'm~n')).toBe('/x/m~0n');
    expect(pointerOf(['a', 0, ''])).toBe('/a/0/');
    expect(pointerOf([])).toBe('');
  });
});
