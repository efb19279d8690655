import type { Extraction, ExtractionId } from '../../work/extraction-job.ts';
import { givePiece, joinShort } from '../kit/response-pieces.ts';
import type { AnyRequest, EndpointResponse } from '../kit/endpoint-types.ts';
import type { Cursors } from '../kit/paging.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { ExtractionControl, RecordExtent } from '../../extract/base/jobs-port.ts';
import {
  heldBytesOf,
  PAGE_RECORD_BYTES_MAX,
  RECORDS_MAX,
  recordsRoute,
  writeRecords,
} from '../../extract/door/record-page.ts';
import { SYNC_RECORDS_MAX, syncLimitExceeded } from '../../extract/request/read-request.ts';
import { createWriter } from '../../extract/shape/writers.ts';
import { createdJson, extractionJson } from '../../extract/base/job-wire.ts';
import { JOB_NOT_FOUND } from './job-handlers.ts';
import type { Waits } from './waits.ts';
import { hasEnded } from '../../work/extraction-state.ts';

export interface InlineParts {
  readonly control: Pick<ExtractionControl, 'measureRecords' | 'streamRecords'>;
  readonly cursors: Cursors;
  readonly waits: Waits;
}

/** Choice: by then, most jobs that took longer than the wait have ended. */
const RETRY_SECONDS = 5;

/**
 * Returns the job and its records in one response once it has ended; 202 if that takes longer than the caller waits.
 * Source: contract, 11.5. Choice: JSON whatever `output.format` is, because the job object encloses the records.
 */
export async function inlineAnswer(
  id: ExtractionId,
  waitSeconds: number,
  request: AnyRequest,
  parts: InlineParts,
): Promise<EndpointResponse> {
  const job = await parts.waits.until(request, id, waitSeconds * 1000);
  if (job === null) return JOB_NOT_FOUND;
  if (!hasEnded(job)) return goesOn(job);
  if (isOverLimit(job)) return { kind: 'problem', problem: syncLimitExceeded('/collect') };
  const { control, cursors } = parts;
  const query = { fromSeq: 0, recordsMax: RECORDS_MAX, bytesMax: PAGE_RECORD_BYTES_MAX };
  const extent =
    job.status === 'succeeded' ? await control.measureRecords(job.customer, job.id, query, request.slices) : NO_RECORDS;
  const { nextSeq } = extent;
  const next = nextSeq === null ? null : cursors.issue(recordsRoute(job.id), job.customer, String(nextSeq));
  return {
    kind: 'stream',
    status: 200,
    contentType: 'application/json',
    body: {
      bytes: null,
      pieces: joinShort(jobWithRecords(job, extent, next, control, request.slices)),
      onWritten: givePiece,
    },
    heldBytes: heldBytesOf(extent, 'json'),
    headers: locationOf(job),
  };
}

const NO_RECORDS: RecordExtent = { records: 0, chunkBytesMax: 0, nextSeq: null };

/** Writes the job object with its records as an additional member. */
async function* jobWithRecords(
  job: Extraction,
  extent: RecordExtent,
  next: string | null,
  control: Pick<ExtractionControl, 'streamRecords'>,
  slices: Slices,
): AsyncGenerator<Buffer> {
  const csv = { delimiter: ',', bom: false, header: true };
  const writer = createWriter({ format: 'json', csv, columns: [], page: null });
  yield Buffer.from(`${JSON.stringify(extractionJson(job)).slice(0, -1)},"records":`);
  yield* writeRecords(control, { customer: job.customer, id: job.id, fromSeq: 0, extent }, writer, true, slices);
  yield Buffer.from(`,"next_cursor":${JSON.stringify(next)}}`);
}

/**
 * Returns whether a job has more records than fit inline. The limit is checked beforehand, so this is only possible in mode `all`. The
 * target of a failed job is the number of records collected or announced. If it is below the inline limit, the job reached an operator's
 * limit instead, which would also stop a job without delivery of type sync.
 */
function isOverLimit({ collect, counts, failure }: Extraction): boolean {
  return collect.mode === 'all' && failure?.reason === 'limit_reached' && counts.target >= SYNC_RECORDS_MAX;
}

function goesOn(job: Extraction): EndpointResponse {
  const headers = { ...locationOf(job), 'Retry-After': String(RETRY_SECONDS) };
  return { kind: 'json', status: 202, body: createdJson(job, null), headers };
}

function locationOf({ id }: Extraction): Readonly<Record<string, string>> {
  return { Location: `/v1/extractions/${id}` };
}
