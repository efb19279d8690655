import type { JsonObject } from '../base/connector.ts';

export { META } from '../../contract/vocabulary.ts';

/**
 * Its members, in the order of CSV's last columns. Source: contract, 13.2. Choice: `truncated` is not a column, because it would
 * change every CSV for a few records; the job's `notes` report it.
 */
export const META_NAMES = ['id', 'seq', 'source_url', 'fetched_at'] as const;

/**
 * `seq` is the record's number in its job, from 1. It may be absent from a record that is shaped before its number is known; it is then
 * added when the record is written (`RecordWriter.records`). `truncated` is true if the record was truncated to the maximum size, or its
 * text to that of a field, and absent otherwise.
 */
export interface RecordMeta extends JsonObject {
  readonly id: string;
  readonly source_url: string;
  /** ISO 8601, UTC. */
  readonly fetched_at: string;
}
