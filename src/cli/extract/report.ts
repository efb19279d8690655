import { counted } from '../counted.ts';
import type { FailureReason } from '../../work/extraction-job.ts';
import { countsOf } from '../../work/extraction-state.ts';
import { NOTE_MESSAGES, notesJson } from '../../extract/base/job-wire.ts';
import type { CheckedRequest } from '../../extract/request/read-request.ts';
import type { OneJobEnd } from '../../extract/engine/run-one-job.ts';
import { ok, type CommandOutcome } from '../command-outcome.ts';

export interface ExtractReport {
  readonly request: CheckedRequest;
  readonly end: OneJobEnd;
  readonly durationMs: number;
  /** The file with the records; null for standard output. */
  readonly out: string | null;
  /** For the single JSON object of `--json`; null if they were written elsewhere. */
  readonly records: readonly unknown[] | null;
}

/** Reports the result of a job: as text for people, and in the format of the service's jobs for programs. */
export function reportOf(report: ExtractReport): CommandOutcome {
  const { out, end } = report;
  const outcome = ok(jsonOf(report), textOf(report), end.state.status === 'failed');
  return outcome.kind === 'ok' ? { ...outcome, isBeside: out === null || outcome.failed === true } : outcome;
}

function jsonOf({ request, end, durationMs, out, records }: ExtractReport): object {
  const { state, detail, entries } = end;
  return {
    status: state.status,
    connector: request.connector.id,
    operation: request.operation.name,
    counts: countsOf(state, request.collect),
    usage: { credits: state.credits, tier: state.tier },
    notes: notesJson(state.notes),
    failure: state.failure && { ...state.failure, detail: detail ?? '' },
    errors: entries.map(({ reason, step, detail: told }) => ({ reason, step, detail: told })),
    duration_ms: Math.round(durationMs),
    out,
    ...(records !== null && { records }),
  };
}

function textOf(report: ExtractReport): string {
  const { request, end, out } = report;
  const { state } = end;
  const { failure } = state;
  const lines = [`${countsText(report)}${out === null || state.collected === 0 ? '' : `, in ${out}`}`];
  lines.push(...state.notes.map((note) => `note: ${NOTE_MESSAGES[note]}`));
  if (failure === null) {
    for (const { reason, step, detail } of end.entries)
      lines.push(`  ${reason}: ${firstLine(detail === '' ? step : detail)}`);
    const { collect } = request;
    const announced = state.announced ?? Infinity;
    if (collect.mode === 'limit' && state.collected === collect.limit && announced > collect.limit) {
      const more = Number.isFinite(announced) ? `of the ${announced} that the source announces` : 'if there are more';
      lines.push(`The limit of ${collect.limit} is reached: use --limit or --all for more, ${more}.`);
    }
    return lines.join('\n');
  }
  const detail = firstLine(end.detail ?? '');
  return [...lines, `error: ${failure.reason}${detail === '' ? '' : `: ${detail}`}`, ADVICE[failure.reason]].join('\n');
}

function countsText({ end, durationMs }: ExtractReport): string {
  const { collected, pages, duplicates, errors } = end.state;
  const counts = [
    `${counted(collected, 'record')} from ${counted(pages, 'page')} in ${(durationMs / 1000).toFixed(1)} s`,
    ...(duplicates > 0 ? [`${counted(duplicates, 'duplicate')} skipped`] : []),
    ...(errors > 0 ? [counted(errors, 'error')] : []),
  ];
  return counts.join(', ');
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** Advice on what to do next. */
const ADVICE: Readonly<Record<FailureReason, string>> = {
  source_unavailable: 'The site did not respond properly. Try it in a browser, or retry later.',
  source_not_found: 'There is nothing at this address. Check its spelling.',
  access_denied:
    'The site denies access to this service, or its address is not public. Use GATEHOUSE_EGRESS_ALLOW to allow your own networks.',
  rate_limited_by_source: 'The site limits the request rate. Retry later with a larger GATEHOUSE_EXTRACT_HOST_GAP_MS.',
  robots_disallowed:
    "The site's robots.txt forbids it, and no option overrides that. A connector for its public API may work: gatehouse connectors list",
  login_required: 'It requires a login. Jobs of the service can use a session; this command cannot.',
  session_expired: 'The session has expired. Create a new one.',
  unsupported_content:
    'This operation does not support the content at this address. Another operation may: gatehouse connectors list',
  parse_failed: 'This operation could not parse the content. Another operation may: gatehouse connectors list',
  schema_mismatch: 'A record does not match the given schema.',
  timeout: 'The site took too long. Retry later.',
  limit_reached:
    'There are more records than one job may collect, or the job exceeded its maximum duration. Narrow the input: for a site its path_prefix, include or exclude.',
  cancelled: 'The job was cancelled; records collected so far are kept.',
  internal_error: 'This is an error in Gatehouse itself; --json shows where.',
};
