import { convertSchemas, type JsonValue } from '../src/contract/json-schema.ts';
import { DELIVERY } from '../src/contract/requests/extraction-delivery-requests.ts';

/** Returns the JSON Schema of each delivery that needs fields, without the fields that choose it. */
export function deliverySchemas(): Readonly<Record<'webhook' | 's3' | 'http_put', JsonValue>> {
  const { components } = convertSchemas([DELIVERY]);
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
function variantOf(schema: JsonValue | undefined, field: string, value: string): JsonValue {
  const alternatives = (schema?.['oneOf'] ?? schema?.['anyOf'] ?? []) as readonly JsonValue[];
  const found = alternatives.find((one) => propertiesOf(one)[field]?.['const'] === value);
  if (found === undefined) throw new Error(`the schema of deliveries has no ${field} "${value}"`);
  return found;
}

function propertiesOf(schema: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return (schema?.['properties'] ?? {}) as Readonly<Record<string, JsonValue>>;
}

function without(schema: JsonValue | undefined, field: string): JsonValue {
  const { [field]: _, ...properties } = propertiesOf(schema);
  const required = ((schema?.['required'] ?? []) as readonly string[]).filter((name) => name !== field);
  return { type: 'object', properties, required };
}
