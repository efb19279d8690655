import { loadUws } from '../../src/http/load-uws.ts';
import type { Build } from './build.ts';
import type { SendPlan } from '../open-loop/plan.ts';
import { Sender } from '../open-loop/run-phase.ts';
import { countStatuses, summarise } from '../open-loop/summary.ts';
import { type Cost, inTurn } from './interleave.ts';
import { type RunningServer, stopServer } from './rig.ts';
import type { LapCosts, LapOrder, Probe, Stage } from './stage.ts';

/**
 * Measures the p99 latency of decisions in an open loop, at a quarter of the capacity. It depends on the scheduling
 * of the machine more than processor time does, so it belongs to the full form only.
 */

const STAGE: Stage = {
  id: 'p99',
  title: 'p99 in an open loop',
  unit: 'p99',
  units: 1,
  lookAt: 'src/http, src/decide, src/frames, and what stops the event loop: src/observe, src/state',
  isQuick: false,
};

const TRANSPORT = 'uws';
const LOAD_SHARE = 0.25;
const CONNECTIONS = 64;
const WARM_UP_REQUESTS = 10_000;
/** Requests of the closed loop that measures the capacity, after the warm-up. */
const CAPACITY_REQUESTS = 5_000;
/** Choice: 2 s at 2,000 requests a second leave 40 requests above the p99. */
const SLICE_SECONDS = 2;
const SLICES = 6;
const DRAIN_MS = 10_000;
const SMOKE_RATE = 100;

export const latency: Probe = {
  stages: [STAGE],
  unavailable() {
    const loaded = loadUws();
    return loaded.kind === 'unavailable' ? loaded.detail : null;
  },
  measure: measureLatency,
};

/** The lower capacity of both servers in the first lap decides the rate of all laps, so that they are alike. */
let ratePerSecond: number | null = null;

async function measureLatency({ rig, builds, isSmoke, lap, isReferenceFirst }: LapOrder): Promise<LapCosts> {
  const running: RunningServer[] = [];
  // One for each server: a sender process keeps its connections for a phase only, but its code stays compiled.
  const sender = new Sender();
  try {
    const start = async (build: Build): Promise<RunningServer> => {
      const server = await rig.startServer(build, TRANSPORT);
      running.push(server);
      return server;
    };
    await rig.client.begin();
    const [ours, reference] = await inTurn(isReferenceFirst, builds, start);
    const warmUp = isSmoke ? SMOKE_RATE : WARM_UP_REQUESTS;
    await rig.client.prepare(keysOf(running), warmUp);
    for (const { origin, keys } of running) await rig.client.run(origin, keys.plain);
    // Both servers work for it, although one figure counts: measured, one that had 5,000 requests more was a quarter faster afterwards.
    const capacities = [];
    for (const server of running)
      capacities.push(await capacityOf(rig, server, isSmoke ? SMOKE_RATE : CAPACITY_REQUESTS));
    if (lap === 0 || ratePerSecond === null) ratePerSecond = LOAD_SHARE * Math.min(...capacities);
    const costs = new Map<RunningServer, Cost[]>(running.map((server) => [server, []]));
    const slices = isSmoke ? 1 : SLICES;
    for (let slice = -1; slice < slices; slice++) {
      const inOrder = slice % 2 === 0 ? running : running.toReversed();
      for (const server of inOrder) {
        const cost = await sliceOf(sender, server, { perSecond: ratePerSecond, seed: 1_000 * lap + slice + 1 });
        // The first slice of each server compiles the sender.
        if (slice >= 0) costs.get(server)?.push(cost);
      }
    }
    const of = (server: RunningServer): LapCosts['ours'] => ({ [STAGE.id]: costs.get(server) ?? [] });
    return { ours: of(ours), reference: reference === null ? null : of(reference), echo: null };
  } finally {
    sender.close();
    await Promise.all(running.map(stopServer));
  }
}

function keysOf(servers: readonly RunningServer[]): readonly string[] {
  return servers.map(({ keys }) => keys.plain);
}

/** Returns requests per second in a closed loop. */
async function capacityOf(
  { client }: LapOrder['rig'],
  { origin, keys }: RunningServer,
  requests: number,
): Promise<number> {
  await client.prepare([keys.plain], requests);
  const fromMs = performance.now();
  await client.run(origin, keys.plain);
  return requests / ((performance.now() - fromMs) / 1_000);
}

/** Both servers get the same arrivals. The latency is reported as if it were a processor time. */
async function sliceOf(
  sender: Sender,
  { origin, keys }: RunningServer,
  { perSecond, seed }: { readonly perSecond: number; readonly seed: number },
): Promise<Cost> {
  const plan: SendPlan = {
    origin,
    key: keys.plain,
    arrivals: { perSecond, seconds: SLICE_SECONDS, process: 'poisson', seed },
    connections: CONNECTIONS,
    seed,
    shape: {},
    drainMs: DRAIN_MS,
  };
  const outcome = await sender.run(plan);
  const { 200: accepted = 0, ...others } = countStatuses(outcome);
  if (accepted === 0 || Object.keys(others).length > 0)
    throw new Error(`requests to ${origin} failed: ${JSON.stringify({ 200: accepted, ...others })}`);
  const p99Us = summarise(outcome).p99_ms * 1_000;
  return { processorUs: p99Us, wallUs: p99Us };
}
