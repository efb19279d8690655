import { Counter, Histogram, Registry } from 'prom-client';
import { DECISIONS } from '../../src/risk/decision.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { DecisionCounts } from '../../src/observe/decision-counts.ts';
import type { Stage } from './stage.ts';

const BUCKETS = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1];

export const metrics: Stage = {
  name: 'metrics',
  add(tasks) {
    const counts = new DecisionCounts(RULES.length);
    tasks.add('count a decision, two rules', {
      perSample: 1_024,
      run(n) {
        counts.decided(n & 3, 0b1000_0100, 0, latencyMs(n));
        return counts.latencySeconds.sum;
      },
      isSane: (sum) => sum > 0 && (counts.rules[2] ?? 0) > 0,
    });
    const registers = [new Registry()];
    const decisions = new Counter({ name: 'decisions', help: 'Decisions.', labelNames: ['decision'], registers });
    const seconds = new Histogram({ name: 'seconds', help: 'Seconds.', buckets: BUCKETS, registers });
    tasks.add('the library’s counter and histogram', {
      perSample: 1_024,
      run(n) {
        decisions.inc({ decision: DECISIONS[n & 3] ?? '' });
        seconds.observe(latencyMs(n) / 1000);
        return registers.length;
      },
      isSane: (length) => length === 1,
    });
    return {};
  },
};

function latencyMs(n: number): number {
  return 0.3 + (n & 7);
}
