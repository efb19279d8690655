import type { RecordFormat } from '../../contract/vocabulary.ts';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ExtractionId } from '../../work/extraction-job.ts';
import { ANSWER_PIECE_BYTES } from '../../kernel/limits.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { ExtractionControl, RecordExtent } from '../base/jobs-port.ts';
import { PAGE_GROUP_BYTES } from '../shape/parquet-writer.ts';
import { type RecordWriter, sliceRecords } from '../shape/writers.ts';

/** Maximum number of records of one page. Source: contract, 13.1. */
export const RECORDS_MAX = 1_000;
export const PAGE_RECORD_BYTES_MAX = 10_000_000;

/** Returns the route to which the cursors of a job's records are bound. */
export function recordsRoute(id: ExtractionId): string {
  return `/v1/extractions/${id}/records`;
}

/** Measured: bytes written at once. CSV, the slowest format, takes 0.5 ms. */
const BYTES_AT_ONCE = 32_768;

/** One page of a job's records, which was measured and is not yet read. */
export interface MeasuredPage {
  readonly customer: CustomerNumber;
  readonly id: ExtractionId;
  readonly fromSeq: number;
  readonly extent: RecordExtent;
}

/**
 * Writes the records of a page while they are sent: reads one chunk at a time and yields its records in parts. `isFirst` is passed to the
 * writer's `begin`. Throws if records are missing, because the response was announced with them: their job was deleted meanwhile.
 */
export async function* writeRecords(
  control: Pick<ExtractionControl, 'streamRecords'>,
  { customer, id, fromSeq, extent }: MeasuredPage,
  writer: RecordWriter,
  isFirst: boolean,
  slices: Slices,
): AsyncGenerator<Buffer> {
  const query = { fromSeq, recordsMax: extent.records, bytesMax: PAGE_RECORD_BYTES_MAX };
  let written = 0;
  yield writer.begin(isFirst);
  for await (const { firstSeq, records, bytes } of control.streamRecords(customer, id, query, slices)) {
    const atOnce = Math.max(1, Math.floor((records * BYTES_AT_ONCE) / Math.max(1, bytes.length)));
    let rest = bytes;
    for (let from = 0; from < records; from += atOnce) {
      if (slices.isOver) await slices.begin();
      const part = sliceRecords(rest, 0, atOnce);
      rest = rest.subarray(part.length);
      // On the wire, the first record has number 1.
      yield writer.records(part, firstSeq + from + 1);
    }
    written += records;
  }
  if (written < extent.records)
    throw new Error(`${extent.records - written} records were removed while they were sent`);
  yield writer.end();
}

/**
 * Returns about how many bytes of a page are in memory at a time: a chunk, and a part of it in the page's format until it is sent. Parquet
 * holds a group of rows as well, which may end with the longest record, and its encoded form.
 */
export function heldBytesOf({ chunkBytesMax }: RecordExtent, format: RecordFormat): number {
  const sent = chunkBytesMax + 2 * ANSWER_PIECE_BYTES;
  return format === 'parquet' ? sent + 3 * (PAGE_GROUP_BYTES + chunkBytesMax) : sent;
}
