import { describe, expect, test } from 'vitest';
import type { LinkSummaryBody, LoggedDecisionRow } from '../../../src/contract/wire-types.ts';
import { toGraph } from '../../../src/web/dashboard/pages/links/graph-data.ts';
import { defaultLaneKind, distinctLinks, laneKinds, toLanes } from '../../../src/web/dashboard/pages/links/lanes.ts';

type Link = LoggedDecisionRow['links'][number];

/** Only what the pictures read of a decision. */
function row(n: number, links: readonly Link[]): LoggedDecisionRow {
  return {
    request_id: `req_${n}`,
    decision: 'ALLOW',
    occurred_at: 1_795_262_400 - n,
    links,
  } as unknown as LoggedDecisionRow;
}

function link(kind: string, id: number | string): Link {
  return { kind, id: String(id) };
}

/** 40 accounts of one device from four addresses; each account twice, the first one three times more. */
const ROWS = [
  ...Array.from({ length: 80 }, (_, n) =>
    row(n, [link('entity.email', n % 40), link('ip', n % 4), link('network', 1)]),
  ),
  ...Array.from({ length: 3 }, (_, n) => row(100 + n, [link('entity.email', 0), link('ip', 0)])),
  row(200, [link('ip', 1)]),
];

describe('The time line of a link', () => {
  test('has at most twelve lanes, that with the most decisions first, and one for everything else', () => {
    const lanes = toLanes(ROWS, 'entity.email');
    expect(lanes).toHaveLength(13);
    expect(lanes[0]?.id).toBe('0');
    expect(lanes[0]?.rows).toHaveLength(5);
    expect(lanes.at(-1)?.id).toBe(null);
    // No decision is lost, and none is drawn twice.
    expect(lanes.flatMap(({ rows }) => rows.map(({ request_id: id }) => id)).sort((a, b) => (a < b ? -1 : 1))).toEqual(
      ROWS.map(({ request_id: id }) => id).sort((a, b) => (a < b ? -1 : 1)),
    );
  });

  test('has no lane for the rest where there is none', () => {
    expect(toLanes(ROWS, 'ip').map(({ id }) => id)).toEqual(['0', '1', '2', '3']);
  });

  test('shows the identities of a device, and the devices of an identity', () => {
    expect(laneKinds(ROWS, 'fingerprint')).toEqual(['entity.email', 'ip', 'network']);
    expect(defaultLaneKind(['ip', 'entity.email', 'fingerprint'], 'network')).toBe('entity.email');
    expect(defaultLaneKind(['entity.phone', 'ip', 'fingerprint'], 'entity.email')).toBe('fingerprint');
    expect(defaultLaneKind(['ip'], 'session')).toBe('ip');
    expect(defaultLaneKind([], 'session')).toBe(null);
    expect(distinctLinks(ROWS, 'entity.email')).toBe(40);
  });
});

describe('The graph of a link', () => {
  const neighbours = Array.from({ length: 100 }, (_, n) => ({
    ...link('entity.email', n),
    count: 100 - n,
    worst: 'ALLOW',
    last_seen: 1,
  })) as LinkSummaryBody['neighbours'];

  test('has at most 60 nodes, the subject first, and connects what occurs in one decision', () => {
    const rows = [row(1, [link('entity.email', 3), link('entity.email', 1), link('entity.email', 99)]), row(2, [])];
    const { nodes, edges } = toGraph({ kind: 'fingerprint', id: 'f', count: 500 }, neighbours, rows);
    expect(nodes).toHaveLength(60);
    expect(nodes[0]).toEqual({ kind: 'fingerprint', id: 'f', count: 500, worst: null });
    expect(edges.slice(0, 59).every(({ source, target }, n) => source === 0 && target === n + 1)).toBe(true);
    // The hundredth neighbour is not drawn, and neither are its edges.
    expect(edges.slice(59)).toEqual([{ source: 2, target: 4, count: 1 }]);
  });

  test('draws at most 180 edges between neighbours, the strongest', () => {
    const all = Array.from({ length: 59 }, (_, n) => link('entity.email', n));
    const rows = [row(1, all), row(2, [link('entity.email', 57), link('entity.email', 58)])];
    const { edges } = toGraph({ kind: 'ip', id: 'x', count: 2 }, neighbours, rows);
    expect(edges).toHaveLength(59 + 180);
    expect(edges[59]).toEqual({ source: 58, target: 59, count: 2 });
  });
});
