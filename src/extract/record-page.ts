import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { ExtractionId } from '../core/extraction.ts';
import type { RecordChunk } from './jobs-port.ts';
import { createWriter, type RecordWriter, sliceRecords, type WriterOptions } from './shape/writers.ts';

/** Records of one page. Source: open points, section 5. */
export const RECORDS_MAX = 1_000;
export const RECORD_BYTES_MAX = 10_000_000;

/** What the cursors of a job's records are bound to. */
export function recordsRoute(id: ExtractionId): string {
  return `/v1/extractions/${id}/records`;
}

/** Choice: bytes that are written at once; some 2 ms of the main thread, and decisions have their turn in between. */
const BYTES_AT_ONCE = 262_144;

/** The records of one page as JSON: a plain array. */
export function recordsJson(chunks: readonly RecordChunk[]): Promise<string> {
  const csv = { delimiter: ',', bom: false, header: true };
  return pageText(chunks, createWriter({ format: 'json', csv, columns: [], page: null }), true);
}

/** One page in a format. `isFirst`: as of a writer's `begin`. */
export async function writePage(
  chunks: readonly RecordChunk[],
  options: WriterOptions,
  isFirst: boolean,
): Promise<{ readonly contentType: string; readonly text: string }> {
  const writer = createWriter(options);
  return { contentType: writer.contentType, text: await pageText(chunks, writer, isFirst) };
}

async function pageText(chunks: readonly RecordChunk[], writer: RecordWriter, isFirst: boolean): Promise<string> {
  const parts = [writer.begin(isFirst).toString()];
  for (const { firstSeq, records, bytes } of chunks) {
    const atOnce = Math.max(1, Math.floor((records * BYTES_AT_ONCE) / Math.max(1, bytes.length)));
    let rest = bytes;
    for (let from = 0; from < records; from += atOnce) {
      const part = sliceRecords(rest, 0, atOnce);
      rest = rest.subarray(part.length);
      // On the wire the first record is number 1.
      parts.push(writer.records(part, firstSeq + from + 1).toString());
      await endOfTurn();
    }
  }
  parts.push(writer.end().toString());
  return parts.join('');
}
