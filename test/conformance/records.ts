import { Validator } from '@cfworker/json-schema';
import { expect } from 'vitest';
import type { FoundRecord, JsonObject, JsonSchema, JsonValue, Operation } from '../../src/extract/base/connector.ts';

const VALIDATORS = new WeakMap<JsonSchema, Validator>();

/** Returns the violations of a schema. */
export function faultsOf(schema: JsonSchema, value: JsonValue): readonly string[] {
  const validator = VALIDATORS.get(schema) ?? new Validator(schema, '2020-12', false);
  VALIDATORS.set(schema, validator);
  const { errors } = validator.validate(value);
  return errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

export function propertiesOf(schema: JsonSchema): JsonObject {
  return schema['properties'] as JsonObject;
}

/** Asserts what every record must satisfy. Uses one assertion for all records, because there are many. */
export function heldToSchema(operation: Operation, records: readonly FoundRecord[]): void {
  const columns = Object.keys(propertiesOf(operation.record)).join();
  const wrong = records.flatMap(({ id, sourceUrl, fields }) => [
    ...faultsOf(operation.record, fields),
    ...(Object.keys(fields).join() === columns ? [] : [`columns ${Object.keys(fields).join()}`]),
    ...(id !== '' && /^https?:\/\/[^/]/.test(sourceUrl) ? [] : [`id ${id}, source ${sourceUrl}`]),
  ]);
  expect(wrong).toEqual([]);
  const [first] = records;
  expect(JSON.parse(JSON.stringify(first?.fields ?? null))).toEqual(first?.fields ?? null);
}
