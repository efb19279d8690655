import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ADMISSION_FUNCTIONS } from '../../../../src/cluster/admission/admission-functions.ts';
import { ClusterAdmission, type ClusterAdmissionOptions } from '../../../../src/cluster/admission/cluster-admission.ts';
import type { Command, Link, MeasuredLink, Sent } from '../../../../src/cluster/store/link.ts';
import { openLink } from '../../../../src/cluster/store/redis-link.ts';
import { RATE_VISITOR_MIN } from '../../../../src/kernel/limits.ts';
import { LocalAdmission } from '../../../../src/local/local-admission.ts';
import { ReplayGuard } from '../../../../src/local/replay-guard.ts';
import type { AdmissionRequest, AdmittedId, AdmissionVerdict } from '../../../../src/ports/admission.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';

const START = Date.UTC(2026, 10, 21, 12) / 1000;
const HASH_KEY = Buffer.alloc(16, 7);
/** Well beyond a stall of a busy machine. */
const AMPLE_MS = 10_000;
const POLL = { timeout: 20_000, interval: 20 };

let redis: RedisServer;
let proxy: TcpProxy;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  proxy = await startTcpProxy(redis.port);
});

beforeEach(async () => {
  await redis.flush();
});

afterEach(async () => {
  proxy.set('open');
  for (const close of closing.splice(0).toReversed()) await close();
});

afterAll(async () => {
  await proxy.close();
  await redis.stop();
});

interface Node {
  readonly admission: ClusterAdmission;
  readonly link: MeasuredLink;
  readonly staged: AdmittedId[];
}

async function openNode(
  nodeId: string,
  options: Partial<ClusterAdmissionOptions> & { url?: string; idsMax?: number } = {},
): Promise<Node> {
  const link = openLink({ urls: [options.url ?? redis.url], user: null, password: null });
  await vi.waitFor(() => expect(link.isUp).toBe(true), POLL);
  return { link, ...nodeOver(link, nodeId, options) };
}

function nodeOver(
  link: Link,
  nodeId: string,
  { idsMax = 10_000, ...options }: Partial<ClusterAdmissionOptions> & { idsMax?: number } = {},
): Omit<Node, 'link'> {
  const staged: AdmittedId[] = [];
  const ids = new ReplayGuard(idsMax, HASH_KEY);
  const local = new LocalAdmission(ids, { stage: (id) => void staged.push(id) });
  const admission = new ClusterAdmission({
    link,
    local,
    hashKey: HASH_KEY,
    nodeId,
    isStrict: false,
    deadlineMs: AMPLE_MS,
    ...options,
  });
  closing.push(
    () => admission.close(),
    () => link.close(),
  );
  return { admission, staged };
}

const openPair = (options: Parameters<typeof openNode>[1] = {}): Promise<[Node, Node]> =>
  Promise.all([openNode('one', options), openNode('other', options)]);

let serial = 0;

function request(fields: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const nowSeconds = fields.nowSeconds ?? START;
  return {
    window: 'decide',
    keyNumber: 1,
    allowance: 1_000_000,
    source: null,
    requestId: `id-${serial++}`,
    timestampSeconds: nowSeconds,
    nowSeconds,
    ...fields,
  };
}

/** Like `admit`, whose answer may come at once. */
async function admitAt(
  node: Pick<Node, 'admission'>,
  batch: readonly AdmissionRequest[],
): Promise<readonly AdmissionVerdict<AdmissionRequest>[]> {
  return node.admission.admit(batch);
}

async function outcomes(node: Pick<Node, 'admission'>, ...requests: readonly AdmissionRequest[]): Promise<string[]> {
  return (await node.admission.admit(requests)).map(({ outcome }) => outcome);
}

async function one(
  node: Pick<Node, 'admission'>,
  fields: Partial<AdmissionRequest>,
): Promise<AdmissionVerdict<AdmissionRequest>> {
  const [verdict] = await node.admission.admit([request(fields)]);
  if (verdict === undefined) throw new Error('no verdict');
  return verdict;
}

function idOf(verdict: AdmissionVerdict<AdmissionRequest>): AdmittedId {
  if (verdict.outcome !== 'admitted' || verdict.id === null) throw new Error(verdict.outcome);
  return verdict.id;
}

describe('two nodes over one store', () => {
  test('Each of many ids is admitted by exactly one node, when all copies arrive everywhere at the same time', async () => {
    const nodes = await openPair();
    const all = Array.from({ length: 200 }, () => request({ keyNumber: 1 + (serial % 5) }));
    const given = await Promise.all(nodes.flatMap((node) => [0, 1, 2].map(() => admitAt(node, all))));
    for (const [at] of all.entries()) {
      const admitted = given.filter((verdicts) => verdicts[at]?.outcome === 'admitted');
      expect(admitted).toHaveLength(1);
      expect(given.filter((verdicts) => verdicts[at]?.outcome === 'replayed')).toHaveLength(5);
    }
  });

  test('A rate window and a visitor’s share hold over both nodes, and a request over its rate keeps its id', async () => {
    const [first, second] = await openPair();
    const kept = request({ allowance: 10 });
    const sent = await Promise.all(
      [first, second, first, second].map((node) =>
        admitAt(
          node,
          Array.from({ length: 5 }, () => request({ allowance: 10 })),
        ),
      ),
    );
    const given = sent.flat();
    expect(given.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(10);
    expect(await outcomes(second, kept)).toEqual(['rate_limited']);
    expect(await outcomes(first, { ...kept, nowSeconds: START + 60 })).toEqual(['admitted']);

    const later = { keyNumber: 2, allowance: 100, nowSeconds: START + 60 };
    const visit = (): AdmissionRequest => request({ ...later, source: '198.51.100.1' });
    const visits = [first, second].map((node) => admitAt(node, Array.from({ length: 50 }, visit)));
    const counted = (await Promise.all(visits)).flat();
    expect(counted.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(RATE_VISITOR_MIN);
    expect(await outcomes(first, request(later))).toEqual(['admitted']);
  });

  test.each([-10, -5, 5, 10])(
    'Clocks that differ by %i s: no id is admitted by both, as long as a timestamp is in its window',
    async (skew) => {
      const [first, second] = await openPair();
      for (const timestamp of [-300, -1, 0, 300]) {
        const signed = { requestId: `skew-${skew}-${timestamp}`, timestampSeconds: START + timestamp };
        expect((await one(first, { ...signed, nowSeconds: START })).outcome).toBe('admitted');
        // The last second at which the other node takes the timestamp.
        for (const nowSeconds of [Math.min(START + skew, START + timestamp + 300), START + timestamp + 300])
          expect((await one(second, { ...signed, nowSeconds })).outcome).toBe('replayed');
        expect((await one(second, { ...signed, nowSeconds: START + timestamp + 301 })).outcome).toBe('admitted');
      }
    },
  );

  test('Nodes in different minutes count in different windows', async () => {
    const [first, second] = await openPair();
    const fields = { allowance: 3, requestId: null };
    const late = { ...fields, nowSeconds: START + 59 };
    const early = { ...fields, nowSeconds: START + 60 };
    expect(await outcomes(first, request(late), request(late), request(late), request(late))).toEqual([
      ...Array.from({ length: 3 }, () => 'admitted'),
      'rate_limited',
    ]);
    expect(await one(second, early)).toMatchObject({ outcome: 'admitted', remaining: 2, resetSeconds: START + 120 });
    expect((await one(second, late)).outcome).toBe('admitted');
  });

  test('A released id is free on all nodes; the release of a refused copy does not free it', async () => {
    const [first, second] = await openPair();
    const released = request();
    first.admission.release(idOf(await one(first, released)));
    const verdict = await one(second, released);
    expect(verdict.outcome).toBe('admitted');
    // The id that the first node knows has the value of the first node, not that of the second.
    first.admission.release(idOf(verdict));
    await vi.waitFor(() => expect(first.admission.counts.waiting).toBe(0), POLL);
    expect(await outcomes(first, released)).toEqual(['replayed']);
  });

  test('A node without room for ids refuses and leaves the id to the others', async () => {
    const [first, second] = await Promise.all([openNode('one', { idsMax: 2 }), openNode('other')]);
    const refused = request();
    expect(await outcomes(first, request(), refused)).toEqual(['admitted', 'full']);
    await vi.waitFor(async () => expect((await one(second, refused)).outcome).toBe('admitted'), POLL);
  });
});

describe('a store that forgets', () => {
  test('FLUSHALL: a node refuses what it has admitted itself, and its windows go on', async () => {
    const [first, second] = await openPair();
    const used = request({ allowance: 3 });
    expect(await outcomes(first, used, request({ allowance: 3 }))).toEqual(['admitted', 'admitted']);
    await redis.flush();
    expect(await outcomes(first, used)).toEqual(['replayed']);
    // The replay did not count.
    expect(await outcomes(first, request({ allowance: 3 }), request({ allowance: 3 }))).toEqual([
      'admitted',
      'rate_limited',
    ]);
    // The window of the store began with these three.
    expect(await outcomes(second, request({ allowance: 4 }), request({ allowance: 4 }))).toEqual([
      'admitted',
      'rate_limited',
    ]);
  });

  test.each([
    ['FUNCTION', 'FLUSH'],
    ['SCRIPT', 'FLUSH'],
  ])('%s %s: no request is decided without the store', async (...command) => {
    const [first, second] = await openPair();
    const used = request();
    expect(await outcomes(first, used)).toEqual(['admitted']);
    const loads = ADMISSION_FUNCTIONS.loads;
    await redis.command(...command);
    const batches = Array.from({ length: 5 }, () => [request(), request({ keyNumber: 2 })]);
    const given = await Promise.all(batches.map((batch) => outcomes(second, ...batch)));
    expect(new Set(given.flat())).toEqual(new Set(['admitted']));
    expect(await outcomes(second, used)).toEqual(['replayed']);
    expect(ADMISSION_FUNCTIONS.loads > loads).toBe(command[0] === 'FUNCTION');
    expect([first.admission.counts.alone, second.admission.counts.alone]).toEqual([0, 0]);
  });

  test('What stays in the store ends: windows after 3 minutes, ids a minute after their expiry', async () => {
    const node = await openNode('one');
    await one(node, { keyNumber: 3, source: '198.51.100.1' });
    const names = ((await redis.command('KEYS', '*')) as string[]).toSorted();
    const lives = await Promise.all(names.map(async (name) => Number(await redis.command('TTL', name))));
    expect(names).toHaveLength(3);
    for (const [n, name] of names.entries()) {
      expect(name).toMatch(/^\{gh:k3\}:/);
      const limit = /:v?d\d+$/.test(name) ? 180 : 361;
      expect(lives[n]).toBeGreaterThan(limit - 30);
      expect(lives[n]).toBeLessThanOrEqual(limit);
    }
    // Neither the id nor the visitor is readable.
    expect(JSON.stringify(await Promise.all(names.map((name) => redis.command('DUMP', name))))).not.toContain('198.51');
  });
});

describe('a store that fails', () => {
  test('Paused: the node decides alone within the deadline, then at once; ids admitted alone reach the store later', async () => {
    const node = await openNode('one', { deadlineMs: 25 });
    const other = await openNode('other');
    await vi.waitFor(async () => expect(await one(node, {})).not.toHaveProperty('isDegraded'), POLL);
    redis.pause();
    const requests = Array.from({ length: 50 }, () => request());
    try {
      for (const sent of requests) {
        const startedAt = performance.now();
        expect(await one(node, sent)).toMatchObject({ outcome: 'admitted', isDegraded: true });
        expect(performance.now() - startedAt).toBeLessThan(1_000);
      }
      expect(node.link.isUp).toBe(false);
      const at = node.admission.admit([request(), requests[0] ?? request()]);
      // No promise: the decide path does not wait for another turn of the event loop.
      expect(Array.isArray(at)).toBe(true);
      expect((await at).map(({ outcome }) => outcome)).toEqual(['admitted', 'replayed']);
    } finally {
      redis.resume();
    }
    await vi.waitFor(() => expect(node.admission.counts.waiting).toBe(0), POLL);
    await vi.waitFor(() => expect(other.link.isUp).toBe(true), POLL);
    expect(new Set(await outcomes(other, ...requests))).toEqual(new Set(['replayed']));
  });

  test('Out of memory: the node decides alone without waiting, and ids reach the store when it has memory', async () => {
    const [node, other] = await openPair();
    expect(await outcomes(node, request())).toEqual(['admitted']);
    await redis.configure('maxmemory', '1');
    const alone = request();
    expect(await one(node, alone)).toMatchObject({ outcome: 'admitted', isDegraded: true });
    expect(node.link.isUp).toBe(true);
    expect(node.admission.counts).toMatchObject({ alone: 1, waiting: 1 });
    await redis.configure('maxmemory', '0');
    await vi.waitFor(() => expect(node.admission.counts.waiting).toBe(0), POLL);
    expect(await outcomes(other, alone)).toEqual(['replayed']);
  });

  test('A node that stops writes the ids that it admitted alone, if the store answers within 2 s', async () => {
    const [node, other] = await openPair();
    expect(await outcomes(node, request())).toEqual(['admitted']);
    await redis.configure('maxmemory', '1');
    const alone = request();
    expect(await one(node, alone)).toMatchObject({ outcome: 'admitted', isDegraded: true });
    const closing = node.admission.close();
    await redis.configure('maxmemory', '0');
    await closing;
    expect(node.admission.counts.waiting).toBe(0);
    expect(await outcomes(other, alone)).toEqual(['replayed']);
  });

  test('Late by 500 ms: a request is admitted alone after the deadline, and its copy is refused everywhere afterwards', async () => {
    const node = await openNode('one', { url: `redis://127.0.0.1:${proxy.port}`, deadlineMs: 25 });
    const other = await openNode('other');
    await vi.waitFor(async () => expect(await one(node, {})).not.toHaveProperty('isDegraded'), POLL);
    proxy.set(500);
    const late = request();
    // Both are in flight at the same time, and neither verdict of the store arrives.
    const given = await Promise.all([outcomes(node, late), outcomes(node, late)]);
    expect(given.flat().toSorted()).toEqual(['admitted', 'replayed']);
    expect(await outcomes(node, late)).toEqual(['replayed']);
    proxy.set('open');
    await vi.waitFor(() => expect(node.admission.counts.waiting).toBe(0), POLL);
    expect(await outcomes(other, late)).toEqual(['replayed']);
  });

  test('Strict: nothing is admitted or remembered without the store, and it goes on when the store does', async () => {
    const node = await openNode('one', { url: `redis://127.0.0.1:${proxy.port}`, isStrict: true });
    const refused = request();
    await redis.configure('maxmemory', '1');
    expect(await outcomes(node, refused)).toEqual(['unavailable']);
    await redis.configure('maxmemory', '0');
    expect(await outcomes(node, refused)).toEqual(['admitted']);
    expect(node.admission.counts).toMatchObject({ alone: 0, refused: 1, waiting: 0 });
  });

  test('A dead store gives verdicts at once, however many batches arrive, and strict mode refuses at once', async () => {
    const dead = openLink({ urls: ['redis://127.0.0.1:1'], user: null, password: null });
    const node = nodeOver(dead, 'one', { changesMax: 100 });
    const strict = nodeOver(dead, 'two', { isStrict: true });
    for (let n = 0; n < 150; n++) expect(Array.isArray(node.admission.admit([request()]))).toBe(true);
    expect(node.admission.counts).toMatchObject({ alone: 150, waiting: 100, dropped: 50 });
    expect(await outcomes(strict, request())).toEqual(['unavailable']);
    expect(strict.admission.counts).toMatchObject({ refused: 1, waiting: 0 });
  });

  test('A primary that fails leaves the keys of the others with the store', async () => {
    const node = await openNode('one');
    const half: Link = {
      isUp: true,
      send: async (commands, deadlineMs) => {
        const isDown = ({ key }: Command): boolean => key.startsWith('{gh:k2}');
        const rest = await node.link.send(
          commands.filter((command) => !isDown(command)),
          deadlineMs,
        );
        let at = 0;
        const fault: Sent = { kind: 'fault', what: 'down', detail: '' };
        return commands.map((command) => (isDown(command) ? fault : (rest[at++] ?? fault)));
      },
      close: () => Promise.resolve(),
    };
    const partly = nodeOver(half, 'two');
    const verdicts = await partly.admission.admit([request(), request({ keyNumber: 2 }), request()]);
    expect(verdicts.map((verdict) => 'isDegraded' in verdict)).toEqual([false, true, false]);
    expect(partly.admission.counts).toMatchObject({ alone: 1, requests: 3 });
  });
});

test('What a node admits is staged in its own journal', async () => {
  const node = await openNode('one');
  const id = idOf(await one(node, {}));
  node.admission.stage(id);
  expect(node.staged).toEqual([id]);
});
