import type { DecisionStats } from '../../../src/history/stats/decision-stats.ts';
import type { CountedEvent } from './history-stats.ts';

/** Counts an event as the service does. */
export function countIn(stats: DecisionStats, event: CountedEvent): void {
  const counts = stats.countsOf(event.customer, event.atMs);
  if (event.decision === null) {
    counts?.refused(event.code);
    return;
  }
  counts?.decided(event.decision, event.score, event.latencyMs, event.eventType);
  counts?.reason(event.code);
}
