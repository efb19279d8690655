import { describe, expect, test } from 'vitest';
import { faultsOf, META, RECORD, shaped, shaperOf } from './records.ts';

describe('a shaped record', () => {
  test('is the record itself without options, `_meta` last', () => {
    const result = shaperOf({}).shape(RECORD);
    expect(result).toEqual({ kind: 'record', value: RECORD });
    expect(result.kind === 'record' && Object.keys(result.value).at(-1)).toBe('_meta');
  });

  test('has the fields that were asked for, in their order, mapped over arrays', () => {
    const value = shaped({ fields: ['score', 'tags.name', 'author.home.city', 'id', 'author.name'] });
    expect(value).toEqual({
      score: -5,
      tags: [{ name: 'tea' }, { name: 'cup' }],
      author: { home: { city: 'Bath' }, name: 'Ada' },
      id: 'a1',
    });
    expect(Object.keys(value)).toEqual(['score', 'tags', 'author', 'id']);
  });

  test('has the whole of an object that is named beside its members', () => {
    expect(shaped({ fields: ['author.name', 'author'] })).toEqual({ author: RECORD['author'] });
    expect(shaped({ fields: ['author', 'author.name'] })).toEqual({ author: RECORD['author'] });
  });

  test('has null where a field is not there, and never lacks it', () => {
    expect(shaped({ fields: ['author.name', 'data.a.b', 'title'] }, { author: null, title: null })).toEqual({
      author: null,
      data: { a: null },
      title: null,
    });
  });

  test('keeps `_meta`, whatever the fields are', () => {
    expect(shaperOf({ fields: ['id'] }).shape(RECORD)).toEqual({ kind: 'record', value: { id: 'a1', _meta: META } });
    expect(shaped({ fields: ['_meta.id'] })).toEqual({});
  });

  test('carries renamed fields to the top, next to where they stood', () => {
    const value = shaped({ fields: ['id', 'author', 'score'], rename: { id: 'key', 'author.home.city': 'town' } });
    expect(value).toEqual({
      key: 'a1',
      author: { name: 'Ada', home: { country: 'GB' } },
      town: 'Bath',
      score: -5,
    });
    expect(Object.keys(value)).toEqual(['key', 'author', 'town', 'score']);
  });

  test('lets go of an object whose members were all renamed, so that its name is free', () => {
    expect(shaped({ fields: ['author.name'], rename: { 'author.name': 'author' } })).toEqual({ author: 'Ada' });
  });

  test('renames an object and what it holds at once', () => {
    expect(shaped({ fields: ['author'], rename: { author: 'writer', 'author.name': 'name' } })).toEqual({
      writer: { home: { city: 'Bath', country: 'GB' } },
      name: 'Ada',
    });
  });

  test('renames a member of list items to a list of theirs', () => {
    expect(shaped({ fields: ['tags'], rename: { 'tags.name': 'names' } })).toEqual({
      tags: [{ weight: 1 }, { weight: 2 }],
      names: ['tea', 'cup'],
    });
  });

  test('is flat with dotted names, arrays kept', () => {
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

  test('has the same flat names where an object is null, and null for an open object without members', () => {
    expect(shaped({ flatten: true, fields: ['author', 'data'] }, { author: null, data: {} })).toEqual({
      'author.name': null,
      'author.home.city': null,
      'author.home.country': null,
      data: null,
    });
  });

  test('cannot be given prototypes by the source’s names', () => {
    const data = JSON.parse('{"__proto__":{"polluted":1}}') as { readonly [name: string]: null };
    shaped({ flatten: true }, { data });
    shaped({ fields: ['data.__proto__.polluted'] }, { data });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('names are refused', () => {
  test.each([
    ['that another field has', { rename: { id: 'title' } }, ['/output/rename/id']],
    ['that two fields get', { rename: { id: 'x', title: 'x' } }, ['/output/rename/id', '/output/rename/title']],
    ['that an object keeps', { rename: { 'author.name': 'author' } }, ['/output/rename/author.name']],
  ])('%s', (_name, json, pointers) => {
    expect(faultsOf(json)).toEqual(pointers.map((pointer) => [pointer, 'name_collision']));
  });

  test('but not where two fields swap theirs', () => {
    expect(shaped({ fields: ['id', 'title'], rename: { id: 'title', title: 'id' } })).toEqual({
      title: 'a1',
      id: 'Tea, "green"',
    });
  });

  test('for `_meta`, for what no record has, and for members of open objects that are not among the fields', () => {
    expect(faultsOf({ rename: { '_meta.id': 'key', 'x.y': 'z', 'data.a': 'b' } })).toEqual([
      ['/output/rename/_meta.id', 'invalid_value'],
      ['/output/rename/x.y', 'unknown_path'],
      ['/output/rename/data.a', 'unknown_path'],
    ]);
    expect(shaped({ fields: ['data.x'], rename: { 'data.x': 'b' } })).toEqual({ b: { y: 1 } });
  });
});
