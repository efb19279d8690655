import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeMessage, encodeMessage, questionFormat } from '../../../../src/cluster/nodes/peer-message.ts';
import { comparePositions, mergePages, queryAt, sourceOf } from '../../../../src/cluster/reads/source-order.ts';
import { inboxOf } from '../../../../src/cluster/nodes/peers.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { Coverage, HistoryStatsPoint, Position } from '../../../../src/ports/decision-history.ts';
import { Slices, Turns } from '../../../../src/state/tables/turns.ts';
import { recordOf } from '../../state/decision-log-support.ts';
import { countIn } from '../../../conformance/ports/count-event.ts';
import { CLUSTER_KEY, openNode, openNodes, type TestNode } from '../nodes.ts';
import { ask, startStore, type StoreServer } from '../../../support/store-links.ts';

const NOW = 1_790_000_000_000;
const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

/** Decisions of `count` times, several of one millisecond, in turn on all nodes. */
function fill(nodes: readonly TestNode[], count: number, fromMs = NOW - count, customer = ONE): string[] {
  return Array.from({ length: count }, (_, n) => {
    const { requestId, bytes } = recordOf({ occurredAtMs: fromMs + Math.floor(n / 4), decision: 'BLOCK' });
    nodes[n % nodes.length]?.history.append(customer, bytes, 2);
    return requestId;
  });
}

interface Paged {
  readonly ids: string[];
  readonly timesMs: number[];
  isPartial: boolean;
}

/** Reads all pages from one node; `between` runs after each page. */
async function readAll(
  { history }: TestNode,
  limit: number,
  between: (page: number) => Promise<void> | void = () => {},
  customer = ONE,
): Promise<Paged> {
  const read: Paged = { ids: [], timesMs: [], isPartial: false };
  let after: Position | null = null;
  for (let page = 0; ; page++) {
    const coverage: Coverage = { isPartial: false };
    const query = { decision: null, text: null, limit, nowMs: NOW, after, coverage };
    const found = await history.search(customer, query);
    if (found.kind === 'busy') throw new Error('the search was refused');
    read.ids.push(...found.rows.map(({ record }) => record.requestId));
    read.timesMs.push(...found.rows.map(({ record }) => record.occurredAtMs));
    read.isPartial ||= coverage.isPartial;
    after = found.next;
    if (after === null) return read;
    await between(page);
  }
}

const slices = (): Slices => new Slices(new Turns());
const [first, second, third] = [0, 1, 2];
const at = <T>(list: readonly T[], n: number): T => {
  const one = list[n];
  if (one === undefined) throw new Error(`there is no ${n}`);
  return one;
};

describe('the decisions of three nodes', () => {
  test('Pages read from any node have every decision once, newest first, in the same order', async () => {
    const nodes = await openNodes(server, 3);
    const ids = fill(nodes, 200);
    const reads = await Promise.all(nodes.map((node) => readAll(node, 7)));
    const [read = { ids: [], timesMs: [], isPartial: true }] = reads;
    expect(read.ids.toSorted()).toEqual(ids.toSorted());
    expect(read.timesMs).toEqual(read.timesMs.toSorted((a, b) => b - a));
    for (const other of reads) expect(other).toEqual(read);
    expect(read.isPartial).toBe(false);
  });

  test('Decisions that arrive between the pages neither repeat nor hide others', async () => {
    const nodes = await openNodes(server, 3);
    const ids = fill(nodes, 60);
    const read = await readAll(at(nodes, first), 9, (page) => void fill(nodes, 5, NOW + 10 * page));
    expect(read.ids.toSorted()).toEqual(ids.toSorted());
  });

  test('When a node dies between two pages, those of the others follow once each, and the answer is partial', async () => {
    const nodes = await openNodes(server, 3, { goneMs: 1_000 });
    const ids = fill(nodes, 90);
    const left = ids.filter((_, n) => n % 3 !== second);
    const read = await readAll(at(nodes, first), 10, async (page) => {
      if (page === 1) await at(nodes, second).kill();
    });
    expect(new Set(read.ids).size).toBe(read.ids.length);
    expect(left.filter((id) => !read.ids.includes(id))).toEqual([]);
    expect(read.isPartial).toBe(true);
  });

  test('A node that does not answer makes the answer partial within the deadline', async () => {
    const nodes = await openNodes(server, 3);
    const ids = fill(nodes, 30);
    at(nodes, third).link.isCut = true;
    const startedMs = performance.now();
    const read = await readAll(at(nodes, first), 100);
    expect(performance.now() - startedMs).toBeLessThan(3_500);
    expect(read.isPartial).toBe(true);
    expect(read.ids.toSorted()).toEqual(ids.filter((_, n) => n % 3 !== third).toSorted());
  });

  test('Without the store a node shows what it has, and that it is partial', async () => {
    const nodes = await openNodes(server, 2);
    const ids = fill(nodes, 10);
    at(nodes, first).link.isCut = true;
    const read = await readAll(at(nodes, first), 100);
    expect(read).toMatchObject({ isPartial: true });
    expect(read.ids.toSorted()).toEqual(ids.filter((_, n) => n % 2 === first).toSorted());
  });

  test('A decision is found from every node by its customer only', async () => {
    const nodes = await openNodes(server, 3);
    const ids = fill(nodes, 6);
    for (const node of nodes) {
      for (const id of ids) {
        expect((await node.history.find(ONE, id, NOW))?.record.requestId).toBe(id);
        const coverage = { isPartial: false };
        expect(await node.history.find(TWO, id, NOW, coverage)).toBeNull();
        expect(await node.history.positionOf(TWO, id, NOW, coverage)).toBeNull();
        expect(coverage.isPartial).toBe(false);
      }
      expect((await readAll(node, 10, () => {}, TWO)).ids).toEqual([]);
      const scanned = await node.history.scan(TWO, ALL, () => false);
      expect(scanned).toMatchObject({ kind: 'scanned', rows: 0 });
    }
  });

  test('Decisions logged after another one are those of all nodes, on other nodes also those of the second before', async () => {
    const nodes = await openNodes(server, 3);
    const ids = Array.from({ length: 9 }, (_, n) => at(fill([at(nodes, n % 3)], 1, NOW - 9_000 + 500 * n), 0));
    for (const node of nodes) {
      const loggedAfter = await node.history.positionOf(ONE, at(ids, 4), NOW);
      expect(loggedAfter).not.toBeNull();
      const query = { decision: null, text: null, limit: 100, nowMs: NOW, after: null, filter: { loggedAfter } };
      const found = await node.history.search(ONE, query);
      expect(found).toMatchObject({ kind: 'page', next: null });
      const shown = found.kind === 'page' ? found.rows.map(({ record }) => record.requestId) : [];
      // The fifth decision was on the second node: the ones half a second and a second before are of the first and the third.
      expect(shown).toEqual([...ids.slice(2, 4), ...ids.slice(5)].toReversed());
    }
  });

  test('A scan passes every decision of all nodes once, and its rows can be read again', async () => {
    const nodes = await openNodes(server, 3);
    const ids = fill(nodes, 300);
    const { history } = at(nodes, second);
    const seen: string[] = [];
    const read: (string | undefined)[] = [];
    const scanned = await history.scan(ONE, ALL, (record, _bytes, rowAt, end, _atMs, block) => {
      seen.push(record.requestId);
      read.push(history.readAt({ block, at: rowAt, end })?.requestId);
      return false;
    });
    expect(scanned).toMatchObject({ kind: 'scanned', rows: 300, isTruncated: false });
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(read).toEqual(seen);
  });

  test('Pages of fingerprints have each fingerprint once with the decisions of all nodes', async () => {
    const nodes = await openNodes(server, 3);
    for (let n = 0; n < 60; n++) {
      const fingerprintHash = (n % 10).toString(16).padStart(64, 'a');
      const { bytes } = recordOf({ occurredAtMs: NOW - 60 + n, decision: 'BLOCK', fingerprint: fingerprintHash });
      at(nodes, n % 3).history.append(ONE, bytes, 1);
    }
    const { history } = at(nodes, third);
    const found: string[] = [];
    let after: Position | null = null;
    let arrivalEnd: number | null = null;
    do {
      const page = await history.fingerprints(ONE, {
        decision: null,
        text: null,
        limit: 3,
        nowMs: NOW,
        after,
        arrivalEnd,
      });
      if (page.kind === 'busy') throw new Error('the search was refused');
      expect(page.rows.map(({ decisions }) => decisions)).toEqual(page.rows.map(() => 6));
      found.push(...page.rows.map(({ newest }) => newest.record.fingerprintHash ?? ''));
      after = page.next;
      arrivalEnd = page.arrivalEnd;
    } while (after !== null);
    const last = Array.from({ length: 10 }, (_, n) => (9 - n).toString(16).padStart(64, 'a'));
    expect(found).toEqual(last);
  });

  test('Statistics are the sums and percentiles of one node that was given everything', async () => {
    const nodes = await openNodes(server, 3);
    const [alone] = await openNodes(server, 1);
    for (let n = 0; n < 500; n++) {
      const event = {
        customer: ONE,
        atMs: NOW + n * 1_000,
        decision: n % 5,
        score: n % 100,
        eventType: `t${n % 3}`,
        latencyMs: n % 3 === 0 ? 200 : 2,
        code: `r${n % 4}`,
      };
      countIn(at(nodes, n % 3).stats, event);
      if (alone !== undefined) countIn(alone.stats, event);
    }
    const range = [ONE, NOW / 1_000, NOW / 1_000 + 600, 60] as const;
    const pointsOf = async (node: TestNode | undefined): Promise<readonly HistoryStatsPoint[]> => {
      const points: HistoryStatsPoint[] = [];
      await node?.allStats.read(...range, slices(), (point) => points.push(point));
      return points;
    };
    const expected = await pointsOf(alone);
    for (const node of nodes) {
      const points = await pointsOf(node);
      expect(points.map(({ at: atSeconds }) => atSeconds)).toEqual(expected.map(({ at: atSeconds }) => atSeconds));
      for (const [n, { counts }] of points.entries()) {
        const other = expected[n]?.counts;
        expect(Array.from(counts.decisions)).toEqual(Array.from(other?.decisions ?? []));
        for (const share of [0.5, 0.99]) expect(counts.latencyAt(share)).toBe(other?.latencyAt(share));
      }
    }
    at(nodes, second).link.isCut = true;
    const coverage = { isPartial: false };
    await at(nodes, first).allStats.read(...range, slices(), () => {}, coverage);
    expect(coverage.isPartial).toBe(true);
  });
});

const ALL = { sinceMs: null, untilMs: null, nowMs: NOW, rowsMax: 30_000 };

describe('the inbox of a node', () => {
  test('Garbage, entries for another inbox, entries of another key and repeated entries are dropped', async () => {
    const nodes = await openNodes(server, 2);
    const [a, b] = [at(nodes, first), at(nodes, second)];
    const ids = fill(nodes, 10);
    const inbox = inboxOf(b.id, b.membership.run);
    const link = await server.link(b.space);
    const question = {
      kind: 'question' as const,
      id: 'ab'.repeat(12),
      from: a.id,
      fromRun: 'another run',
      serial: 1,
      deadlineMs: 1_000,
      name: 'history.find',
      format: questionFormat('history.find'),
      body: [1, NOW, at(ids, 1)],
    };
    const good = encodeMessage(CLUSTER_KEY, inbox, question);
    const entries = [
      Buffer.alloc(0),
      randomBytes(500),
      Buffer.alloc(3 * 1_048_576, 1),
      good.subarray(0, -1),
      encodeMessage(CLUSTER_KEY, 'another inbox', question),
      encodeMessage(Buffer.alloc(32, 9), inbox, question),
      good,
      good,
    ];
    for (const entry of entries) await ask(link, 'RPUSH', inbox, entry);
    await expect.poll(() => b.peers.counts.dropped).toBe(entries.length - 1);
    await expect.poll(() => b.peers.counts.answered).toBe(1);
    expect((await readAll(a, 100)).ids.toSorted()).toEqual(ids.toSorted());
  });

  test('Messages that are written again, to the same run or to another one of the node, are dropped', async () => {
    const nodes = await openNodes(server, 2);
    const [a, b] = [at(nodes, first), at(nodes, second)];
    const link = await server.link(b.space);
    const inbox = inboxOf(b.id, b.membership.run);
    // What the store's operator can copy: all that b gets.
    const copies: Buffer[] = [];
    const send = a.link.send.bind(a.link);
    a.link.send = (commands, ...rest) => {
      for (const { args } of commands) if (args[0] === 'RPUSH' && args[1] === inbox) copies.push(args[2] as Buffer);
      return send(commands, ...rest);
    };
    let reports = 0;
    b.peers.handle('outcomes.report', () => {
      reports++;
      return [];
    });
    for (let n = 0; n < 3; n++) await a.peers.ask('outcomes.report', []);
    expect([reports, copies.length]).toEqual([3, 3]);
    for (const copy of [...copies, ...copies.toReversed()]) await ask(link, 'RPUSH', inbox, copy);
    await expect.poll(() => b.peers.counts.dropped).toBe(6);
    await b.kill();
    const again = await openNode(server, { space: b.space });
    for (const copy of copies) await ask(link, 'RPUSH', inboxOf(again.id, again.membership.run), copy);
    await expect.poll(() => again.peers.counts.dropped).toBe(3);
    expect(reports).toBe(3);
  });

  test('An answer to an earlier question is none to a later one', async () => {
    const nodes = await openNodes(server, 2);
    const [a, b] = [at(nodes, first), at(nodes, second)];
    const link = await server.link(a.space);
    const inbox = inboxOf(a.id, a.membership.run);
    const copies: Buffer[] = [];
    const send = b.link.send.bind(b.link);
    b.link.send = (commands, ...rest) => {
      for (const { args } of commands) if (args[0] === 'RPUSH' && args[1] === inbox) copies.push(args[2] as Buffer);
      return send(commands, ...rest);
    };
    let reply = 'old';
    b.peers.handle('keys.use', () => [[reply]]);
    expect((await a.peers.ask('keys.use', [])).answers[0]?.parts).toEqual([['old']]);
    reply = 'new';
    const asked = a.peers.ask('keys.use', []);
    for (const copy of copies.slice()) await ask(link, 'LPUSH', inbox, copy);
    expect((await asked).answers[0]?.parts).toEqual([['new']]);
  });

  test('A question of an unknown name and a malformed one are answered at once, as missing', async () => {
    const nodes = await openNodes(server, 2);
    const { peers } = at(nodes, first);
    const startedMs = performance.now();
    for (const [name, body] of [
      ['what', []],
      ['history.search', [1, 'no decision']],
      ['history.find', ['x']],
      ['history.scan', [1, 0, 0, 0, 1e12]],
      ['stats.read', [1, 0, 10, 0]],
    ] as const)
      expect(await peers.ask(name, body)).toEqual({ answers: [], isPartial: true });
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  test('A message survives its encoding, and nothing else is one', () => {
    const part = {
      kind: 'part' as const,
      id: '0f'.repeat(12),
      from: 'a',
      fromRun: 'run',
      at: 2,
      status: 'busy' as const,
      body: [1],
    };
    expect(decodeMessage(CLUSTER_KEY, 'inbox', encodeMessage(CLUSTER_KEY, 'inbox', part))).toEqual(part);
    expect(decodeMessage(CLUSTER_KEY, 'inbox', encodeMessage(CLUSTER_KEY, 'inbox', { ...part, id: 'x' }))).toBeNull();
  });
});

describe('the order of decisions of several sources', () => {
  test('Positions are total, and a node reads from a position of another one without gap or repeat', () => {
    const sources = ['a', 'b', 'c'].map((id) => sourceOf(id));
    const all = sources.flatMap((source) =>
      Array.from({ length: 12 }, (_, n) => ({ occurredAtMs: Math.floor(n / 3), arrival: n + 1, source })),
    );
    const sorted = all.toSorted((a, b) => comparePositions(b, a));
    for (const [n, position] of sorted.entries()) {
      const query = { decision: null, text: null, limit: 1, nowMs: 0, after: position };
      const older = sources.flatMap((source) => {
        const { after } = queryAt(query, source);
        return all.filter(
          (one) =>
            one.source === source &&
            after !== null &&
            comparePositions({ ...one, source: 0 }, { ...after, source: 0 }) < 0,
        );
      });
      expect(older.toSorted((a, b) => comparePositions(b, a))).toEqual(sorted.slice(n + 1));
    }
  });

  test('A source whose page ends early bounds the merged page', () => {
    const row = (occurredAtMs: number): { occurredAtMs: number; arrival: number } => ({ occurredAtMs, arrival: 1 });
    const merged = mergePages(
      [
        { source: 1, rows: [row(9), row(2)], next: null },
        { source: 2, rows: [row(8)], next: { occurredAtMs: 7, arrival: 2 } },
      ],
      10,
    );
    expect(merged).toEqual({ rows: [row(9), row(8)], next: { occurredAtMs: 7, arrival: 2, source: 2 } });
  });
});
