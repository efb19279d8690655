import type { RecordFormat } from '../../contract/vocabulary.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import { operationFor, type Connector, type JsonObject } from '../base/connector.ts';
import { columnsOfOutput } from './shaper.ts';
import type { WriterOptions } from './writers.ts';

/**
 * Returns the columns that a writer needs for a job; only CSV and Parquet have columns. If the job's connector no longer exists, its
 * columns are unknown, and only those common to all records remain.
 */
export function columnsOf(
  { connector: id, operation: name, input, output }: Pick<Extraction, 'connector' | 'operation' | 'input' | 'output'>,
  format: RecordFormat,
  connectors: readonly Connector[],
): WriterOptions['columns'] {
  if (format !== 'csv' && format !== 'parquet') return [];
  const operation = connectors
    .find((connector) => connector.id === id)
    ?.operations.find((operation) => operation.name === name);
  if (operation === undefined) return columnsOfOutput(output, {});
  // The input was JSON, and has started.
  return columnsOfOutput(output, operationFor(operation, input as JsonObject).record);
}
