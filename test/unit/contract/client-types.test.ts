import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientTypes, type ApiDocument } from '../../../scripts/client-types.ts';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

test('src/client/api-types.ts is what docs/openapi.json gives: `npm run write:openapi` writes both', () => {
  const document = JSON.parse(read('docs/openapi.json')) as ApiDocument;
  expect(read('src/client/api-types.ts')).toBe(clientTypes(document));
});

test('A schema becomes a type with its nullable, optional and closed members', () => {
  const text = clientTypes({
    paths: {
      '/v1/things': {
        get: {
          operationId: 'listThings',
          summary: 'Things',
          parameters: [{ $ref: '#/components/parameters/Limit', name: '', in: '', schema: {} }],
          responses: { '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } } },
        },
      },
    },
    components: {
      parameters: { Limit: { name: 'limit', in: 'query', schema: { type: 'integer' } } },
      schemas: {
        Thing: {
          type: 'object',
          properties: {
            id: { type: 'string', description: 'Its id' },
            tags: { type: ['array', 'null'], items: { enum: ['a', null] } },
            other: { type: 'object', additionalProperties: { type: 'integer' } },
          },
          required: ['id'],
        },
        Unused: { type: 'string' },
      },
    },
  });
  expect(text).toContain(`  type Thing = {
    /** Its id */
    readonly id: string;
    readonly tags?: readonly ("a" | null)[] | null;
    readonly other?: { readonly [name: string]: number };
  };`);
  expect(text).toContain(`    readonly query: {
      readonly limit?: number;
    };
    readonly body: undefined;
    readonly answer: Api.Thing;`);
  expect(text).not.toContain('Unused');
});
