import type { Store } from '../state/feed/open-store.ts';
import { DecisionLog, type DecisionLogOptions } from './decision-log.ts';
import { DecisionStats } from './stats/decision-stats.ts';
import { readDecisionRows, type RowQuery, type RowVisitor } from './decision-log/read-rows.ts';

/** Opens the decision log, once; only for the server, its only writer. */
export function openDecisionLog(store: Store, options?: DecisionLogOptions): DecisionLog {
  const { decisionBlocks, decisionLinks, dataDir, turns } = store;
  if (decisionBlocks === null || decisionLinks === null)
    throw new Error('the decision log needs the store open for writing');
  const log = new DecisionLog(decisionBlocks, dataDir, { turns, linkTable: decisionLinks, ...options });
  store.attachDecisionLog(log);
  return log;
}

/** Passes the stored rows of the decision log to a command; see `readDecisionRows`. No rows of a store that was opened read-only. */
export function* readDecisions(
  { decisionBlocks }: Store,
  query: RowQuery,
  visit: RowVisitor,
): Generator<undefined, number> {
  return decisionBlocks === null ? 0 : yield* readDecisionRows(decisionBlocks, query, visit);
}

/** Opens the statistics of decisions, once; only for the server, their only writer. */
export function openDecisionStats({ decisionStats, turns }: Store): DecisionStats {
  if (decisionStats === null) throw new Error('the statistics need the store open for writing');
  return new DecisionStats(decisionStats, turns);
}
