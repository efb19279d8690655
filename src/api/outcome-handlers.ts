import type { SecretHandlers } from '../http/handlers.ts';
import type { ReportedOutcome, ReportedOutcomes } from '../ports/outcome-reports.ts';
import { OUTCOMES } from '../risk/event-outcome.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { OUTCOME_REPORT } from './outcome-body.ts';

interface Rejected {
  readonly index: number;
  readonly code: 'unknown_request' | 'invalid_outcome';
}

/**
 * The endpoint for outcomes of decisions: whether the password was correct, the card was declined, the challenge was passed. Outcomes are
 * counted in the velocity table before the response is sent, so every later decide uses them. An outcome is neither a label nor evidence
 * for the registry.
 */
export function outcomeHandlers(
  endpoint: EndpointFactory,
  outcomes: ReportedOutcomes<Slices>,
): SecretHandlers<'reportOutcomes'> {
  const report: EndpointHandler<BodyOf<typeof OUTCOME_REPORT>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { caller, nowMs, slices, coverage } = request;
    const rejected: Rejected[] = [];
    const reports: (ReportedOutcome & { readonly index: number })[] = [];
    const ids = read.value.requestIds.split(' ');
    for (const [index, requestId] of ids.entries()) {
      const outcome = OUTCOMES[Number(read.value.outcomes[index])];
      if (outcome === undefined) rejected.push({ index, code: 'invalid_outcome' });
      else reports.push({ index, requestId, outcome });
    }
    const accepted = await outcomes.report(caller.customer, reports, nowMs, slices, coverage);
    for (const [at, { index }] of reports.entries())
      if (accepted[at] !== true) rejected.push({ index, code: 'unknown_request' });
    rejected.sort((a, b) => a.index - b.index);
    return { kind: 'json', status: 202, body: { accepted: ids.length - rejected.length, rejected } };
  };

  return { reportOutcomes: endpoint({ body: OUTCOME_REPORT, allowance: 'decide' }, report) };
}
