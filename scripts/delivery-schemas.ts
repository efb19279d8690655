import { convertSchemas, type SchemaValue } from '../src/contract/json-schema.ts';
import { EXTRACTION_DELIVERY } from '../src/contract/requests/extraction-delivery-requests.ts';

/** Returns the JSON Schema of each delivery that needs fields, without the fields that choose it. */
export function deliverySchemas(): Readonly<Record<'webhook' | 's3' | 'http_put', SchemaValue>> {
  const { components } = convertSchemas([EXTRACTION_DELIVERY]);
  const [destination, webhook] = ['destination', 'webhook'].map((type) =>
    variantOf(components['ExtractionDelivery'], 'type', type),
  );
  const inner = propertiesOf(destination)['destination'];
  return {
    webhook: without(webhook, 'type'),
    s3: without(variantOf(inner, 'kind', 's3'), 'kind'),
    http_put: without(variantOf(inner, 'kind', 'http_put'), 'kind'),
  };
}

/** Returns the alternative whose field has that constant. */
function variantOf(schema: SchemaValue | undefined, field: string, value: string): SchemaValue {
  const alternatives = (schema?.['oneOf'] ?? schema?.['anyOf'] ?? []) as readonly SchemaValue[];
  const found = alternatives.find((one) => propertiesOf(one)[field]?.['const'] === value);
  if (found === undefined) throw new Error(`the schema of deliveries has no ${field} "${value}"`);
  return found;
}

function propertiesOf(schema: SchemaValue | undefined): Readonly<Record<string, SchemaValue>> {
  return (schema?.['properties'] ?? {}) as Readonly<Record<string, SchemaValue>>;
}

function without(schema: SchemaValue | undefined, field: string): SchemaValue {
  const { [field]: _, ...properties } = propertiesOf(schema);
  const required = ((schema?.['required'] ?? []) as readonly string[]).filter((name) => name !== field);
  return { type: 'object', properties, required };
}
