import type { CustomerNumber } from '../kernel/brand.ts';
import type { Outcome } from '../risk/event-outcome.ts';
import type { Coverage } from './decision-history.ts';

export interface ReportedOutcome {
  readonly requestId: string;
  readonly outcome: Outcome;
}

/**
 * Outcomes of decisions, reported later. The last outcome of a decision counts, once: the node that has the decision keeps it and settles
 * it in the velocity store, wherever it was reported.
 */
export interface ReportedOutcomes<Slices> {
  /**
   * Returns for each report, in their order, whether it was accepted: false if the customer has no such decision, or if the decision is
   * older than `OUTCOMES_KEPT_MS`. Reporting the same outcome again is accepted and changes nothing.
   */
  report(
    customer: CustomerNumber,
    reports: readonly ReportedOutcome[],
    nowMs: number,
    slices: Slices,
    coverage?: Coverage,
  ): Promise<readonly boolean[]>;
}
