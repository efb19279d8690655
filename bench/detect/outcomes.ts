import type { Decision } from '../../src/core/decision.ts';
import type { TrafficEvent, TrueOutcome } from '../traffic-days/events.ts';

/** What a customer tells the service of an earlier request, as `POST /v1/outcomes` takes it. */
export interface OutcomeReport {
  readonly requestId: string;
  readonly customerNumber: number;
  readonly outcome: TrueOutcome | 'challenge_failed';
  /** When the customer tells it, Unix ms. */
  readonly atMs: number;
  /** The request that it is about. */
  readonly event: TrafficEvent;
}

/** Takes outcomes in the order of their time, before the next event that comes after them is decided. */
export interface OutcomeSink {
  report(outcome: OutcomeReport): void | Promise<void>;
}

/** For as long as the engine takes no outcomes: they are counted and change nothing. */
export const UNUSED_OUTCOMES: OutcomeSink = { report: () => {} };

/** Choice: a customer knows within that time whether a password fitted or a bank accepted. */
export const OUTCOME_DELAY_MS = 400;

/**
 * What the customer learns after the decision. A challenge stops attackers and no one else, and what is blocked never happens.
 * null where there is nothing to tell.
 */
export function learnedOutcome(event: TrafficEvent, decision: Decision): OutcomeReport['outcome'] | null {
  const { outcome, session } = event;
  if (outcome === null || decision === 'BLOCK') return null;
  return decision === 'SOFT_CHALLENGE' && session.isAttack ? 'challenge_failed' : outcome;
}

/** Reports that are on their way, oldest first: all take equally long. */
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

  /** When the next report is due; Infinity without one. */
  get nextDueMs(): number {
    return this.#waiting[this.#at]?.atMs ?? Infinity;
  }

  add(report: OutcomeReport): void {
    this.#waiting.push(report);
  }

  /** Reports what is due by then. */
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
