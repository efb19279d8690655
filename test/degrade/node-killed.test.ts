import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { extractionClient } from '../support/extractions.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { eventually, type Receiver, startReceiver, webhookClient } from '../support/webhooks.ts';

/** Two servers over one store, one of which is killed: the other goes on with its deliveries and its extraction jobs within 15 s. */

const PAGES = 120;
const COUNT = 2;
/** Source: contract, 19.5. */
const TAKEN_OVER_MS = 15_000;
/** Attempts of a delivery. Source: contract, 10.6. */
const ATTEMPTS = 4;
const ENV = {
  GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
  GATEHOUSE_EXTRACT_HOST_GAP_MS: '25',
  GATEHOUSE_EXTRACT_HOST_CONCURRENCY: '2',
  GATEHOUSE_WORKERS: '1',
};

let redis: RedisServer;
let nodes: Nodes;
beforeEach(async () => {
  redis = await startRedis();
  nodes = await startNodes({ count: COUNT, storeUrl: redis.url, env: ENV });
  for (let n = 0; n < COUNT; n++)
    await vi.waitUntil(async () => (await get(nodes.at(n).url, '/metrics')).text.includes(`cluster_nodes ${COUNT}\n`), {
      timeout: 60_000,
      interval: 50,
    });
}, 240_000);
afterEach(async () => {
  await nodes.stop();
  await redis.stop();
});

describe('an extraction job', () => {
  interface Site {
    readonly url: string;
    readonly startsMs: readonly number[];
    readonly running: () => number;
    close(): Promise<void>;
  }

  /** A tree of pages. Records when each request arrived, and how many were open at a time. */
  async function startSite(): Promise<Site> {
    const startsMs: number[] = [];
    let open = 0;
    let most = 0;
    const server = createServer((request, response) => {
      const page = /^\/site\/(?:page-(\d+))?$/.exec(request.url ?? '');
      if (page === null) return void response.writeHead(404).end();
      startsMs.push(performance.now());
      most = Math.max(most, ++open);
      response.once('close', () => open--);
      const n = Number(page[1] ?? 0);
      const links = [2 * n + 1, 2 * n + 2, n >> 1].filter((to) => to < PAGES);
      const anchors = links.map((to) => `<a href="${to === 0 ? './' : `page-${to}`}">to ${to}</a>`).join('\n');
      const text = `<!doctype html><title>Page ${n}</title><p>Text of page ${n}.</p>${anchors}`;
      setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(text), 10);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/site/`,
      startsMs,
      running: () => most,
      async close() {
        server.closeAllConnections();
        server.close();
        await once(server, 'close');
      },
    };
  }

  test('It ends on another node with every record once, and politeness holds over all nodes', async () => {
    const site = await startSite();
    try {
      const clientOf = (n: number) => extractionClient(nodes.at(n).url, nodes.secretKey);
      const body = {
        connector: 'generic',
        operation: 'site.pages',
        input: { url: site.url, max_depth: 20 },
        collect: { mode: 'all' },
      };
      const killed = await clientOf(0).started(body);
      const other = await clientOf(1).started(body);
      await eventually('some pages', () => Promise.resolve(site.startsMs.length >= 80 ? true : null));
      await nodes.stopNode(0, 'SIGKILL');
      const fromMs = performance.now();
      const collectedAt = async (): Promise<number> => {
        const { json } = await clientOf(1).ask('GET', `/v1/extractions/${killed}`);
        return (json['counts'] as { collected: number }).collected;
      };
      const before = await collectedAt();
      await eventually('more of the job', async () => ((await collectedAt()) > before ? true : null));
      const goesOnMs = performance.now() - fromMs;
      console.log(`a job went on after ${Math.round(goesOnMs)} ms`);
      expect(goesOnMs).toBeLessThan(TAKEN_OVER_MS);
      for (const id of [killed, other]) {
        const job = await clientOf(1).ended(id);
        expect([job.status, job.counts.collected]).toEqual(['succeeded', PAGES]);
        const records = await clientOf(1).allRecords(id);
        expect(records.map(({ _meta }) => _meta.seq)).toEqual(records.map((_record, i) => i + 1));
        expect(new Set(records.map(({ _meta }) => _meta.id)).size).toBe(PAGES);
      }
      expect(site.running()).toBeLessThanOrEqual(2);
      const gaps = site.startsMs.slice(1).map((atMs, n) => atMs - (site.startsMs[n] ?? 0));
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
      // Two nodes that each kept the gap alone would start twice as many.
      expect(mean).toBeGreaterThan(24);
    } finally {
      await site.close();
    }
  }, 300_000);
});

describe('deliveries', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const attemptsOf = (): ReadonlyMap<string, number> => {
    const attempts = new Map<string, number>();
    for (const { headers } of receiver.arrivals) {
      const id = String(headers['webhook-id']);
      attempts.set(id, (attempts.get(id) ?? 0) + 1);
    }
    return attempts;
  };

  test('Those of a killed node go on elsewhere: none is missing, and none has a fifth attempt', async () => {
    await webhookClient(nodes.at(0).url, nodes.secretKey).create(
      receiver.url,
      'ALLOW',
      'SOFT_CHALLENGE',
      'ALLOW_WATCH',
    );
    const has = async (n: number): Promise<boolean> =>
      (await get(nodes.at(n).url, '/metrics')).text.includes('gatehouse_webhooks 1\n');
    await vi.waitUntil(() => has(0).catch(() => true), { timeout: 5_000 });
    receiver.answers(...Array.from({ length: 7 }, () => 503), 200, 503, 503, 200, 503, 503, 503);
    const requests: string[] = [];
    for (let n = 0; n < 9; n++) {
      const { json } = await decide(nodes.at(0).url, nodes.secretKey, newcomer());
      requests.push(String(json['request_id']));
    }
    await receiver.arrived(9);
    await nodes.stopNode(0, 'SIGKILL');
    const fromMs = performance.now();
    const before = receiver.arrivals.length;
    receiver.answers(200);
    await receiver.arrived(before + 1);
    const goesOnMs = performance.now() - fromMs;
    console.log(`a delivery went on after ${Math.round(goesOnMs)} ms`);
    expect(goesOnMs).toBeLessThan(TAKEN_OVER_MS);
    const requestOf = (body: Buffer): string => (JSON.parse(body.toString()) as { request_id: string }).request_id;
    await eventually('all of them', () => {
      const arrived = new Set(receiver.arrivals.map(({ body }) => requestOf(body)));
      return Promise.resolve(requests.every((id) => arrived.has(id)) ? true : null);
    });
    // The node that comes back sends nothing again.
    await nodes.startNode(0);
    const client = webhookClient(nodes.at(1).url, nodes.secretKey);
    await eventually('the end of all', async () => {
      const rows = await client.deliveries();
      return rows.every(({ status }) => status !== 'pending') ? true : null;
    });
    const sent = receiver.arrivals.length;
    await vi.waitUntil(async () => (await get(nodes.at(0).url, '/readyz')).status === 200, { timeout: 20_000 });
    expect(receiver.arrivals.length).toBe(sent);
    expect(Math.max(...attemptsOf().values())).toBeLessThanOrEqual(ATTEMPTS);
  }, 300_000);

  test('A node that stands still longer than its membership lasts sends nothing that others have taken over', async () => {
    await webhookClient(nodes.at(0).url, nodes.secretKey).create(
      receiver.url,
      'ALLOW',
      'SOFT_CHALLENGE',
      'ALLOW_WATCH',
    );
    receiver.answers(503);
    for (let n = 0; n < 3; n++) await decide(nodes.at(0).url, nodes.secretKey, newcomer());
    await receiver.arrived(3);
    const { pid } = nodes.at(0);
    process.kill(pid, 'SIGSTOP');
    try {
      const before = receiver.arrivals.length;
      await receiver.arrived(before + 3);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    const client = webhookClient(nodes.at(1).url, nodes.secretKey);
    await eventually('the end of all', async () => {
      const rows = await client.deliveries();
      return rows.length > 0 && rows.every(({ status }) => status !== 'pending') ? true : null;
    });
    expect(Math.max(...attemptsOf().values())).toBeLessThanOrEqual(ATTEMPTS);
  }, 300_000);
});
