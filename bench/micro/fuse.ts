import { evaluateRules, tuneRules } from '../../src/risk/evaluate.ts';
import type { Facts } from '../../src/risk/facts.ts';
import { fuse as fuseEvidence, type Verdict } from '../../src/risk/fuse.ts';
import { DEFAULT_POLICY } from '../../src/risk/policy/policy.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { calmFacts, hostileFacts } from './fixtures.ts';
import type { Stage } from './stage.ts';

export const fuse: Stage = {
  name: 'fuse',
  add(tasks) {
    for (const [name, facts, isSane] of [
      ['calm', calmFacts(), ({ decision, score }: Verdict) => decision === 'ALLOW' && score === 0],
      ['hostile', hostileFacts(), ({ decision, score }: Verdict) => decision === 'BLOCK' && score > 85],
    ] as const) {
      const contributions = contributionsOf(facts);
      tasks.add(name, { perSample: 256, run: () => fuseEvidence(contributions, facts, DEFAULT_POLICY), isSane });
    }
    return {};
  },
};

function contributionsOf(facts: Facts): ReturnType<typeof evaluateRules>['contributions'] {
  return evaluateRules(tuneRules(RULES, DEFAULT_POLICY), facts, DEFAULT_POLICY).contributions;
}
