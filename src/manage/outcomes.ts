import type { CustomerNumber } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import type { DecisionRecord } from '../core/decision-record.ts';
import type { OutcomeMemory } from '../core/history.ts';
import { type Outcome, OUTCOMES } from '../core/outcome.ts';
import { OUTCOMES_KEPT_MS } from '../limits.ts';
import type { Outcomes } from '../store/outcomes.ts';
import type { BodyOf } from './body.ts';
import type { Managed, ManagedHandler } from './managed.ts';
import { OUTCOME_REPORT } from './outcome-body.ts';

/**
 * What became of decisions: whether the password was right, the card declined, the challenge passed. Counted in the velocity table
 * before the answer leaves, so every decide that comes after it knows. No label, and no evidence for the registry.
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

export function outcomeRoutes(managed: Managed, { outcomes, memory, findDecision }: OutcomeParts): Route[] {
  const report: ManagedHandler<BodyOf<typeof OUTCOME_REPORT>> = async (request) => {
    const read = request.body;
    if (read.kind === 'problem') return read;
    const { slices } = request;
    const rejected: Rejected[] = [];
    const ids = read.value.requestIds.split(' ');
    for (const [index, requestId] of ids.entries()) {
      // A decision is looked for in 50 µs, so a slice holds a handful.
      if (slices.isOver) await slices.begin();
      const outcome = OUTCOMES[Number(read.value.outcomes[index])];
      if (outcome === undefined) rejected.push({ index, code: 'invalid_outcome' });
      else if (!settle(request.caller.customer, requestId, outcome, request.nowMs))
        rejected.push({ index, code: 'unknown_request' });
    }
    return { kind: 'json', status: 202, body: { accepted: ids.length - rejected.length, rejected } };
  };

  /** false where the customer has no such decision. */
  function settle(customer: CustomerNumber, requestId: string, outcome: Outcome, nowMs: number): boolean {
    const decision = findDecision(customer, requestId, nowMs);
    if (decision === null || decision.occurredAtMs < nowMs - OUTCOMES_KEPT_MS) return false;
    const { occurredAtMs, publicKey, trace } = decision;
    const before = outcomes.find(requestId) ?? decision.outcome;
    if (before === outcome) return true;
    if (trace !== null) memory.settle({ customer, publicKey, trace, occurredAtMs, nowMs, before, outcome });
    outcomes.put(requestId, outcome);
    return true;
  }

  return [managed.route('/v1/outcomes', { POST: managed({ body: OUTCOME_REPORT, allowance: 'decide' }, report) })];
}
