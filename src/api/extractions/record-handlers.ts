import { problem } from '../../contract/problem.ts';
import { QUERIES } from '../../contract/routes.ts';
import type { RecordFormat } from '../../contract/vocabulary.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import { givePiece, joinShort } from '../kit/response-pieces.ts';
import type { EndpointResponse, EndpointHandler, EndpointRequest } from '../kit/endpoint-types.ts';
import { type Cursors, readPage } from '../kit/paging.ts';
import { columnsOf } from '../../extract/shape/columns.ts';
import type { Connector } from '../../extract/base/connector.ts';
import type { ExtractionControl } from '../../extract/base/jobs-port.ts';
import { heldBytesOf, PAGE_RECORD_BYTES_MAX, recordsRoute, writeRecords } from '../../extract/door/record-page.ts';
import { openWriter, PAGE_GROUP_BYTES } from '../../extract/shape/parquet-writer.ts';
import { jobIdOf, JOB_NOT_FOUND } from './job-handlers.ts';
import { hasEnded } from '../../work/extraction-state.ts';

/** Returns a job's records page by page. Source: contract, 13.1. */
export interface RecordHandlerParts {
  readonly control: Pick<ExtractionControl, 'find' | 'measureRecords' | 'streamRecords'>;
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
}

export function recordsHandler({ control, connectors, cursors }: RecordHandlerParts): EndpointHandler {
  return async (request) => {
    const { slices, caller } = request;
    const { customer } = caller;
    const id = jobIdOf(request);
    const job = id === null ? null : control.find(customer, id);
    if (id === null || job === null) return JOB_NOT_FOUND;
    const query = readQuery(request, job, cursors);
    if (query.kind === 'problem') return query;
    const refusal = refusalOf(job, query.partial);
    if (refusal !== null) return refusal;

    const { fromSeq, limit: recordsMax, format } = query;
    // Measured first: header fields, and so the cursor, come before the records, which are read only while they are sent.
    const extent = await control.measureRecords(
      customer,
      id,
      { fromSeq, recordsMax, bytesMax: PAGE_RECORD_BYTES_MAX },
      slices,
    );
    const hasMore = extent.nextSeq !== null;
    const nextSeq = extent.nextSeq ?? (hasEnded(job) ? null : fromSeq + extent.records);
    const cursor = nextSeq === null ? null : cursors.issue(recordsRoute(id), customer, String(nextSeq));
    const tail = `,"has_more":${hasMore},"next_cursor":${JSON.stringify(cursor)}`;
    const columns = columnsOf(job, format, connectors);
    const writer = await openWriter({ format, csv: job.output.csv, columns, page: { tail } }, PAGE_GROUP_BYTES);
    // An empty page of a running job is followed by one from the same position, which then has the header.
    const isFirst = fromSeq === 0 && (extent.records > 0 || hasEnded(job));
    const pieces = writeRecords(control, { customer, id, fromSeq, extent }, writer, isFirst, slices);
    const headers = format === 'json' || cursor === null ? {} : headersOf(request, cursor, hasMore);
    return {
      kind: 'stream',
      status: 200,
      contentType: writer.contentType,
      body: { bytes: null, pieces: joinShort(pieces), onWritten: givePiece },
      heldBytes: heldBytesOf(extent, format),
      headers,
    };
  };
}

interface Query {
  readonly kind: 'query';
  /** 0 is the first record. */
  readonly fromSeq: number;
  readonly limit: number;
  readonly format: RecordFormat;
  readonly partial: boolean;
}

function readQuery(
  request: EndpointRequest,
  job: Extraction,
  cursors: Cursors,
): Query | Extract<EndpointResponse, { readonly kind: 'problem' }> {
  const page = readPage(request, cursors, recordsRoute(job.id), QUERIES.listRecords);
  if (page.kind === 'problem') return page;
  const { format = job.output.format, partial } = page.values;
  return { kind: 'query', fromSeq: Number(page.after ?? 0), limit: page.limit, format, partial };
}

/**
 * Returns why a job's records are unavailable here; null if they are available. Choice: what a failed job has collected can always be read
 * with `partial`, wherever it was to be delivered, because the delivery may not have happened.
 */
function refusalOf(job: Extraction, partial: boolean): EndpointResponse | null {
  const { status, delivery } = job;
  if (status === 'failed') return partial ? null : FAILED;
  const isElsewhere = delivery.kind !== 'store' && delivery.kind !== 'sync';
  if (isElsewhere && delivery.status !== 'failed') return DELIVERED;
  return status === 'succeeded' || partial ? null : NOT_READY;
}

const NOT_READY = notReady('The extraction has not ended yet. partial=true returns the records so far.');
const FAILED = notReady('The extraction has failed. partial=true returns the records that it collected before.');

function notReady(detail: string): EndpointResponse {
  return { kind: 'problem', problem: problem('not_ready', detail) };
}

const DELIVERED: EndpointResponse = {
  kind: 'problem',
  problem: problem('records_delivered', 'The records of this extraction are sent to its delivery destination.'),
};

/** The link repeats the parameters of this call. All of them were validated, so they are safe in a header. */
function headersOf({ query, params }: EndpointRequest, cursor: string, hasMore: boolean): Record<string, string> {
  if (!hasMore) return { 'X-Next-Cursor': cursor };
  const target = new URLSearchParams({ cursor });
  for (const name of ['limit', 'format', 'partial']) {
    const given = query.get(name);
    if (given !== null) target.set(name, given);
  }
  const link = `</v1/extractions/${params['id'] ?? ''}/records?${target.toString()}>; rel="next"`;
  return { 'X-Next-Cursor': cursor, Link: link };
}
