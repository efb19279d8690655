import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { PROBLEMS } from '../../../src/contract/problem.ts';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import { preflightOf } from '../../../src/contract/endpoints/preflight-endpoints.ts';
import { openApiDocument } from '../../../src/contract/openapi.ts';

const read = (file: string): unknown => JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
const { version } = read('package.json') as { version: string };
const document = JSON.parse(JSON.stringify(openApiDocument(version))) as Record<string, unknown>;

/** Returns all values of members named `wanted`, at any depth. */
function valuesOf(value: unknown, wanted: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [
    ...(name === wanted ? [part] : []),
    ...valuesOf(part, wanted),
  ]);
}

describe('docs/openapi.json', () => {
  test('docs/openapi.json matches the table of endpoints (npm run write:openapi updates it)', () => {
    expect(read('docs/openapi.json')).toEqual(document);
  });

  test('The document is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result.errors).toBeUndefined();
    expect(result.valid).toBe(true);
  });

  test('The document closes no object, so that fields may be added later', () => {
    expect(valuesOf(document, 'additionalProperties')).not.toContain(false);
    expect(valuesOf(document, 'unevaluatedProperties')).toEqual([]);
  });

  test('The document uses every component that it contains', () => {
    const { securitySchemes, ...components } = document['components'] as Record<string, Record<string, unknown>>;
    const held = Object.entries(components).flatMap(([kind, parts]) =>
      Object.keys(parts).map((name) => `#/components/${kind}/${name}`),
    );
    expect(new Set(valuesOf(document, '$ref'))).toEqual(new Set(held));
    const schemes = valuesOf(document['paths'], 'security').flatMap((security) =>
      (security as object[]).flatMap((one) => Object.keys(one)),
    );
    expect(new Set(schemes)).toEqual(new Set(Object.keys(securitySchemes ?? {})));
  });
});

describe('the table of endpoints', () => {
  const endpoints = Object.values(ENDPOINTS);
  const preflights = endpoints.filter(({ cors }) => cors === true).map(preflightOf);

  test('The table of endpoints contains each method and path at most once', () => {
    const calls = endpoints.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(calls).size).toBe(calls.length);
  });

  test('The table of endpoints describes every path parameter and no others', () => {
    for (const { path, params = {} } of endpoints) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect([path, ...Object.keys(params)]).toEqual([path, ...names]);
    }
  });

  test('The table of endpoints describes a body exactly for endpoints that accept one', () => {
    for (const { method, path, body, bodyBytesMax } of endpoints) {
      expect([method, path, body !== undefined]).toEqual([method, path, bodyBytesMax > 0]);
    }
  });

  test('The table of endpoints names every problem code, except that of a read-only dashboard', () => {
    // Sent before /dashboard/api/v1/* leads to an endpoint of the table.
    const named = new Set(['read_only', ...[...endpoints, ...preflights].flatMap(({ problems }) => problems)]);
    expect(Object.keys(PROBLEMS).filter((code) => !named.has(code))).toEqual([]);
  });
});
