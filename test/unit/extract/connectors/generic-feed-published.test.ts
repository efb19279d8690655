import { Validator } from '@cfworker/json-schema';
import { describe, expect, test } from 'vitest';
import { operationFor, type JsonObject } from '../../../../src/extract/base/connector.ts';
import { feed } from '../../../../src/extract/connectors/feed-connector.ts';
import { generic } from '../../../../src/extract/connectors/generic.ts';

const OPERATIONS = [generic, feed].flatMap(({ id, operations }) => operations.map((operation) => ({ id, operation })));

test('the connectors that read any site offer the promised operations', () => {
  expect(OPERATIONS.map(({ id, operation }) => `${id} ${operation.name}`)).toEqual([
    'generic page.article',
    'generic page.structured',
    'generic page.links',
    'generic page.tables',
    'generic page.state',
    'generic page.select',
    'generic site.urls',
    'generic site.pages',
    'generic site.select',
    'generic site.products',
    'generic place.reviews',
    'feed feed.items',
    'feed company.posts',
  ]);
});

describe.each(OPERATIONS)('$id $operation.name', ({ operation }) => {
  const { input, record, example } = operation;
  const recordForExample = operationFor(operation, example.input).record;

  test('the operation describes every property, requires every record property, and accepts no other input', () => {
    expect(record['required']).toEqual(Object.keys(record['properties'] as JsonObject));
    expect(input).toMatchObject({ type: 'object', additionalProperties: false });
    expect(input['properties']).toHaveProperty('url');
    for (const schema of [input, record])
      for (const property of Object.values(schema['properties'] as JsonObject))
        expect(property).toMatchObject({ description: expect.stringMatching(/\.$/) });
  });

  test('the example of the operation matches both schemas, and starts with one small step', () => {
    expect(new Validator(input, '2020-12', false).validate(example.input)).toMatchObject({ valid: true });
    expect(new Validator(recordForExample, '2020-12', false).validate(example.record)).toMatchObject({ valid: true });
    expect(Object.keys(example.record)).toEqual(Object.keys(recordForExample['properties'] as JsonObject));
    const longest = { ...example.input, url: `https://x.example/${'a'.repeat(700)}/${'b'.repeat(80)}` };
    const begun = operation.start(longest);
    const steps = begun.kind === 'steps' ? begun.steps : [];
    expect(steps).toHaveLength(1);
    expect(JSON.stringify(steps).length).toBeLessThan(3_000);
  });
});
