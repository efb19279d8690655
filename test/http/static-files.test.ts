import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { get, raw, TRANSPORTS } from '../support/requests.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

const DOCUMENT = JSON.parse(readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')) as unknown;

interface Answer {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

describe.each(TRANSPORTS)('static files over %s', (transport) => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer(transport);
  });

  function ask(headers: Readonly<Record<string, string>>, method = 'GET'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      request(`${server.url}/openapi.json`, { method, headers, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks) }));
      })
        .on('error', reject)
        .end();
    });
  }

  test.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    ['identity', (bytes: Buffer) => bytes],
  ])('GET /openapi.json is the document in the coding %s, with its length and ETag', async (coding, decode) => {
    const { status, headers, body } = await ask({ 'Accept-Encoding': coding });
    expect(status).toBe(200);
    expect(JSON.parse(decode(body).toString())).toEqual(DOCUMENT);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(body.length),
      'cache-control': 'no-cache',
      etag: expect.stringMatching(/^"[\w-]+"$/),
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    });
    expect(headers['content-encoding']).toBe(coding === 'identity' ? undefined : coding);

    const head = await ask({ 'Accept-Encoding': coding }, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect({ ...head.headers, date: '' }).toEqual({ ...headers, date: '' });
  });

  test.each(['GET', 'HEAD'])(
    '%s /openapi.json with a known ETag is 304 without a body and its fields',
    async (method) => {
      const { headers } = await ask({ 'Accept-Encoding': 'br' });
      const known = { 'Accept-Encoding': 'br', 'If-None-Match': `"other", ${String(headers['etag'])}` };
      const { status, headers: fields, body } = await ask(known, method);
      expect([status, body.length]).toEqual([304, 0]);
      expect(fields).toMatchObject({ etag: headers['etag'], 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
      for (const name of ['content-type', 'content-length', 'content-encoding', 'transfer-encoding']) {
        expect(fields).not.toHaveProperty(name);
      }
    },
  );

  test('The connection serves the next request after a 304', async () => {
    const known = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\nIf-None-Match: *\r\n\r\n';
    const last = 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    expect((await raw(server.url, known + last)).statuses).toEqual([304, 200]);
  });

  test.each([
    '/openapi.json/',
    '/openapi.json.br',
    '/openapi.json.gz',
    '/OPENAPI.JSON',
    '/./openapi.json',
    '/../openapi.json',
    '/openapi.json%00',
    '/openapi.json/../main.js',
    '/%2e%2e/package.json',
    '/main.js',
  ])('GET %s is 404, because a file exists at its exact path only', async (path) => {
    const answer = await raw(server.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer.statuses).toEqual([404]);
  });

  test('GET /openapi.json ignores a query', async () => {
    expect((await get(server.url, '/openapi.json?v=1')).status).toBe(200);
  });
});
