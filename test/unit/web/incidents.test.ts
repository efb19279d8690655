import { describe, expect, test } from 'vitest';
import type { LoggedDecisionRow } from '../../../src/contract/wire-types.ts';
import { toIncidents } from '../../../src/web/dashboard/pages/overview/incidents.ts';

function row(n: number, fields: Partial<LoggedDecisionRow> = {}): LoggedDecisionRow {
  return {
    request_id: `req_${n}`,
    decision: 'BLOCK',
    event_type: 'login',
    reasons: ['ip_vpn'],
    network: '203.0.113.0/24',
    ip: `203.0.113.${n}`,
    occurred_at: 1_000 - n,
    ...fields,
  } as unknown as LoggedDecisionRow;
}

describe('Decisions that are alike', () => {
  test('are one row with their number and the time of the oldest, also where others lie between them', () => {
    const rows = [row(0), row(1), row(2, { reasons: ['ip_proxy'] }), row(3), row(4, { network: '198.51.100.0/24' })];
    expect(toIncidents(rows).map(({ row: { request_id: id }, count, since }) => [id, count, since])).toEqual([
      ['req_0', 3, 997],
      ['req_2', 1, 998],
      ['req_4', 1, 996],
    ]);
  });

  test('differ by decision and event type', () => {
    expect(toIncidents([row(0), row(1, { decision: 'REVIEW' }), row(2, { event_type: 'payment' })])).toHaveLength(3);
  });
});
