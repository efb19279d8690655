import type { Decision } from '../../src/risk/decision.ts';
import type { TrafficEvent, TrueOutcome } from '../../scripts/traffic/events.ts';

/** Outcome of an earlier request, as a customer sends it to `POST /v1/outcomes`. */
export interface OutcomeReport {
  readonly requestId: string;
  readonly customerNumber: number;
  readonly outcome: TrueOutcome | 'challenge_failed';
  /** Time at which the customer sends it, Unix ms. */
  readonly atMs: number;
  /** The request that the outcome belongs to. */
  readonly event: TrafficEvent;
}

/** Receives outcomes in time order. Each outcome is reported before any later event is decided. */
export interface OutcomeSink {
  report(outcome: OutcomeReport): void | Promise<void>;
}

/** Choice: delay until a customer reports whether a password was correct or a bank accepted a payment. */
export const OUTCOME_DELAY_MS = 400;

/**
 * Returns the outcome that the customer observes after the decision: attackers fail a challenge, people pass it, and a blocked
 * action has no outcome. null when there is nothing to report.
 */
export function learnedOutcome(event: TrafficEvent, decision: Decision): OutcomeReport['outcome'] | null {
  const { outcome, session } = event;
  if (outcome === null || decision === 'BLOCK') return null;
  return decision === 'SOFT_CHALLENGE' && session.isAttack ? 'challenge_failed' : outcome;
}

/** Pending reports in time order; all have the same delay. */
export class OutcomeQueue {
  readonly #waiting: OutcomeReport[] = [];
  readonly #sink: OutcomeSink;
  #at = 0;
  #reported = 0;

  constructor(sink: OutcomeSink) {
    this.#sink = sink;
  }

  get reported(): number {
    return this.#reported;
  }

  /** Time at which the next report is due; Infinity when there is none. */
  get nextDueMs(): number {
    return this.#waiting[this.#at]?.atMs ?? Infinity;
  }

  add(report: OutcomeReport): void {
    this.#waiting.push(report);
  }

  /** Sends all reports that are due at `nowMs`. */
  async flush(nowMs: number): Promise<void> {
    for (let next = this.#waiting[this.#at]; next !== undefined && next.atMs <= nowMs; next = this.#waiting[this.#at]) {
      this.#at++;
      this.#reported++;
      await this.#sink.report(next);
    }
    if (this.#at < 1_024) return;
    this.#waiting.splice(0, this.#at);
    this.#at = 0;
  }
}
