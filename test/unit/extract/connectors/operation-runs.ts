import type { Connector, FoundRecord, JsonObject, Operation } from '../../../../src/extract/base/connector.ts';
import { fakeSource, type FakeAnswers, type FakeSource, type FakeSourceOptions } from '../../../support/fake-source.ts';
import { heldToSchema } from '../../../conformance/records.ts';
import { runOperation } from '../../../conformance/run-operation.ts';

export interface Ran {
  readonly records: readonly FoundRecord[];
  readonly fields: readonly JsonObject[];
  readonly source: FakeSource;
}

export function operationNamed(connector: Connector, name: string): Operation {
  const found = connector.operations.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no operation ${name}`);
  return found;
}

/** Runs an operation as a job does. Throws if a record does not match the published schema. */
export async function ran(
  operation: Operation,
  input: JsonObject,
  answers: FakeAnswers,
  options: FakeSourceOptions & { readonly limit?: number } = {},
  stepsMax = 2_000,
): Promise<Ran> {
  const source = fakeSource(answers, options);
  const { limit = Number.POSITIVE_INFINITY } = options;
  const { records } = await runOperation(operation, input, source, { limit, stepsMax });
  heldToSchema(operation, records);
  return { records, fields: records.map(({ fields }) => fields), source };
}
