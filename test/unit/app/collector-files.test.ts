import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { scriptHandlers } from '../../../src/api/script-handlers.ts';
import { findCollectorScripts } from '../../../src/app/collector-files.ts';
import { bindRoutes } from '../../../src/http/bind.ts';
import { createRouter } from '../../../src/http/router.ts';
import { serveHandlers, type HandlersServer } from '../../support/handlers-server.ts';

const CLASSIC = 'var gatehouse = 1;\n'.repeat(200);
const ESM = 'export const gatehouse = 1;\n'.repeat(200);
const MANIFEST = {
  version: '1.2.0',
  files: {
    classic: { file: 'collector.js', integrity: 'sha384-a' },
    esm: { file: 'collector.mjs', integrity: 'sha384-b' },
  },
};

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Returns a folder as the build leaves it. */
function built(manifest: unknown = MANIFEST, files: readonly string[] = ['collector.js', 'collector.mjs']): URL {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-collector-'));
  folders.push(folder);
  for (const [name, text] of [
    ['collector.js', CLASSIC],
    ['collector.mjs', ESM],
  ] as const) {
    if (!files.includes(name)) continue;
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
  }
  if (manifest !== null) writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  return pathToFileURL(`${folder}/`);
}

describe('the files of the collector script', () => {
  test('A folder with a manifest has its version and both files', () => {
    const found = findCollectorScripts(built());
    if (found.kind !== 'found') throw new Error(found.detail);
    expect(found.scripts.version).toBe('1.2.0');
    expect(found.scripts.classic().identity.toString()).toBe(CLASSIC);
    expect(gunzipSync(found.scripts.esm().gzip ?? '').toString()).toBe(ESM);
  });

  test.each([
    ['no manifest', null, undefined],
    ['a manifest of another form', { version: 1 }, undefined],
    [
      'a file outside of the folder',
      { ...MANIFEST, files: { ...MANIFEST.files, esm: { file: '../x', integrity: '' } } },
      undefined,
    ],
    ['a version that is no part of a path', { ...MANIFEST, version: '../1' }, undefined],
    ['a missing file', MANIFEST, ['collector.js']],
  ])('A folder with %s has no script', (_name, manifest, files) => {
    const found = findCollectorScripts(built(manifest, files));
    expect(found).toEqual({ kind: 'missing', detail: expect.stringMatching(/./) });
  });
});

describe.each(['uws', 'node'] as const)('the collector script over %s', (transport) => {
  async function serve(folder: URL): Promise<HandlersServer> {
    const found = findCollectorScripts(folder);
    const handlers = scriptHandlers(found.kind === 'found' ? found.scripts : null, () => {});
    const route = createRouter(
      bindRoutes(handlers, () => ''),
      () => {},
    );
    // Every path is routed like that of a running server.
    return serveHandlers(transport, new Proxy({}, { get: () => route }));
  }

  const ask = async (server: HandlersServer, line: string, ...fields: readonly string[]) => {
    const client = server.open();
    client.socket.write(`${[`${line} HTTP/1.1`, 'Host: x', ...fields].join('\r\n')}\r\n\r\n`);
    const response = await client.response(line.startsWith('HEAD'));
    client.socket.destroy();
    return response;
  };
  const field = (header: string, name: string): string | undefined =>
    new RegExp(`^${name}: (.*)$`, 'im').exec(header)?.[1]?.trim();

  test('The newest version is kept for an hour, and a version of its own for a year', async () => {
    const server = await serve(built());
    for (const [path, text, caching] of [
      ['/v1/collector.js', CLASSIC, 'public, max-age=3600'],
      ['/v1/collector.mjs', ESM, 'public, max-age=3600'],
      ['/v1/collector/1.2.0.js', CLASSIC, 'public, max-age=31536000, immutable'],
      ['/v1/collector/1.2.0.mjs', ESM, 'public, max-age=31536000, immutable'],
    ] as const) {
      const { status, header, body } = await ask(server, `GET ${path}`);
      expect([path, status, body.toString(), field(header, 'cache-control')]).toEqual([path, 200, text, caching]);
      expect(field(header, 'content-type')).toBe('text/javascript; charset=utf-8');
      expect(field(header, 'access-control-allow-origin')).toBe('*');
      expect(field(header, 'cross-origin-resource-policy')).toBe('cross-origin');
      expect(field(header, 'x-content-type-options')).toBe('nosniff');
      const head = await ask(server, `HEAD ${path}`);
      expect([head.status, field(head.header, 'content-length')]).toEqual([200, String(text.length)]);
    }
    server.transport.drain();
  });

  test('The script is sent compressed, and a client that has it gets 304', async () => {
    const server = await serve(built());
    const br = await ask(server, 'GET /v1/collector.js', 'Accept-Encoding: gzip, br');
    expect([field(br.header, 'content-encoding'), brotliDecompressSync(br.body).toString()]).toEqual(['br', CLASSIC]);
    const gzip = await ask(server, 'GET /v1/collector.mjs', 'Accept-Encoding: gzip');
    expect([field(gzip.header, 'content-encoding'), gunzipSync(gzip.body).toString()]).toEqual(['gzip', ESM]);
    const etag = field(br.header, 'etag') ?? '';
    expect(etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
    const known = await ask(server, 'GET /v1/collector.js', 'Accept-Encoding: br', `If-None-Match: ${etag}`);
    expect([known.status, field(known.header, 'access-control-allow-origin')]).toEqual([304, '*']);
    server.transport.drain();
  });

  test('Another version, another file and every path of a build without the script are 404', async () => {
    const server = await serve(built());
    for (const path of ['1.1.0.js', '1.2.0.css', '1.2.0', 'manifest.json', '..%2Fmanifest.json', 'collector.js']) {
      expect([path, (await ask(server, `GET /v1/collector/${path}`)).status]).toEqual([path, 404]);
    }
    server.transport.drain();
    const without = await serve(built(null));
    for (const path of ['/v1/collector.js', '/v1/collector.mjs', '/v1/collector/1.2.0.js']) {
      const { status, body } = await ask(without, `GET ${path}`);
      expect([path, status, JSON.parse(body.toString())]).toMatchObject([path, 404, { code: 'not_found' }]);
    }
    without.transport.drain();
  });
});
