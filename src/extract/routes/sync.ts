import type { Extraction, ExtractionId } from '../../core/extraction.ts';
import type { AnyRequest, ManagedAnswer } from '../../manage/managed.ts';
import type { Cursors } from '../../manage/paging.ts';
import type { Slices } from '../../store/turns.ts';
import type { ExtractionControl } from '../jobs-port.ts';
import { RECORD_BYTES_MAX, recordsJson, RECORDS_MAX, recordsRoute } from '../record-page.ts';
import { SYNC_RECORDS_MAX, syncLimitExceeded } from '../request.ts';
import { createdJson, extractionJson } from '../wire.ts';
import { JOB_NOT_FOUND } from './jobs.ts';
import { hasEnded, type Waits } from './waits.ts';

export interface InlineParts {
  readonly control: Pick<ExtractionControl, 'recordsInSlices'>;
  readonly cursors: Cursors;
  readonly waits: Waits;
}

/** Choice: most jobs that took longer than the wait are done by then. */
const RETRY_SECONDS = 5;

/**
 * The job and its records in one answer, once it has ended; 202 where that takes longer than the caller waits. Source: open points,
 * section 5, "Sync". Choice: JSON whatever `output.format` says, since the job stands around the records.
 */
export async function inlineAnswer(
  id: ExtractionId,
  waitSeconds: number,
  request: AnyRequest,
  parts: InlineParts,
): Promise<ManagedAnswer> {
  const job = await parts.waits.until(request, id, waitSeconds * 1000);
  if (job === null) return JOB_NOT_FOUND;
  if (!hasEnded(job)) return goesOn(job);
  if (isOverLimit(job)) return { kind: 'problem', problem: syncLimitExceeded('/collect') };
  const { records, next } = job.status === 'succeeded' ? await firstPage(job, parts, request.slices) : NO_RECORDS;
  const before = Buffer.from(`${JSON.stringify(extractionJson(job)).slice(0, -1)},"records":`);
  const behind = Buffer.from(`,"next_cursor":${JSON.stringify(next)}}`);
  const pieces = [before, ...records, behind];
  return { kind: 'pieces', status: 200, contentType: 'application/json', pieces, headers: locationOf(job) };
}

const NO_RECORDS = { records: [Buffer.from('[]')], next: null };

/**
 * More records than fit inline: the limit is checked before, so it can only be a job of mode `all`. Of a failed one the target is what
 * was gathered or announced. With less than that an operator's own bound was met, which a job without delivery of type sync meets too.
 */
function isOverLimit({ collect, counts, failure }: Extraction): boolean {
  return collect.mode === 'all' && failure?.reason === 'limit_reached' && counts.target >= SYNC_RECORDS_MAX;
}

async function firstPage(job: Extraction, { control, cursors }: InlineParts, slices: Slices) {
  const query = { fromSeq: 0, recordsMax: RECORDS_MAX, bytesMax: RECORD_BYTES_MAX };
  const page = await control.recordsInSlices(job.customer, job.id, query, slices);
  const next = page.nextSeq === null ? null : cursors.issue(recordsRoute(job.id), job.customer, String(page.nextSeq));
  return { records: await recordsJson(page.chunks, slices), next };
}

function goesOn(job: Extraction): ManagedAnswer {
  const headers = { ...locationOf(job), 'Retry-After': String(RETRY_SECONDS) };
  return { kind: 'json', status: 202, body: createdJson(job, null), headers };
}

function locationOf({ id }: Extraction): Readonly<Record<string, string>> {
  return { Location: `/v1/extractions/${id}` };
}
