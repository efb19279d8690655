import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../support/manage.ts';
import { type SharedServer, sharedServer } from '../support/shared-server.ts';

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: { readonly FieldError: { readonly properties: { readonly code: { readonly enum: string[] } } } };
  };
}

const FILE = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
const API = fileURLToPath(new URL('../../docs/api.md', import.meta.url));
const text = readFileSync(FILE, 'utf8');
const document = JSON.parse(text) as OpenApi;
const METHODS = ['options', 'get', 'put', 'post', 'delete', 'patch'];

describe('docs/openapi.json', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test.each(Object.keys(document.paths))(
    'docs/openapi.json has the methods of %s that the server accepts',
    async (path) => {
      const documented = Object.keys(document.paths[path] ?? {}).filter((name) => METHODS.includes(name));
      const target = path.replaceAll(/\{\w+\}/g, 'a'.repeat(64));
      const refused = await bearer(server.url, server.secretKey, 'TRACE', target);
      expect([refused.status, refused.headers['allow']?.split(', ').sort()]).toEqual([
        405,
        // HEAD is available wherever GET is, and is documented once for all paths.
        [...documented, ...(documented.includes('get') ? ['head'] : [])].map((method) => method.toUpperCase()).sort(),
      ]);
    },
  );

  test('docs/openapi.json has the same codes of invalid fields as api.md', () => {
    const [, paragraph = ''] = /\n(Wrong fields are 422[^]*?)\n\n/.exec(readFileSync(API, 'utf8')) ?? [];
    const refusals = ['validation_failed', 'invalid_request'];
    const codes = [...paragraph.matchAll(/`([a-z]+_[a-z_]+|required)`/g)].map(([, code = '']) => code);
    expect(codes.filter((code) => !refusals.includes(code))).toEqual(
      document.components.schemas.FieldError.properties.code.enum,
    );
  });

  test('docs/openapi.json has no reference to a missing part', () => {
    const references = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(references.length).toBeGreaterThan(20);
    const held = (reference: string): unknown =>
      reference
        .split('/')
        .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document);
    expect(references.filter((reference) => held(reference) === undefined)).toEqual([]);
  });
});
