import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyUsage } from '../../../../src/auth/key-usage.ts';
import { ClusterKeyUse } from '../../../../src/cluster/reads/cluster-key-use.ts';
import { openNodes } from '../nodes.ts';
import { startStore, type StoreServer } from '../../../support/store-links.ts';

const NOW = 1_790_000_000;

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

describe('the use of keys on several nodes', () => {
  test('Calls and refusals are summed, seen from any node; a node that does not answer is missing', async () => {
    const nodes = (await openNodes(server, 3)).map((node, n) => {
      const own = new KeyUsage(NOW - 100 + n);
      return { node, own, all: new ClusterKeyUse(own, node.peers) };
    });
    for (const [n, { own }] of nodes.entries()) {
      for (let calls = 0; calls <= n; calls++) own.accepted(7, NOW + n);
      own.refused(7, n === 0 ? 'rate_limited' : 'not_found', NOW);
    }
    for (const { all } of nodes) {
      const coverage = { isPartial: false };
      const [seven, eight] = await all.readAll([7, 8], NOW + 10, coverage);
      expect(seven).toMatchObject({ calls: 6, lastUsedSeconds: NOW + 2, sinceSeconds: NOW - 98 });
      expect(Object.fromEntries(seven?.refusals ?? [])).toEqual({ rate_limited: 1, not_found: 2 });
      expect(eight).toMatchObject({ calls: 0, lastUsedSeconds: null });
      expect(coverage.isPartial).toBe(false);
    }
    const [first, second] = nodes;
    if (second !== undefined) second.node.link.isCut = true;
    const coverage = { isPartial: false };
    expect((await first?.all.readAll([7], NOW + 10, coverage))?.[0]?.calls).toBe(4);
    expect(coverage.isPartial).toBe(true);
  });
});
