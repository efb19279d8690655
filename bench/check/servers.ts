import { loadUws } from '../../src/http/load-uws.ts';
import { DECISIONS } from '../../src/risk/decision.ts';
import { Caller } from '../extract/service.ts';
import { openEcho, type Target } from '../open-loop/targets.ts';
import type { Receiver } from '../webhooks/receiver-client.ts';
import type { Build } from './build.ts';
import { inTurn, interleave, type Subject } from './interleave.ts';
import { ProcessorClock } from './processor-time.ts';
import { type Rig, type RunningServer, SITE_PAGES, stopServer } from './rig.ts';
import type { LapCosts, LapOrder, Probe, Stage } from './stage.ts';

/**
 * Measures the processor time of whole servers, per decision, delivery and page. The servers of both builds run at the same time and work
 * in turn. In the first lap a bare echo server takes turns with them.
 */

interface Sizes {
  readonly passes: number;
  /** Requests before the first slice. */
  readonly warmUp: number;
  /** The echo server is the cheapest and needs the most requests until its cost is steady. */
  readonly echoWarmUp: number;
}

const USUAL: Sizes = { passes: 24, warmUp: 10_000, echoWarmUp: 20_000 };
/** The servers also warm up in turn. */
const WARM_UP_PARTS = 4;
/** Slices of every kind between the warm-up and the first measured slice. */
const WARM_UP_SLICES = 2;
/** On a busy machine fewer slices are measured than planned. */
const SECONDS_MAX = 40;
const SMOKE: Sizes = { passes: 1, warmUp: 64, echoWarmUp: 64 };
const SMOKE_REQUESTS = 64;
const WEBHOOKS = 20;
const POLL_MS = 5;
const WAIT_MS_MAX = 60_000;

/** Decisions per slice of the stage `webhooks`. Each is delivered to every webhook, so that they cost little beside the deliveries. */
const DECISIONS_DELIVERED = 40;

const DECIDE = { unit: 'request', units: 1_000 } as const;
const PACED = { unit: 'request', units: 500 } as const;
/** Stages whose requests are sent at a rate, per second. */
const RATES: Readonly<Record<string, number>> = { 'decide-1000': 1_000, 'decide-4000': 4_000 };

const STAGES: readonly Stage[] = [
  {
    id: 'decide',
    title: 'decide over HTTP',
    ...DECIDE,
    lookAt: 'src/http, src/auth, src/decide, src/frames, src/score, src/velocity',
    isQuick: true,
  },
  {
    id: 'decide-anonymous',
    title: 'decide without a session',
    ...DECIDE,
    lookAt: 'src/http, src/auth, src/decide',
    isQuick: false,
  },
  // Choice: a quiet backend, and about half of what two cores decide.
  {
    id: 'decide-1000',
    title: 'decide, 1,000 a second',
    ...PACED,
    lookAt: 'src/decide (small batches on the hot thread), src/http',
    isQuick: false,
    isUnjudged: true,
  },
  {
    id: 'decide-4000',
    title: 'decide, 4,000 a second',
    ...PACED,
    lookAt: 'src/decide, src/score (hand-over of batches)',
    isQuick: false,
    isUnjudged: true,
  },
  {
    id: 'webhooks',
    title: 'webhooks',
    unit: 'delivery',
    units: DECISIONS_DELIVERED * WEBHOOKS,
    lookAt: 'src/webhooks, src/egress, src/state (deliveries)',
    isQuick: true,
  },
  {
    id: 'extraction',
    title: 'extraction',
    unit: 'page',
    units: SITE_PAGES,
    lookAt: 'src/extract, workers/extract.ts, src/egress, src/state (extractions)',
    isQuick: true,
  },
];

/** The transport differs only in how requests arrive, so nothing else is measured on it. */
const NODE_STAGES: readonly Stage[] = [
  {
    id: 'decide-node',
    title: 'decide over node:http',
    ...DECIDE,
    lookAt: 'src/http/node.ts, src/http/node-connections.ts, src/http/node-sink.ts',
    isQuick: false,
  },
];

export const servers: Probe = {
  stages: STAGES,
  unavailable() {
    const loaded = loadUws();
    return loaded.kind === 'unavailable' ? loaded.detail : null;
  },
  measure: (order) => measureServers(order, 'uws', STAGES),
};

export const nodeServers: Probe = {
  stages: NODE_STAGES,
  unavailable: () => null,
  measure: (order) => measureServers(order, 'node', NODE_STAGES),
};

async function measureServers(order: LapOrder, transport: 'uws' | 'node', stages: readonly Stage[]): Promise<LapCosts> {
  const { rig, builds, isSmoke, lap, isReferenceFirst } = order;
  const wanted = stages.filter(({ id }) => order.wanted.includes(id));
  const running: RunningServer[] = [];
  let echo: Target | null = null;
  try {
    const start = async (build: Build): Promise<RunningServer> => {
      const server = await rig.startServer(build, transport);
      running.push(server);
      return server;
    };
    await rig.client.begin();
    const [ours, reference] = await inTurn(isReferenceFirst, builds, start);
    const hasEcho = lap === 0 && wanted.some(({ id }) => isDecide(id));
    if (hasEcho) echo = await openEcho(transport);
    const sizes = isSmoke ? SMOKE : USUAL;
    const load = new Load(rig, wanted, isSmoke);
    await load.warmUp(running, echo, sizes);
    const subjects = [await load.subject(ours)];
    if (reference !== null) subjects.push(await load.subject(reference));
    if (echo !== null) subjects.push(load.echoSubject(echo));
    const kinds = wanted.map(({ id }) => id);
    const prepare = (kind: string): Promise<void> => load.prepare(kind, running);
    if (!isSmoke) await interleave(subjects, { kinds, passes: WARM_UP_SLICES, secondsMax: SECONDS_MAX, prepare });
    const costs = await interleave(subjects, { kinds, passes: sizes.passes, secondsMax: SECONDS_MAX, prepare });
    return {
      ours: costs[0] ?? {},
      reference: reference === null ? null : (costs[1] ?? {}),
      echo: echo === null ? null : (costs.at(-1) ?? {}),
    };
  } finally {
    await Promise.all([...running.map(stopServer), echo?.stop()]);
  }
}

/** Work of every kind for the servers of one lap. */
class Load {
  readonly #rig: Rig;
  readonly #stages: readonly Stage[];
  readonly #isSmoke: boolean;

  constructor(rig: Rig, stages: readonly Stage[], isSmoke: boolean) {
    this.#rig = rig;
    this.#stages = stages;
    this.#isSmoke = isSmoke;
  }

  /** Loads all servers with decisions until compilers and caches are in their steady state. */
  async warmUp(servers: readonly RunningServer[], echo: Target | null, sizes: Sizes): Promise<void> {
    const { client } = this.#rig;
    const keys = servers.map((server) => server.keys.plain);
    for (let part = 0; part < WARM_UP_PARTS; part++) {
      await client.prepare(keys, sizes.warmUp / WARM_UP_PARTS);
      for (const { origin, keys: own } of servers) await client.run(origin, own.plain);
    }
    if (echo === null) return;
    await client.prepare([echo.key], sizes.echoWarmUp);
    await client.run(echo.origin, echo.key);
  }

  async prepare(kind: string, servers: readonly RunningServer[]): Promise<void> {
    const { client } = this.#rig;
    const units = this.#unitsOf(kind);
    if (kind === 'webhooks') {
      const keys = servers.map((server) => server.keys.withWebhooks);
      await client.prepare(keys, units / WEBHOOKS);
    } else if (isDecide(kind)) {
      const keys = servers.map((server) => server.keys.plain);
      await client.prepare(keys, units, kind === 'decide-anonymous');
    }
  }

  async subject(server: RunningServer): Promise<Subject> {
    const { client } = this.#rig;
    const kinds = this.#stages.map(({ id }) => id);
    const clock = new ProcessorClock(server.child.pid);
    const deliver = kinds.includes('webhooks') ? await this.#webhooksOf(server) : null;
    const crawl = kinds.includes('extraction') ? await this.#crawlOf(server) : null;
    return {
      kinds,
      readUs: () => clock.readUs(),
      async run(kind) {
        if (kind === 'webhooks') await deliver?.();
        else if (kind === 'extraction') await crawl?.();
        else await client.run(server.origin, server.keys.plain, RATES[kind] ?? null);
      },
    };
  }

  echoSubject(echo: Target): Subject {
    const { client } = this.#rig;
    const clock = new ProcessorClock(echo.pid);
    return {
      kinds: this.#stages.map(({ id }) => id).filter(isDecide),
      readUs: () => clock.readUs(),
      run: (kind) => client.runAny(echo.origin, RATES[kind] ?? null),
    };
  }

  /** Creates the webhooks of a server's second customer. Each decision for it is delivered to all of them. */
  async #webhooksOf(server: RunningServer): Promise<() => Promise<void>> {
    const { client } = this.#rig;
    const receiver = await this.#rig.receiver();
    const { withWebhooks: key } = server.keys;
    const made = Array.from({ length: WEBHOOKS }, (_, n) => createWebhook(server, key, receiver.url(`/hook/${n}`)));
    await Promise.all(made);
    const units = this.#unitsOf('webhooks');
    return async () => {
      const { count } = await receiver.report();
      await client.run(server.origin, key);
      await arrived(receiver, count + units);
    };
  }

  async #crawlOf(server: RunningServer): Promise<() => Promise<void>> {
    const origin = await this.#rig.site();
    const caller = new Caller(server.port, server.keys.plain);
    const body = {
      connector: 'generic',
      operation: 'site.pages',
      input: { url: `${origin}/site/`, max_depth: 20 },
      collect: { mode: 'all' },
    };
    return async () => {
      const { id } = await caller.create(body);
      const { counts } = await caller.succeeded(id);
      if (counts.collected !== SITE_PAGES) throw new Error(`the job has ${counts.collected} of ${SITE_PAGES} pages`);
    };
  }

  #unitsOf(kind: string): number {
    const units = this.#stages.find(({ id }) => id === kind)?.units ?? 0;
    if (!this.#isSmoke) return units;
    return kind === 'webhooks' ? WEBHOOKS : Math.min(units, SMOKE_REQUESTS);
  }
}

function isDecide(kind: string): boolean {
  return kind.startsWith('decide');
}

async function createWebhook({ origin }: RunningServer, key: string, url: string): Promise<void> {
  const response = await fetch(`${origin}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, event_types: DECISIONS }),
  });
  if (response.status !== 201) throw new Error(`a webhook was refused: ${response.status} ${await response.text()}`);
}

/** Waits until the receiver has responded to `count` requests since its start. */
async function arrived(receiver: Receiver, count: number): Promise<void> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const report = await receiver.report();
    if (report.count >= count) return;
    if (performance.now() > untilMs) throw new Error(`${report.count} of ${count} deliveries arrived`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
