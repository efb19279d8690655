import type { FailureReason } from '../../core/extraction.ts';
import { countsOf } from '../../core/extraction-state.ts';
import { NOTE_MESSAGES, notesJson } from '../../extract/wire.ts';
import type { CheckedRequest } from '../../extract/request.ts';
import type { LocalEnd } from '../../extract/run-local.ts';
import { ok, type Outcome } from '../outcome.ts';

export interface ExtractReport {
  readonly request: CheckedRequest;
  readonly end: LocalEnd;
  readonly durationMs: number;
  /** The file that the records are in; null for standard output. */
  readonly out: string | null;
  /** For the one object of `--json`; null where they went elsewhere. */
  readonly records: readonly unknown[] | null;
}

/** What became of a job: for people in some lines, for programs in the form of the service's jobs. */
export function reportOf(report: ExtractReport): Outcome {
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
      const more = Number.isFinite(announced) ? `of ${announced} that the source tells of` : 'where there is more';
      lines.push(`The limit of ${collect.limit} is reached: --limit or --all takes more, ${more}.`);
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
    ...(duplicates > 0 ? [`${counted(duplicates, 'duplicate')} left out`] : []),
    ...(errors > 0 ? [counted(errors, 'error')] : []),
  ];
  return counts.join(', ');
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

/** What whoever reads it may do next. */
const ADVICE: Readonly<Record<FailureReason, string>> = {
  source_unavailable: 'The site did not answer as it should. Try it in a browser, and again later.',
  source_not_found: 'What was asked for is not at this address. Look whether it is written right.',
  access_denied:
    'The site refuses this service, or its address is not public. Networks of yours are allowed by GATEHOUSE_EGRESS_ALLOW.',
  rate_limited_by_source:
    'The site asks for fewer requests. Try again later, with a larger GATEHOUSE_EXTRACT_HOST_GAP_MS.',
  robots_disallowed:
    "The site's robots.txt forbids it, and no option overrides that. A connector for its public interface may serve: gatehouse connectors list",
  login_required:
    'Only who is logged in can read it. Jobs of the service can run under a session; this command has none.',
  session_expired: 'The session has ended. Make a new one.',
  unsupported_content:
    'What is there is not what this operation reads. Another operation may: gatehouse connectors list',
  parse_failed:
    'What is there could not be read as this operation needs it. Another operation may: gatehouse connectors list',
  schema_mismatch: 'A record does not hold to the schema that was given.',
  timeout: 'The site took too long. Try again later.',
  limit_reached:
    'There is more than one job may gather, or it takes longer than one may run. Narrow the input: for a site its path_prefix, include or exclude.',
  cancelled: 'It was ended early; what was gathered is kept.',
  internal_error: 'This is a fault of Gatehouse itself; --json shows where.',
};
