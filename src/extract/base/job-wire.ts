import { unreachable } from '../../kernel/brand.ts';
import { idPattern } from '../../contract/wire-ids.ts';
import type {
  BrowserSession,
  Extraction,
  ExtractionDelivery,
  ExtractionId,
  JobNote,
} from '../../work/extraction-job.ts';
import type { Connector, Operation } from './connector.ts';

/** Jobs, sessions and connectors in their wire format: field by field, in this order. Source: contract, 12.1, 14.1 and 14.2. */

/** Returns what the response to a job's creation shows of it. */
export function createdJson(job: Extraction, newSecret: string | null): Record<string, unknown> {
  return {
    id: job.id,
    status: job.status,
    connector: job.connector,
    operation: job.operation,
    request_id: job.requestId,
    ...(newSecret !== null && { delivery: { type: wireType(job.delivery), secret: newSecret } }),
  };
}

/** How the result differs from what was requested, per code. */
export const NOTE_MESSAGES: Readonly<Record<JobNote, string>> = {
  records_truncated:
    'Records larger than 1 MiB, or texts of over 500,000 characters, were truncated; their _meta.truncated is true.',
  records_dropped: 'Records were dropped because they violate output.schema, or exceed 1 MiB and cannot be truncated.',
  list_incomplete: 'A list of the source, such as a sitemap, could not be read completely; there may be more records.',
  page_limit_reached: 'The job read as many pages as its limit allows and ended with fewer records than requested.',
  depth_limit_reached:
    'Links deeper than 10 pages from the first one were not followed; there may be more pages. max_depth sets the depth.',
};

/** `failure` is present only for failed jobs. */
export function extractionJson(job: Extraction): Record<string, unknown> {
  const { collected, target, pages, errors, duplicates } = job.counts;
  return {
    id: job.id,
    status: job.status,
    connector: job.connector,
    operation: job.operation,
    counts: { collected, target, pages, errors, duplicates },
    usage: { credits: job.usage.credits, tier: job.usage.tier },
    request_id: job.requestId,
    created_at: seconds(job.createdAtMs),
    started_at: secondsOrNull(job.startedAtMs),
    finished_at: secondsOrNull(job.finishedAtMs),
    expires_at: secondsOrNull(job.expiresAtMs),
    waiting_until: secondsOrNull(job.waitingUntilMs),
    ...(job.failure !== null && { failure: { reason: job.failure.reason, retryable: job.failure.retryable } }),
    notes: notesJson(job.notes),
    delivery: { type: wireType(job.delivery), status: job.delivery.status },
  };
}

export function notesJson(notes: readonly JobNote[]): readonly { readonly code: JobNote; readonly message: string }[] {
  return notes.map((code) => ({ code, message: NOTE_MESSAGES[code] }));
}

function wireType({ kind }: ExtractionDelivery): 'store' | 'sync' | 'webhook' | 'destination' {
  switch (kind) {
    case 'store':
    case 'sync':
    case 'webhook':
      return kind;
    case 's3':
    case 'http_put':
      return 'destination';
    default:
      return unreachable(kind);
  }
}

/** Never includes the session's content. */
export function sessionJson(session: BrowserSession): Record<string, unknown> {
  return {
    id: session.id,
    host: session.host,
    created_at: seconds(session.createdAtMs),
    expires_at: seconds(session.expiresAtMs),
  };
}

/** Returns an entry of the catalogue. */
export function connectorJson(connector: Connector): Record<string, unknown> {
  const { termsUrl, attribution, ratePolicy } = connector.terms;
  return {
    id: connector.id,
    title: connector.title,
    description: connector.description,
    docs_url: connector.docsUrl,
    rate_policy: ratePolicy,
    terms_url: termsUrl,
    attribution,
    operations: connector.operations.map(operationJson),
  };
}

function operationJson(operation: Operation): Record<string, unknown> {
  return {
    name: operation.name,
    description: operation.description,
    tier: operation.tier,
    paging: operation.paging,
    input_schema: operation.input,
    record_schema: operation.record,
    example: { input: operation.example.input, record: operation.example.record },
  };
}

const EXTRACTION_ID = idPattern('ext');
const SESSION_ID = idPattern('ses');

/** Returns whether a text has the form of such an id. The store is queried for no other text, whatever its length. */
export function isExtractionId(text: string): text is ExtractionId {
  return EXTRACTION_ID.test(text);
}

export function isSessionId(text: string): boolean {
  return SESSION_ID.test(text);
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function secondsOrNull(ms: number | null): number | null {
  return ms === null ? null : seconds(ms);
}
