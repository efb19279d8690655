import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SpreadChanges } from '../../../../src/cluster/reads/spread-changes.ts';
import type { Change, Committer } from '../../../../src/state/feed/changes.ts';
import { fault } from '../../../../src/state/tables/durable.ts';
import type { FingerprintHash } from '../../../../src/kernel/brand.ts';
import { customer } from '../../state/support.ts';
import { openNodes } from '../nodes.ts';
import { startStore, type StoreServer } from '../../../support/store-links.ts';

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

const CHANGE: Change = {
  kind: 'list.removed',
  customer: customer(1),
  fingerprintHash: 'a'.repeat(64) as FingerprintHash,
};
const ORIGIN = { by: 'cli', nowMs: 0 } as const;

async function openSpread() {
  const nodes = await openNodes(server, 3);
  const positions = nodes.map(() => 7);
  const [spread] = nodes.map(({ peers }, n) => new SpreadChanges({ peers, position: () => positions[n] ?? 0 }));
  if (spread === undefined) throw new Error('there are three nodes');
  const outcome = { isFault: false };
  const changes: Committer = {
    commit() {
      if (outcome.isFault) return Promise.resolve(fault('cluster_unavailable', ''));
      positions[0] = 8;
      return Promise.resolve({ kind: 'ok', value: true as never });
    },
  };
  const commit = () => spread.over(changes).commit(CHANGE, ORIGIN);
  return { nodes, positions, outcome, commit };
}

describe('a change of a customer', () => {
  test('It is confirmed when every other live node has applied it', async () => {
    const { positions, commit } = await openSpread();
    let isDone = false;
    const committing = commit().finally(() => (isDone = true));
    positions[1] = 8;
    // The answer of the first node is there long before the deadline of 300 ms.
    await new Promise((done) => setTimeout(done, 100));
    expect(isDone).toBe(false);
    positions[2] = 9;
    expect(await committing).toEqual({ kind: 'ok', value: true });
  });

  test('It is confirmed in time beside a node that does not answer', async () => {
    const { nodes, positions, commit } = await openSpread();
    positions[1] = 8;
    if (nodes[2] !== undefined) nodes[2].link.isCut = true;
    const fromMs = performance.now();
    expect(await commit()).toEqual({ kind: 'ok', value: true });
    expect(performance.now() - fromMs).toBeLessThan(2_000);
  });

  test('If it is refused, no other node is asked', async () => {
    const { nodes, outcome, commit } = await openSpread();
    outcome.isFault = true;
    expect(await commit()).toMatchObject({ kind: 'fault' });
    expect(nodes[0]?.peers.counts.asked).toBe(0);
  });
});
