import { expect, test } from 'vitest';
import type { Decision } from '../../../src/risk/decision.ts';
import type { DecisionRecord } from '../../../src/risk/decision-record.ts';
import { DecisionReport } from '../../../src/risk/decision-report.ts';

function record(eventType: string, decision: Decision, wouldBe: Decision | null, ...codes: string[]): DecisionRecord {
  return {
    requestId: 'req_1',
    occurredAtMs: 0,
    decision,
    wouldBe,
    score: 0,
    sessionMode: 'full',
    shadow: null,
    challenger: null,
    fingerprintHash: null,
    collector: false,
    publicKey: false,
    eventType,
    ip: null,
    country: null,
    asn: null,
    outcome: null,
    trace: null,
    path: null,
    classBytes: null,
    features: null,
    identities: null,
    links: null,
    observed: [],
    contributions: codes.map((code) => ({ code, weight: 0.5, evidence: '' })),
  };
}

test('The report counts decisions by customer and event type, in observe mode as they would have been', () => {
  const report = new DecisionReport();
  report.add(2, record('login', 'BLOCK', null, 'a'));
  report.add(1, record('login', 'ALLOW', 'SOFT_CHALLENGE', 'b'));
  report.add(1, record('login', 'ALLOW', 'BLOCK', 'b', 'a'));
  report.add(1, record('login', 'ALLOW', 'ALLOW_WATCH', 'c'));
  report.add(1, record('search', 'ALLOW', 'ALLOW'));
  const counts = { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
  expect(report.rows()).toEqual([
    {
      customer: 1,
      eventType: 'login',
      decisions: 3,
      observed: 3,
      counts: { ...counts, ALLOW_WATCH: 1, SOFT_CHALLENGE: 1, BLOCK: 1 },
      // Rules that fired on decisions of ALLOW_WATCH are not counted.
      rules: [
        { name: 'b', count: 2 },
        { name: 'a', count: 1 },
      ],
      trusted: [],
    },
    {
      customer: 1,
      eventType: 'search',
      decisions: 1,
      observed: 1,
      counts: { ...counts, ALLOW: 1 },
      rules: [],
      trusted: [],
    },
    {
      customer: 2,
      eventType: 'login',
      decisions: 1,
      observed: 0,
      counts: { ...counts, BLOCK: 1 },
      rules: [{ name: 'a', count: 1 }],
      trusted: [],
    },
  ]);
});

test('The report counts trusted sources by name', () => {
  const report = new DecisionReport();
  const { contributions, ...rest } = record('login', 'ALLOW', null, 'trusted_source');
  report.add(1, { ...rest, contributions: contributions.map((one) => ({ ...one, evidence: 'partner' })) });
  expect(report.rows()[0]?.trusted).toEqual([{ name: 'partner', count: 1 }]);
});

test("The report puts a customer's event types after the hundredth into one row", () => {
  const report = new DecisionReport();
  for (let i = 0; i < 300; i++) report.add(1, record(`type ${i}`, 'ALLOW', null));
  const rows = report.rows();
  expect(rows).toHaveLength(101);
  expect(rows[0]).toMatchObject({ eventType: '(others)', decisions: 200 });
});
