import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openDecisionStats } from '../../../src/history/open-decision-log.ts';
import type { DecisionStats } from '../../../src/history/stats/decision-stats.ts';
import { open } from '../../unit/state/support.ts';
import { countIn } from './count-event.ts';
import { describeHistoryStats, type HistoryStatsSubject } from './history-stats.ts';

describeHistoryStats('a store of one node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-stats-'));
  let store = open(folder);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const subject = (stats: DecisionStats): HistoryStatsSubject => ({
    nodes: [{ stats, count: (event) => countIn(stats, event) }],
    settled: () => Promise.resolve(),
    async restart() {
      await stats.close();
      await store.close();
      store = open(folder);
      return subject(openDecisionStats(store));
    },
  });
  return Promise.resolve(subject(openDecisionStats(store)));
});
