import type { Extraction } from '../core/extraction.ts';
import type { Connector } from './connector.ts';
import { columnsOfOutput } from './shape/shaper.ts';
import type { WriterOptions } from './shape/writers.ts';

/**
 * What a writer needs to know of a job's columns. CSV alone has any; those of a connector that is there no more cannot be told, and only
 * what all records have is left.
 */
export function columnsOf(
  { connector: id, operation: name, output }: Pick<Extraction, 'connector' | 'operation' | 'output'>,
  format: WriterOptions['format'],
  connectors: readonly Connector[],
): WriterOptions['columns'] {
  if (format !== 'csv') return [];
  const operation = connectors
    .find((connector) => connector.id === id)
    ?.operations.find((operation) => operation.name === name);
  return columnsOfOutput(output, operation?.record ?? {});
}
