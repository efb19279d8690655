import { expect, test } from 'vitest';
import { WeightProposals } from '../../../src/cli/weight-proposals.ts';
import type { Decision } from '../../../src/risk/decision.ts';
import type { DecisionRecord } from '../../../src/risk/decision-record.ts';
import { customer } from '../state/support.ts';

const [ONE, TWO] = [customer(1), customer(2)];

/** A decision in which a crawler was forged, beside another rule. */
function decided(
  id: string,
  decision: Decision,
  others: readonly (readonly [string, number])[],
  weight = 0,
): DecisionRecord {
  const fired = [...others, ['agent_forged', weight] as const];
  const contributions = fired.map(([code, given]) => ({ code, weight: given, evidence: '' }));
  return { requestId: id, decision, wouldBe: null, eventType: 'login', contributions } as unknown as DecisionRecord;
}

function proposals(): WeightProposals {
  const labels = new Map([
    ['a', 'fraud'],
    ['b', 'legitimate'],
  ]);
  const find = (_customer: number, id: string) => (labels.has(id) ? { label: labels.get(id) } : null);
  return new WeightProposals({ labels: { find }, customers: { find: () => null } } as never, { at: () => null });
}

test('A rule without a weight is counted with what it would change at the weight that is proposed', () => {
  const report = proposals();
  report.add(ONE, decided('a', 'ALLOW', []));
  report.add(ONE, decided('b', 'ALLOW', []));
  report.add(ONE, decided('c', 'SOFT_CHALLENGE', [['ip_tor_exit', 0.6]]));
  // It is the stronger one of the family already.
  report.add(ONE, decided('d', 'BLOCK', [['device_headless', 0.95]]));
  report.add(ONE, decided('e', 'ALLOW', [['list_allow', 0]]));
  report.add(TWO, decided('f', 'BLOCK', [], 0.8));
  expect(report.rows()).toEqual([
    {
      customer: ONE,
      rule: 'agent_forged',
      decisions: 5,
      proposedWeight: 0.8,
      wouldBe: { BLOCK: 3 },
      labels: { fraud: 1, legitimate: 1 },
    },
  ]);
});

test('Rules that silence others weigh nothing for good and are not proposed', () => {
  const report = proposals();
  const record = decided('a', 'ALLOW', []);
  const silencing = ['agent_verified', 'ip_relay', 'trusted_source'].map((code) => ({ code, weight: 0, evidence: '' }));
  report.add(ONE, { ...record, contributions: silencing });
  expect(report.rows()).toEqual([]);
  report.add(ONE, record);
  expect(report.rows()).toHaveLength(1);
});
