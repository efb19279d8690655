import type { ExtractionId } from '../core/extraction.ts';
import type { Slices } from '../store/turns.ts';
import type { RecordChunk } from './jobs-port.ts';
import { createWriter, type RecordWriter, sliceRecords, type WriterOptions } from './shape/writers.ts';

/** Records of one page. Source: open points, section 5. */
export const RECORDS_MAX = 1_000;
export const RECORD_BYTES_MAX = 10_000_000;

/** What the cursors of a job's records are bound to. */
export function recordsRoute(id: ExtractionId): string {
  return `/v1/extractions/${id}/records`;
}

/** Measured: bytes that are written at once; of CSV, the slowest, in 0.5 ms. */
const BYTES_AT_ONCE = 32_768;

/** The records of one page as JSON: a plain array. */
export function recordsJson(chunks: readonly RecordChunk[], slices: Slices): Promise<readonly Buffer[]> {
  const csv = { delimiter: ',', bom: false, header: true };
  return pagePieces(chunks, createWriter({ format: 'json', csv, columns: [], page: null }), true, slices);
}

/** One page in a format. `isFirst`: as of a writer's `begin`. */
export async function writePage(
  chunks: readonly RecordChunk[],
  options: WriterOptions,
  isFirst: boolean,
  slices: Slices,
): Promise<{ readonly contentType: string; readonly pieces: readonly Buffer[] }> {
  const writer = createWriter(options);
  return { contentType: writer.contentType, pieces: await pagePieces(chunks, writer, isFirst, slices) };
}

async function pagePieces(
  chunks: readonly RecordChunk[],
  writer: RecordWriter,
  isFirst: boolean,
  slices: Slices,
): Promise<readonly Buffer[]> {
  const pieces = [writer.begin(isFirst)];
  for (const { firstSeq, records, bytes } of chunks) {
    const atOnce = Math.max(1, Math.floor((records * BYTES_AT_ONCE) / Math.max(1, bytes.length)));
    let rest = bytes;
    for (let from = 0; from < records; from += atOnce) {
      if (slices.isOver) await slices.begin();
      const part = sliceRecords(rest, 0, atOnce);
      rest = rest.subarray(part.length);
      // On the wire the first record is number 1.
      pieces.push(writer.records(part, firstSeq + from + 1));
    }
  }
  pieces.push(writer.end());
  return pieces.filter((piece) => piece.length > 0);
}
