import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { readVelocityStats } from '../../../../src/velocity/stats.ts';
import { HAS_REDIS } from '../../../support/redis.ts';
import { useStoreLink } from '../../../support/store-links.ts';
import { openVelocityNode, until, VALUES_KEY, type VelocityNode } from '../../../support/velocity-nodes.ts';
import { event, users } from '../../velocity/events.ts';
import type { ExchangeTask } from './exchange-worker.ts';

const PROGRAM = new URL('../../../../dist/test/unit/cluster/velocity/exchange-worker.js', import.meta.url);
const BATCHES = 500;
const EVENTS = 4;
/** With four threads each is seen 8 times: up to 12 are counted exactly. */
const SESSIONS = 1_000;
const TIMES = (4 * BATCHES * EVENTS) / SESSIONS;

const store = useStoreLink();

interface Thread {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  /** Resolves also when the thread is killed. */
  readonly ended: Promise<void>;
}

function startThread(node: VelocityNode, start: SharedArrayBuffer): Thread {
  const workerData: ExchangeTask = {
    url: store.redis.url,
    valuesKey: VALUES_KEY,
    memory: node.memory,
    start,
    batches: BATCHES,
    eventsPerBatch: EVENTS,
    sessions: SESSIONS,
  };
  const worker = new Worker(PROGRAM, { workerData });
  return {
    worker,
    ready: new Promise((ready, failed) => {
      worker.once('message', () => ready());
      worker.once('error', failed);
    }),
    ended: new Promise((ended) => {
      worker.once('exit', () => ended());
      worker.on('message', (message) => message === 'done' && ended());
    }),
  };
}

/** Three threads of one node and one of another; `during` runs when all have begun. */
async function exchangeUnderLoad(
  during: (threads: readonly Thread[], nodes: readonly VelocityNode[]) => Promise<void>,
) {
  await store.redis.command('FLUSHALL');
  const nodes = [openVelocityNode(store.link), openVelocityNode(store.link)] as const;
  const start = new SharedArrayBuffer(4);
  const [a, b] = nodes;
  const threads = [a, a, a, b].map((node) => startThread(node, start));
  await Promise.all(threads.map(({ ready }) => ready));
  Atomics.store(new Int32Array(start), 0, 1);
  await during(threads, nodes);
  await Promise.all(threads.map(({ ended }) => ended));
  await until('both nodes', async () => (await a.reader().catchUp(5_000)) && (await b.reader().catchUp(5_000)));
  return { a, b };
}

/** How often each session was seen, as the table of a node has it. */
async function seenBy(node: VelocityNode): Promise<number[]> {
  const alone = node.worker({
    isUp: false,
    send: (commands) => store.link.send(commands),
    close: () => Promise.resolve(),
  });
  const seen: number[] = [];
  for (let n = 0; n < SESSIONS; n++) {
    const name = `session-${n}`;
    const events = [event({ sessionId: name, entities: users(name), device: null, networks: null })];
    const [facts] = await alone.observe(events);
    seen.push((facts?.session.decisions1m ?? 0) - 1);
  }
  return seen;
}

describe.runIf(HAS_REDIS)('three threads of one node and one of another', () => {
  test('Every event is applied exactly once at each node, and no session is seen more often than it was', async () => {
    const { a, b } = await exchangeUnderLoad(() => Promise.resolve());
    expect([a.marks.count('applied'), b.marks.count('applied')]).toEqual([BATCHES * EVENTS, 3 * BATCHES * EVENTS]);
    expect([a.marks.count('waiting'), a.marks.count('gaps'), b.marks.count('gaps')]).toEqual([0, 0, 0]);
    for (const node of [a, b]) {
      const seen = await seenBy(node);
      expect(Math.max(...seen)).toBe(TIMES);
      const missing = seen.reduce((sum, times) => sum + TIMES - times, 0);
      // What threads lose to each other in the table: see `Table`.
      expect(missing).toBeLessThanOrEqual(8 + readVelocityStats(node.memory).lost);
    }
  });

  test('A thread that is killed leaves at most the entries that it was applying, and the others go on', async () => {
    const { a, b } = await exchangeUnderLoad(async ([first], [node]) => {
      await until('some entries', () => (node?.marks.count('applied') ?? 0) > 200);
      await first?.worker.terminate();
    });
    const sent = BATCHES * EVENTS;
    expect(a.marks.count('applied')).toBeLessThanOrEqual(sent);
    expect(a.marks.count('applied')).toBeGreaterThanOrEqual(sent - EVENTS);
    expect(b.marks.count('applied')).toBeGreaterThanOrEqual(2 * sent);
    expect(Math.max(...(await seenBy(b)))).toBeLessThanOrEqual(TIMES);
  });
});
