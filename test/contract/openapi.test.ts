import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { startServer, type RunningServer } from '../support/server.ts';

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const FILE = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
const text = readFileSync(FILE, 'utf8');
const document = JSON.parse(text) as OpenApi;
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

describe('docs/openapi.json', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.stop());

  test.each(Object.keys(document.paths))('has the methods of %s that the server takes', async (path) => {
    const documented = Object.keys(document.paths[path] ?? {}).filter((name) => METHODS.includes(name));
    const target = path.replaceAll(/\{\w+\}/g, 'a'.repeat(64));
    const refused = await bearer(server.url, server.secretKey, 'TRACE', target);
    expect([refused.status, refused.headers['allow']?.split(', ').sort()]).toEqual([
      405,
      documented.map((method) => method.toUpperCase()).sort(),
    ]);
  });

  test('refers to nothing that it does not hold', () => {
    const references = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(references.length).toBeGreaterThan(20);
    const held = (reference: string): unknown =>
      reference
        .split('/')
        .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document);
    expect(references.filter((reference) => held(reference) === undefined)).toEqual([]);
  });
});
