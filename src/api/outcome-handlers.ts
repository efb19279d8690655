import type { CustomerNumber } from '../kernel/brand.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { OutcomeMemory } from '../ports/velocity.ts';
import { type Outcome, OUTCOMES } from '../risk/event-outcome.ts';
import { OUTCOMES_KEPT_MS } from '../kernel/limits.ts';
import type { Outcomes } from '../state/outcome-table.ts';
import type { BodyOf } from './kit/request-body.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { OUTCOME_REPORT } from './outcome-body.ts';

/**
 * Dependencies of the endpoint for outcomes of decisions: whether the password was correct, the card was declined, the challenge was
 * passed. Outcomes are counted in the velocity table before the response is sent, so every later decide uses them. An outcome is neither
 * a label nor evidence for the registry.
 */
export interface OutcomeParts {
  readonly outcomes: Pick<Outcomes, 'find' | 'put'>;
  readonly memory: OutcomeMemory;
  readonly findDecision: (
    customer: CustomerNumber,
    requestId: string,
    nowMs: number,
  ) => Pick<DecisionRecord, 'occurredAtMs' | 'publicKey' | 'outcome' | 'trace'> | null;
}

interface Rejected {
  readonly index: number;
  readonly code: 'unknown_request' | 'invalid_outcome';
}

export function outcomeHandlers(
  endpoint: EndpointFactory,
  { outcomes, memory, findDecision }: OutcomeParts,
): SecretHandlers<'reportOutcomes'> {
  const report: EndpointHandler<BodyOf<typeof OUTCOME_REPORT>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { slices } = request;
    const rejected: Rejected[] = [];
    const shared = new Set<Promise<void>>();
    const ids = read.value.requestIds.split(' ');
    for (const [index, requestId] of ids.entries()) {
      // Finding a decision takes 50 µs, so only a few fit in a slice.
      if (slices.isOver) await slices.begin();
      const outcome = OUTCOMES[Number(read.value.outcomes[index])];
      if (outcome === undefined) rejected.push({ index, code: 'invalid_outcome' });
      else if (!settle(request.caller.customer, requestId, outcome, request.nowMs, shared))
        rejected.push({ index, code: 'unknown_request' });
    }
    // Every node knows them when the caller has its response.
    if (shared.size > 0) await Promise.all(shared);
    return { kind: 'json', status: 202, body: { accepted: ids.length - rejected.length, rejected } };
  };

  /** Returns false if the customer has no such decision, or if it is older than `OUTCOMES_KEPT_MS`. */
  function settle(
    customer: CustomerNumber,
    requestId: string,
    outcome: Outcome,
    nowMs: number,
    shared: Set<Promise<void>>,
  ): boolean {
    const decision = findDecision(customer, requestId, nowMs);
    if (decision === null || decision.occurredAtMs < nowMs - OUTCOMES_KEPT_MS) return false;
    const { occurredAtMs, publicKey, trace } = decision;
    const before = outcomes.find(requestId) ?? decision.outcome;
    if (before === outcome) return true;
    if (trace !== null) {
      const settled = memory.settle({ customer, publicKey, trace, occurredAtMs, nowMs, before, outcome });
      if (settled instanceof Promise) shared.add(settled);
    }
    outcomes.put(requestId, outcome);
    return true;
  }

  return { reportOutcomes: endpoint({ body: OUTCOME_REPORT, allowance: 'decide' }, report) };
}
