import type { JsonObject } from '../connector.ts';

/** The member that every record has beside its fields. */
export const META = '_meta';

/**
 * Its members, in the order of CSV's last columns. Source: open points, section 5. Choice: `truncated` is no column, because it would
 * change every CSV for a few records; the job's `notes` report it.
 */
export const META_NAMES = ['id', 'seq', 'source_url', 'fetched_at'] as const;

/**
 * `seq` is the record's place in its job, from 1. It may be left out of a record that is shaped before its place is known; it is then told
 * when the record is written (`RecordWriter.records`). `truncated` is true where the record was cut to its largest size; absent where it
 * was not.
 */
export interface RecordMeta extends JsonObject {
  readonly id: string;
  readonly source_url: string;
  /** ISO 8601, UTC. */
  readonly fetched_at: string;
}
