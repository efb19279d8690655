import type { CustomerNumber } from '../kernel/brand.ts';
import { OUTCOMES_KEPT_MS } from '../kernel/limits.ts';
import type { ReportedOutcome, ReportedOutcomes } from '../ports/outcome-reports.ts';
import type { OutcomeMemory } from '../ports/velocity.ts';
import type { Outcomes } from '../state/tables/outcome-table.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { DecisionLog } from './decision-log.ts';
import type { RequestLog } from './request-log/request-log.ts';

export interface OutcomeStores {
  readonly decisions: Pick<DecisionLog, 'find'>;
  readonly outcomes: Pick<Outcomes, 'find' | 'put'>;
  readonly memory: OutcomeMemory;
  /** Keeps the outcomes of requests that it has. */
  readonly requestLog: Pick<RequestLog, 'outcome'>;
}

/** Outcomes of the decisions of this node. They are counted in the velocity store before `report` resolves. */
export class LocalOutcomes implements ReportedOutcomes<Slices> {
  readonly #stores: OutcomeStores;

  constructor(stores: OutcomeStores) {
    this.#stores = stores;
  }

  async report(
    customer: CustomerNumber,
    reports: readonly ReportedOutcome[],
    nowMs: number,
    slices: Slices,
  ): Promise<readonly boolean[]> {
    const accepted: boolean[] = [];
    const counting = new Set<Promise<void>>();
    for (const one of reports) {
      // Finding a decision takes 50 µs, so only a few fit in a slice.
      if (slices.isOver) await slices.begin();
      accepted.push(this.#settle(customer, one, nowMs, counting));
    }
    // Every node counts them when the caller has its response.
    if (counting.size > 0) await Promise.all(counting);
    return accepted;
  }

  /** Returns false if this node has no such decision, or if it is older than `OUTCOMES_KEPT_MS`. */
  #settle(
    customer: CustomerNumber,
    { requestId, outcome }: ReportedOutcome,
    nowMs: number,
    counting: Set<Promise<void>>,
  ): boolean {
    const { decisions, outcomes, memory, requestLog } = this.#stores;
    const decision = decisions.find(customer, requestId, nowMs)?.record ?? null;
    if (decision === null || decision.occurredAtMs < nowMs - OUTCOMES_KEPT_MS) return false;
    const { occurredAtMs, publicKey, trace } = decision;
    const before = outcomes.find(requestId) ?? decision.outcome;
    if (before === outcome) return true;
    if (trace !== null) {
      const counted = memory.settle({ customer, publicKey, trace, occurredAtMs, nowMs, before, outcome });
      if (counted instanceof Promise) counting.add(counted);
    }
    outcomes.put(requestId, outcome);
    requestLog.outcome(customer, requestId, outcome, nowMs);
    return true;
  }
}
