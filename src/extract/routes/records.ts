import { problem } from '../../base/problem.ts';
import { type Extraction, OUTPUT_FORMATS, type OutputFormat } from '../../core/extraction.ts';
import type { ManagedAnswer, ManagedHandler, ManagedRequest } from '../../manage/managed.ts';
import { badQuery, type Cursors, readPage } from '../../manage/paging.ts';
import { columnsOf } from '../columns.ts';
import type { Connector } from '../connector.ts';
import type { ExtractionControl } from '../jobs-port.ts';
import { RECORD_BYTES_MAX, recordsRoute, writePage } from '../record-page.ts';
import { idOf, JOB_NOT_FOUND } from './jobs.ts';
import { hasEnded } from './waits.ts';

/** A job's records, page by page. Source: extraction specification, 4.3; open points, section 5, "Records". */
export interface RecordParts {
  readonly control: Pick<ExtractionControl, 'find' | 'recordsInSlices'>;
  readonly connectors: readonly Connector[];
  readonly cursors: Cursors;
}

/** Source: open points, section 5. */
const PAGE_RECORDS_DEFAULT = 100;

export function recordsHandler({ control, connectors, cursors }: RecordParts): ManagedHandler {
  return async (request) => {
    const { slices, caller } = request;
    const { customer } = caller;
    const id = idOf(request);
    const job = id === null ? null : control.find(customer, id);
    if (id === null || job === null) return JOB_NOT_FOUND;
    const query = readQuery(request, job, cursors);
    if (query.kind === 'problem') return query;
    const refusal = refusalOf(job, query.partial);
    if (refusal !== null) return refusal;

    const { fromSeq, limit: recordsMax, format } = query;
    const page = await control.recordsInSlices(
      customer,
      id,
      { fromSeq, recordsMax, bytesMax: RECORD_BYTES_MAX },
      slices,
    );
    const hasMore = page.nextSeq !== null;
    const nextSeq = page.nextSeq ?? (hasEnded(job) ? null : fromSeq + countOf(page.chunks));
    const cursor = nextSeq === null ? null : cursors.issue(recordsRoute(id), customer, String(nextSeq));
    const tail = `,"has_more":${hasMore},"next_cursor":${JSON.stringify(cursor)}`;
    const options = { format, csv: job.output.csv, columns: columnsOf(job, format, connectors), page: { tail } };
    // Of a job that goes on a page without records is followed by one from the same place, which then has the header.
    const isFirst = fromSeq === 0 && (page.chunks.length > 0 || hasEnded(job));
    const { contentType, pieces } = await writePage(page.chunks, options, isFirst, slices);
    const headers = format === 'json' || cursor === null ? {} : headersOf(request, cursor, hasMore);
    return { kind: 'pieces', status: 200, contentType, pieces, headers };
  };
}

interface Query {
  readonly kind: 'query';
  /** 0 is the first record. */
  readonly fromSeq: number;
  readonly limit: number;
  readonly format: OutputFormat;
  readonly partial: boolean;
}

function readQuery(
  request: ManagedRequest,
  job: Extraction,
  cursors: Cursors,
): Query | Extract<ManagedAnswer, { readonly kind: 'problem' }> {
  const page = readPage(request, cursors, recordsRoute(job.id), PAGE_RECORDS_DEFAULT);
  if (page.kind === 'problem') return page;
  const formatText = request.query.get('format') ?? job.output.format;
  const format = OUTPUT_FORMATS.find((one) => one === formatText);
  if (format === undefined) {
    return { kind: 'problem', problem: badQuery('format', `This must be one of ${OUTPUT_FORMATS.join(', ')}.`) };
  }
  const partial = request.query.get('partial') ?? 'false';
  if (partial !== 'true' && partial !== 'false') {
    return { kind: 'problem', problem: badQuery('partial', 'This must be true or false.') };
  }
  return { kind: 'query', fromSeq: Number(page.after ?? 0), limit: page.limit, format, partial: partial === 'true' };
}

/**
 * Why a job's records are not to be had here; null when they are. Choice: what a failed job has gathered can always be read in
 * part, wherever it was to go, because a delivery of it may not have come about.
 */
function refusalOf(job: Extraction, partial: boolean): ManagedAnswer | null {
  const { status, delivery } = job;
  if (status === 'failed') return partial ? null : FAILED;
  const isElsewhere = delivery.kind !== 'store' && delivery.kind !== 'sync';
  if (isElsewhere && delivery.status !== 'failed') return DELIVERED;
  return status === 'succeeded' || partial ? null : NOT_READY;
}

const NOT_READY = notReady('The extraction has not ended yet. partial=true reads what is there.');
const FAILED = notReady('The extraction has failed. partial=true reads what it gathered before.');

function notReady(detail: string): ManagedAnswer {
  return { kind: 'problem', problem: problem('not_ready', detail) };
}

const DELIVERED: ManagedAnswer = {
  kind: 'problem',
  problem: problem('records_delivered', 'The records of this extraction go to the place that it was made with.'),
};

function countOf(chunks: readonly { readonly records: number }[]): number {
  return chunks.reduce((sum, { records }) => sum + records, 0);
}

/** The link asks for the same as this call did. All of it was checked, so it is text that may stand in a header. */
function headersOf({ query, params }: ManagedRequest, cursor: string, hasMore: boolean): Record<string, string> {
  if (!hasMore) return { 'X-Next-Cursor': cursor };
  const target = new URLSearchParams({ cursor });
  for (const name of ['limit', 'format', 'partial']) {
    const given = query.get(name);
    if (given !== null) target.set(name, given);
  }
  const link = `</v1/extractions/${params['id'] ?? ''}/records?${target.toString()}>; rel="next"`;
  return { 'X-Next-Cursor': cursor, Link: link };
}
