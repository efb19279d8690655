import type { SendPlan } from '../open-loop/plan.ts';
import { Sender } from '../open-loop/run-phase.ts';
import { summarise } from '../open-loop/summary.ts';
import { openEcho, openServer, type Target } from '../open-loop/targets.ts';
import { ClosedLoopClient } from './closed-loop.ts';
import type { Effort, Form, Measured, Probe } from './stage.ts';
import type { Slice } from './statistics.ts';
import { loadUws } from '../../src/http/load-uws.ts';

/**
 * Compares the p99 of decide at a quarter of its capacity with that of the echo server, in an open loop. Both servers are loaded at the
 * same time, each by its own sender, so that each stall of the machine affects both.
 */

interface Plan {
  readonly rounds: number;
  readonly phases: number;
  readonly seconds: number;
  readonly capacityRequests: number;
}

const PLANS: Readonly<Record<Form, Plan>> = {
  smoke: { rounds: 1, phases: 1, seconds: 0.2, capacityRequests: 200 },
  quick: { rounds: 1, phases: 8, seconds: 2, capacityRequests: 20_000 },
  full: { rounds: 3, phases: 10, seconds: 3, capacityRequests: 20_000 },
};
const CAPACITY_SHARE = 0.25;
const CAPACITY_TRIES = 3;
/** Choice: at this rate a sender process keeps its own lateness below a millisecond, with two senders on two processors. */
const RATE_MAX = 4_000;
const RATE_MIN = 200;
const CONNECTIONS = 64;
const SESSIONS = 2_000;
const DRAIN_MS = 5_000;
const WARM_UP_SECONDS = 1;

export const openLoop: Probe = {
  stages: [
    {
      id: 'open-loop-p99',
      title: 'decide, p99 at a quarter of capacity',
      unit: 'request',
      reference: 'echo at the same time',
      judged: 'p99',
      lookAt: 'src/decide/batcher.ts, src/frames, what blocks the event loop, garbage collection',
      // Choice: a tail that is twice as long is a regression; the noise of a shared machine hides differences below the floor.
      tolerance: { floor: 0.3, ceiling: 1 },
    },
  ],
  unavailable() {
    const loaded = loadUws();
    return loaded.kind === 'unavailable' ? loaded.detail : null;
  },
  async measure(_wanted: ReadonlySet<string>, { form, times }: Effort): Promise<readonly Measured[]> {
    const plan = PLANS[form];
    const rounds: Slice[][] = [];
    const notes: string[] = [];
    for (let n = 0; n < plan.rounds * times; n++) {
      const { slices, rate } = await runRound(plan, n);
      rounds.push(slices);
      notes.push(`open loop: ${rate} requests a second to each server`);
    }
    return [{ stage: 'open-loop-p99', rounds, wall: null, notes }];
  },
};

async function runRound(plan: Plan, round: number): Promise<{ slices: Slice[]; rate: number }> {
  const opened: Target[] = [];
  const senders = [new Sender(), new Sender()];
  try {
    for (const opening of [openServer({ transport: 'uws', nodeFlags: [] }), openEcho('uws')])
      opened.push(await opening);
    const [server] = opened;
    if (server === undefined) throw new Error('no server');
    const rate = await findRate(server, plan.capacityRequests);
    const send = (seconds: number, phase: number): Promise<number[]> =>
      Promise.all(
        opened.map(async (target, n) => {
          const outcome = await senders[n]?.run(sendPlan(target, rate, seconds, 1_000 * round + phase));
          return outcome === undefined ? Number.NaN : summarise(outcome).p99_ms * 1_000;
        }),
      );
    await send(Math.min(WARM_UP_SECONDS, plan.seconds), 0);
    const slices: Slice[] = [];
    for (let phase = 1; phase <= plan.phases; phase++) {
      const [ours = Number.NaN, reference = Number.NaN] = await send(plan.seconds, phase);
      slices.push({ ours, reference });
    }
    return { slices, rate };
  } finally {
    for (const sender of senders) sender.close();
    for (const target of opened) await target.stop();
  }
}

/** Warms the server up and returns a quarter of its closed-loop throughput, rounded to hundreds. */
async function findRate(server: Target, requests: number): Promise<number> {
  const client = new ClosedLoopClient();
  try {
    let perSecond = 0;
    for (let n = 0; n < CAPACITY_TRIES; n++)
      perSecond = Math.max(perSecond, 1e6 / (await client.load(server, (requests / CAPACITY_TRIES) | 0)).wallUs);
    const rate = Math.round((perSecond * CAPACITY_SHARE) / 100) * 100;
    return Math.min(RATE_MAX, Math.max(RATE_MIN, rate));
  } finally {
    client.close();
  }
}

function sendPlan({ origin, key }: Target, rate: number, seconds: number, seed: number): SendPlan {
  return {
    origin,
    key,
    arrivals: { perSecond: rate, seconds, process: 'even', seed },
    connections: CONNECTIONS,
    seed,
    shape: { sessions: SESSIONS },
    drainMs: DRAIN_MS,
  };
}
