import { describe, expect, test } from 'vitest';
import type { Exchange, PathParams, Route } from '../../../src/http/exchange.ts';
import { createRouter } from '../../../src/http/router.ts';
import { HEAD } from '../decide/support.ts';

interface Seen {
  readonly status: number;
  readonly fields: string;
  readonly path: string;
  readonly params: PathParams;
}

/** Returns the response to a request on these routes: the route's own path with status 200, or the refusal. */
function ask(path: string, method = 'GET'): Seen {
  let seen: Seen = { status: 0, fields: '', path: '', params: {} };
  const route = (routePath: string, methods: readonly string[]): Route => ({
    path: routePath,
    bodyBytesMax: 10,
    methods: Object.fromEntries(
      methods.map((name) => [
        name,
        (head) => void (seen = { status: 200, fields: '', path: routePath, params: head.params }),
      ]),
    ),
  });
  const router = createRouter(
    [
      route('/v1/lists/{fingerprint_hash}', ['GET', 'DELETE']),
      route('/v1/lists', ['GET', 'POST']),
      route('/v1/lists/batch', ['POST']),
      route('/site/exact', ['GET']),
      route('/v1/things/{id}/parts/{part}', ['GET']),
    ],
    () => {},
    [
      {
        path: '/site',
        handler: (head) => void (seen = { status: 200, fields: '', path: '/site', params: head.params }),
      },
    ],
  );
  const exchange: Exchange = {
    aborted: false,
    remoteAddress: () => '',
    peerAddress: () => '',
    pauseUntil: () => {},
    readBody: () => {},
    send: (status, fields) => void (seen = { status, fields, path: '', params: {} }),
    addFields: () => {},
    sendStream: () => Promise.resolve(),
  };
  router({ ...HEAD, path, method, contentLength: -1 }, exchange);
  return seen;
}

describe('the router', () => {
  test('The router prefers an exact path to a path with parameters', () => {
    expect(ask('/v1/lists')).toMatchObject({ path: '/v1/lists', params: {} });
    expect(ask('/v1/lists/batch', 'POST')).toMatchObject({ path: '/v1/lists/batch', params: {} });
    const refused = ask('/v1/lists/batch', 'GET');
    expect(refused.status).toBe(405);
    expect(refused.fields).toContain('\r\nAllow: POST');
  });

  test('The router passes HEAD to the handler of GET', () => {
    expect(ask('/v1/lists/abc', 'HEAD')).toMatchObject({ status: 200, path: '/v1/lists/{fingerprint_hash}' });
  });

  test('The router passes path parameters, percent-decoded once', () => {
    expect(ask('/v1/lists/abc').params).toEqual({ fingerprint_hash: 'abc' });
    expect(ask('/v1/things/a%2Fb/parts/%2541%C3%BC').params).toEqual({ id: 'a/b', part: '%41ü' });
  });

  test.each([
    ['a malformed encoding', '/v1/lists/%zz'],
    ['a truncated encoding', '/v1/lists/%4'],
    ['encoded bytes that are not UTF-8', '/v1/lists/%ff'],
    ['an empty value', '/v1/lists/'],
    ['a trailing slash', '/v1/lists/abc/'],
    ['one segment too many', '/v1/lists/abc/def'],
    ['another fixed segment', '/v1/things/a/pieces/b'],
    ['an encoded fixed segment', '/v1/%6cists/abc'],
    ['the pattern of a longer path', '/v1/things/a'],
  ])('A path with %s is 404', (_name, path) => {
    expect(ask(path).status).toBe(404);
  });

  test('A subtree has its own path and every path below it, with every method, except paths that are routes', () => {
    for (const path of ['/site', '/site/', '/site/a', '/site/a/b', '/site/%zz']) {
      expect(ask(path, 'PUT')).toMatchObject({ status: 200, path: '/site', params: {} });
    }
    expect(ask('/site/exact')).toMatchObject({ status: 200, path: '/site/exact' });
    for (const path of ['/sitex', '/sit', '/v1/site', '/SITE']) expect(ask(path).status).toBe(404);
  });

  test('Another method on a path with parameters is 405 with Allow', () => {
    for (const method of ['PUT', 'OPTIONS', 'constructor']) {
      const refused = ask('/v1/lists/abc', method);
      expect(refused.status).toBe(405);
      expect(refused.fields).toContain('\r\nAllow: GET, HEAD, DELETE');
    }
    expect(ask('/v1/lists/batch', 'HEAD')).toMatchObject({ status: 405 });
  });
});
