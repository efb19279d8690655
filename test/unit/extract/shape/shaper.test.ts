import { describe, expect, test } from 'vitest';
import { faultsOf, META, RECORD, shaped, shaperOf } from './records.ts';

describe('createShaper', () => {
  test('without options a shaped record is the record itself, with `_meta` last', () => {
    const result = shaperOf({}).shape(RECORD);
    expect(result).toEqual({ kind: 'record', value: RECORD });
    expect(result.kind === 'record' && Object.keys(result.value).at(-1)).toBe('_meta');
  });

  test('a shaped record has the requested fields in their order, mapped over arrays', () => {
    const value = shaped({ fields: ['score', 'tags.name', 'author.home.city', 'id', 'author.name'] });
    expect(value).toEqual({
      score: -5,
      tags: [{ name: 'tea' }, { name: 'cup' }],
      author: { home: { city: 'Bath' }, name: 'Ada' },
      id: 'a1',
    });
    expect(Object.keys(value)).toEqual(['score', 'tags', 'author', 'id']);
  });

  test('a shaped record has the whole object if it is named together with its members', () => {
    expect(shaped({ fields: ['author.name', 'author'] })).toEqual({ author: RECORD['author'] });
    expect(shaped({ fields: ['author', 'author.name'] })).toEqual({ author: RECORD['author'] });
  });

  test('a missing field is null and never absent', () => {
    expect(shaped({ fields: ['author.name', 'data.a.b', 'title'] }, { author: null, title: null })).toEqual({
      author: null,
      data: { a: null },
      title: null,
    });
  });

  test('`_meta` is kept, whatever the fields are', () => {
    expect(shaperOf({ fields: ['id'] }).shape(RECORD)).toEqual({ kind: 'record', value: { id: 'a1', _meta: META } });
    expect(shaped({ fields: ['_meta.id'] })).toEqual({});
  });

  test('renamed fields move to the top level, next to their original position', () => {
    const value = shaped({ fields: ['id', 'author', 'score'], rename: { id: 'key', 'author.home.city': 'town' } });
    expect(value).toEqual({
      key: 'a1',
      author: { name: 'Ada', home: { country: 'GB' } },
      town: 'Bath',
      score: -5,
    });
    expect(Object.keys(value)).toEqual(['key', 'author', 'town', 'score']);
  });

  test('an object whose members were all renamed disappears, so that its name is free', () => {
    expect(shaped({ fields: ['author.name'], rename: { 'author.name': 'author' } })).toEqual({ author: 'Ada' });
  });

  test('an object and its members can be renamed together', () => {
    expect(shaped({ fields: ['author'], rename: { author: 'writer', 'author.name': 'name' } })).toEqual({
      writer: { home: { city: 'Bath', country: 'GB' } },
      name: 'Ada',
    });
  });

  test('a renamed member of list items becomes a list of their values', () => {
    expect(shaped({ fields: ['tags'], rename: { 'tags.name': 'names' } })).toEqual({
      tags: [{ weight: 1 }, { weight: 2 }],
      names: ['tea', 'cup'],
    });
  });

  test('a flat record has dotted names, and arrays are kept', () => {
    expect(shaped({ flatten: true, rename: { author: 'by' } })).toEqual({
      id: 'a1',
      title: 'Tea, "green"',
      'by.name': 'Ada',
      'by.home.city': 'Bath',
      'by.home.country': 'GB',
      score: -5,
      tags: RECORD['tags'],
      'data.x.y': 1,
    });
  });

  test('flat names are the same for a null object, and an open object without members is null', () => {
    expect(shaped({ flatten: true, fields: ['author', 'data'] }, { author: null, data: {} })).toEqual({
      'author.name': null,
      'author.home.city': null,
      'author.home.country': null,
      data: null,
    });
  });

  test('names from the source cannot change prototypes', () => {
    const data = JSON.parse('{"__proto__":{"polluted":1}}') as { readonly [name: string]: null };
    shaped({ flatten: true }, { data });
    shaped({ fields: ['data.__proto__.polluted'] }, { data });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('rejected names', () => {
  test.each([
    ['a name that another field has', { rename: { id: 'title' } }, ['/output/rename/id']],
    ['a name given to two fields', { rename: { id: 'x', title: 'x' } }, ['/output/rename/id', '/output/rename/title']],
    ['a name that its object keeps', { rename: { 'author.name': 'author' } }, ['/output/rename/author.name']],
  ])('names are rejected: %s', (_name, json, pointers) => {
    expect(faultsOf(json)).toEqual(pointers.map((pointer) => [pointer, 'name_collision']));
  });

  test('two fields may swap their names', () => {
    expect(shaped({ fields: ['id', 'title'], rename: { id: 'title', title: 'id' } })).toEqual({
      title: 'a1',
      id: 'Tea, "green"',
    });
  });

  test('names are rejected for `_meta`, for unknown fields, and for members of open objects outside of the fields', () => {
    expect(faultsOf({ rename: { '_meta.id': 'key', 'x.y': 'z', 'data.a': 'b' } })).toEqual([
      ['/output/rename/_meta.id', 'invalid_value'],
      ['/output/rename/x.y', 'unknown_path'],
      ['/output/rename/data.a', 'unknown_path'],
    ]);
    expect(shaped({ fields: ['data.x'], rename: { 'data.x': 'b' } })).toEqual({ b: { y: 1 } });
  });
});
