import { describe, expect, test } from 'vitest';
import { deliverySchemas } from '../../../scripts/delivery-schemas.ts';
import { EXTRACTION_DELIVERY } from '../../../src/contract/requests/extraction-delivery-requests.ts';
import { fieldsOf, toInput } from '../../../src/web/dashboard/pages/extractions/schema-fields.ts';

const schemas = deliverySchemas();
const fields = (name: keyof typeof schemas) => fieldsOf(schemas[name]);

describe('the form of a delivery', () => {
  test('It has the fields of the contract, and masks exactly those that no call returns', () => {
    const shown = (['webhook', 's3', 'http_put'] as const).map((name) =>
      fields(name).map((field) => `${field.name}${field.isRequired ? '' : '?'}${field.isSecret ? ' secret' : ''}`),
    );
    expect(shown).toEqual([
      ['url', 'batch_size?', 'secret? secret'],
      ['endpoint?', 'bucket', 'region?', 'prefix?', 'access_key_id secret', 'secret_access_key secret'],
      ['url secret'],
    ]);
    expect(fields('webhook').find(({ name }) => name === 'batch_size')?.kind).toBe('whole');
  });

  test.each([
    ['webhook', { url: 'https://shop.example/hook', batch_size: '50' }],
    ['s3', { bucket: 'b', access_key_id: 'AK', secret_access_key: 'SK', prefix: 'a/' }],
    ['http_put', { url: 'https://store.example/x?sig=1' }],
  ] as const)('What is typed for %s is a delivery of the contract', (name, typed) => {
    const input = toInput(fields(name), typed);
    if (input.kind === 'fault') throw new Error(input.message);
    const delivery =
      name === 'webhook'
        ? { type: 'webhook', ...input.input }
        : { type: 'destination', destination: { kind: name, ...input.input } };
    expect(EXTRACTION_DELIVERY.safeParse(delivery).success).toBe(true);
    if (name === 'webhook') expect(delivery).toMatchObject({ batch_size: 50 });
  });
});
