import { BATCH_REQUESTS_MAX } from '../../src/kernel/limits.ts';
import type { PlannedSession, TrafficEvent } from '../../scripts/traffic/events.ts';
import { eventsOf } from '../../scripts/traffic/week.ts';
import type { DetectEngine } from './engine.ts';
import { learnedOutcome, OUTCOME_DELAY_MS, OutcomeQueue } from './outcomes.ts';
import { Tally } from './tally.ts';

export interface RunOptions {
  readonly sessions: readonly PlannedSession[];
  readonly engine: DetectEngine;
  /** Report outcomes to `engine.outcomes`. */
  readonly reportsOutcomes: boolean;
  /** Called every few thousand events with the elapsed share of the virtual clock, 0 to 1. */
  readonly onProgress?: (begun: number) => void;
}

export interface RunResult {
  readonly tally: Tally;
  readonly outcomesReported: number;
}

const PROGRESS_EVENTS = 2_000;

/**
 * Plays sessions on a virtual clock. A batch ends before the next outcome is due, so that an event is never decided before an
 * outcome that arrived earlier.
 */
export async function runSessions({ sessions, engine, reportsOutcomes, onProgress }: RunOptions): Promise<RunResult> {
  const tally = new Tally();
  const queue = reportsOutcomes ? new OutcomeQueue(engine.outcomes) : null;
  const first = sessions[0]?.startMs ?? 0;
  const spanMs = Math.max(1, (sessions.at(-1)?.startMs ?? 0) - first);
  let batch: TrafficEvent[] = [];

  const decide = async (): Promise<void> => {
    const decided = await engine.decide(batch);
    for (const [at, event] of batch.entries()) {
      const one = decided[at];
      if (one === undefined) throw new Error('an event was not decided');
      tally.add(event, one);
      const outcome = queue === null ? null : learnedOutcome(event, one.decision);
      if (outcome !== null) {
        const { requestId } = one;
        const customerNumber = event.session.customer.number;
        queue?.add({ requestId, customerNumber, outcome, atMs: event.atMs + OUTCOME_DELAY_MS, event });
      }
    }
    if (tally.events % PROGRESS_EVENTS < batch.length) onProgress?.(((batch[0]?.atMs ?? 0) - first) / spanMs);
    batch = [];
  };

  for (const event of eventsOf(sessions)) {
    const [earliest] = batch;
    const endMs = Math.min((earliest?.atMs ?? event.atMs) + OUTCOME_DELAY_MS, queue?.nextDueMs ?? Infinity);
    if (batch.length === BATCH_REQUESTS_MAX || (earliest !== undefined && event.atMs >= endMs)) await decide();
    if (batch.length === 0) await queue?.flush(event.atMs);
    batch.push(event);
  }
  if (batch.length > 0) await decide();
  await queue?.flush(Infinity);
  return { tally, outcomesReported: queue?.reported ?? 0 };
}
