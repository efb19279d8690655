import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PAGE } from '../../../../src/contract/parameters.ts';
import type { EndpointRequest } from '../../../../src/api/kit/endpoint-types.ts';
import { Cursors, readPage } from '../../../../src/api/kit/paging.ts';

const cursors = new Cursors(Buffer.alloc(32, 1));

function read(query: string, customer = 7): ReturnType<typeof readPage<typeof PAGE>> {
  const request = { query: new URLSearchParams(query), caller: { customer } } as EndpointRequest;
  return readPage(request, cursors, '/v1/things', PAGE);
}

describe('cursors', () => {
  test('A cursor returns its position only on its route, for its customer, under its key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (place, customer) => {
        const cursor = cursors.issue('/v1/things', customer, place);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(cursors.read('/v1/things', customer, cursor)).toBe(place);
        expect(cursors.read('/v1/things', customer + 1, cursor)).toBeNull();
        expect(cursors.read('/v1/others', customer, cursor)).toBeNull();
        expect(new Cursors(Buffer.alloc(32, 2)).read('/v1/things', customer, cursor)).toBeNull();
      }),
    );
  });

  test('A cursor with any one character changed, added or removed is invalid', () => {
    const cursor = cursors.issue('/v1/things', 7, 'ab'.repeat(32));
    for (let at = 0; at < cursor.length; at++) {
      const other = cursor[at] === 'A' ? 'B' : 'A';
      for (const middle of [other, '', `${cursor[at] ?? ''}A`, `${cursor[at] ?? ''}=`, `${cursor[at] ?? ''} `]) {
        const changed = cursor.slice(0, at) + middle + cursor.slice(at + 1);
        expect([changed, cursors.read('/v1/things', 7, changed)]).toEqual([changed, null]);
      }
    }
    for (const broken of ['', '=', 'AAAA', 'ü', '!']) expect(cursors.read('/v1/things', 7, broken)).toBeNull();
  });
});

describe('a page', () => {
  test('A page needs no parameter', () => {
    expect(read('')).toMatchObject({ kind: 'page', limit: 100, after: null });
    expect(read('unknown=1&limit=1000')).toMatchObject({ kind: 'page', limit: 1_000, after: null });
    expect(read(`cursor=${cursors.issue('/v1/things', 7, 'x')}&limit=1`)).toMatchObject({
      kind: 'page',
      limit: 1,
      after: 'x',
    });
  });

  test.each(['0', '1001', '-1', '1.5', '01', '1e2', '', ' 1', 'ten', '99999'])('The limit "%s" gives 400', (limit) => {
    expect(read(`limit=${limit}`)).toMatchObject({
      kind: 'problem',
      problem: { status: 400, code: 'invalid_request', errors: [{ pointer: '?limit', code: 'invalid_value' }] },
    });
  });

  test('A broken cursor gives 400, and so does the cursor of another customer', () => {
    for (const cursor of ['', 'AAAA', cursors.issue('/v1/things', 8, 'x')]) {
      expect(read(`cursor=${cursor}`)).toMatchObject({
        kind: 'problem',
        problem: { status: 400, code: 'invalid_request', errors: [{ pointer: '?cursor' }] },
      });
    }
  });
});
