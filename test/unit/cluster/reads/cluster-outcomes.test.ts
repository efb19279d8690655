import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ClusterOutcomes } from '../../../../src/cluster/reads/cluster-outcomes.ts';
import { LocalOutcomes } from '../../../../src/history/local-outcomes.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { SettledEvent } from '../../../../src/ports/velocity.ts';
import type { Outcome } from '../../../../src/risk/event-outcome.ts';
import { Slices, Turns } from '../../../../src/state/tables/turns.ts';
import { recordOf } from '../../state/decision-log-support.ts';
import { openNodes, type TestNode } from '../nodes.ts';
import { startStore, type StoreServer } from '../../../support/store-links.ts';

const NOW = 1_790_000_000_000;
const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

interface Reporter extends TestNode {
  readonly settled: SettledEvent[];
  report(ids: readonly string[], outcome: Outcome, customer?: CustomerNumber): Promise<readonly boolean[]>;
}

async function openReporters(): Promise<[Reporter, Reporter, Reporter]> {
  const [a, b, c] = (await openNodes(server, 3)).map((node): Reporter => {
    const settled: SettledEvent[] = [];
    const { outcomes } = node.store;
    if (outcomes === null) throw new Error('the store is open for writing');
    const local = new LocalOutcomes({
      // Records of a test have no trace.
      decisions: {
        find(...args) {
          const found = node.log.find(...args);
          return found && { ...found, record: { ...found.record, trace: Buffer.from('trace') } };
        },
      },
      outcomes,
      memory: { settle: (event) => void settled.push(event) },
      requestLog: { outcome: () => {} },
    });
    const cluster = new ClusterOutcomes(local, node.peers, new Turns());
    const report: Reporter['report'] = (ids, outcome, customer = ONE) => {
      const reports = ids.map((requestId) => ({ requestId, outcome }));
      return cluster.report(customer, reports, NOW, new Slices(new Turns()));
    };
    return { ...node, settled, report };
  });
  if (a === undefined || b === undefined || c === undefined) throw new Error('there are three nodes');
  return [a, b, c];
}

function decideOn({ log }: TestNode): string {
  const { requestId, bytes } = recordOf({ occurredAtMs: NOW - 1_000 });
  log.append(ONE, bytes, 2);
  return requestId;
}

describe('outcomes that are reported to any node', () => {
  test('The node that has the decision settles it, once, however often and wherever it is reported', async () => {
    const [a, b, c] = await openReporters();
    const ids = [decideOn(a), decideOn(b), decideOn(c)];
    for (const node of [a, b, c]) expect(await node.report(ids, 'failed')).toEqual([true, true, true]);
    expect([a, b, c].map(({ settled }) => settled.map(({ before, outcome }) => [before, outcome]))).toEqual([
      [[null, 'failed']],
      [[null, 'failed']],
      [[null, 'failed']],
    ]);
  });

  test('Another outcome replaces the one that was reported to another node', async () => {
    const [a, b, c] = await openReporters();
    const id = decideOn(a);
    await b.report([id], 'failed');
    await c.report([id], 'succeeded');
    expect(a.settled.map(({ before, outcome }) => [before, outcome])).toEqual([
      [null, 'failed'],
      ['failed', 'succeeded'],
    ]);
    expect([b.settled, c.settled]).toEqual([[], []]);
  });

  test('A decision of another customer and one that nobody has are unknown, the others count', async () => {
    const [a, b] = await openReporters();
    const id = decideOn(a);
    const nobody = recordOf({ occurredAtMs: NOW }).requestId;
    expect(await b.report([id], 'failed', TWO)).toEqual([false]);
    expect(await b.report([nobody, id, 'x'], 'failed')).toEqual([false, true, false]);
    expect(a.settled).toHaveLength(1);
  });

  test('An outcome that could not be delivered is unknown, and counts when it is reported again', async () => {
    const [a, b] = await openReporters();
    const id = decideOn(a);
    a.link.isCut = true;
    expect(await b.report([id], 'failed')).toEqual([false]);
    a.link.isCut = false;
    expect(await b.report([id], 'failed')).toEqual([true]);
    expect(a.settled).toHaveLength(1);
  });
});
