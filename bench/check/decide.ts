import { openEcho, openServer, type Target } from '../open-loop/targets.ts';
import { loadUws } from '../../src/http/load-uws.ts';
import { ClosedLoopClient, type Cost } from './closed-loop.ts';
import { type Effort, type Form, type Measured, type Probe, type Stage, USUAL_TOLERANCE } from './stage.ts';
import { pairSlices, type Slice } from './statistics.ts';

/**
 * Compares the server's processor time per decision with that of a bare echo server on the same transport, under the same client and the
 * same number of requests. Requests without a session token are answered SOFT_CHALLENGE before the engine queries the velocity store.
 */

type Transport = 'uws' | 'node';

interface Plan {
  readonly rounds: number;
  readonly slices: number;
}

const PLANS: Readonly<Record<Form, Plan>> = {
  smoke: { rounds: 1, slices: 1 },
  quick: { rounds: 4, slices: 13 },
  full: { rounds: 5, slices: 40 },
};
interface Requests {
  readonly slice: number;
  readonly warmUp: number;
  readonly echoWarmUp: number;
}

/**
 * On `node:http` each request costs three times as much. The echo server is the cheapest and needs the most requests until its cost is
 * steady.
 */
const REQUESTS: Readonly<Record<Transport, Requests>> = {
  uws: { slice: 1_000, warmUp: 16_000, echoWarmUp: 40_000 },
  node: { slice: 500, warmUp: 12_000, echoWarmUp: 30_000 },
};
const SMOKE_REQUESTS: Requests = { slice: 64, warmUp: 64, echoWarmUp: 64 };

export function decideProbe(transport: Transport): Probe {
  const stages = [stageOf(transport, true), stageOf(transport, false)];
  return {
    stages,
    unavailable() {
      const loaded = transport === 'uws' ? loadUws() : null;
      return loaded?.kind === 'unavailable' ? loaded.detail : null;
    },
    async measure(wanted: ReadonlySet<string>, { form, times }: Effort): Promise<readonly Measured[]> {
      const plan = PLANS[form];
      // Measures both kinds even if only one is wanted: JIT compilation differs in a server that receives only one kind, and so does its
      // ratio.
      const kinds = [true, false];
      const rounds: Round[] = [];
      for (let n = 0; n < plan.rounds * times; n++)
        rounds.push(
          await runRound(transport, kinds, plan.slices, form === 'smoke' ? SMOKE_REQUESTS : REQUESTS[transport]),
        );
      const measured = kinds.map((withSession, kind) => ({
        stage: stageOf(transport, withSession).id,
        rounds: rounds.map((round) => slicesOf(round, kind, ({ processorUs }) => processorUs)),
        wall: rounds.map((round) => slicesOf(round, kind, ({ wallUs }) => wallUs)),
      }));
      return measured.filter(({ stage }) => wanted.has(stage));
    },
  };
}

/** Costs of one round, measured in the order echo, each kind, echo; `echoes` therefore has one entry more than each kind. */
interface Round {
  readonly echoes: readonly Cost[];
  readonly kinds: readonly (readonly Cost[])[];
}

async function runRound(
  transport: Transport,
  kinds: readonly boolean[],
  slices: number,
  { slice: requests, warmUp, echoWarmUp }: Requests,
): Promise<Round> {
  const opened: Target[] = [];
  const client = new ClosedLoopClient();
  try {
    const echo = await openEcho(transport);
    opened.push(echo);
    const server = await openServer({ transport, nodeFlags: [] });
    opened.push(server);
    await client.load(echo, echoWarmUp);
    await client.load(server, warmUp);
    for (const withSession of kinds) await client.load(server, requests, withSession);
    const echoes = [await client.load(echo, requests)];
    const costs: Cost[][] = kinds.map(() => []);
    for (let n = 0; n < slices; n++) {
      for (const [kind, withSession] of kinds.entries())
        costs[kind]?.push(await client.load(server, requests, withSession));
      echoes.push(await client.load(echo, requests));
    }
    return { echoes, kinds: costs };
  } finally {
    client.close();
    for (const target of opened) await target.stop();
  }
}

function slicesOf({ echoes, kinds }: Round, kind: number, of: (cost: Cost) => number): readonly Slice[] {
  return pairSlices((kinds[kind] ?? []).map(of), echoes.map(of));
}

function stageOf(transport: Transport, withSession: boolean): Stage {
  return {
    id: `decide-${transport}${withSession ? '' : '-no-session'}`,
    title: `decide on ${transport}, ${withSession ? 'with velocity store' : 'without session and velocity store'}`,
    unit: 'request',
    reference: `echo on ${transport}`,
    judged: 'processor time',
    lookAt: `src/http/${transport}.ts, src/http/gate.ts, src/decide, src/frames${withSession ? ', src/score, src/velocity' : ', src/score/gather.ts'}`,
    tolerance: USUAL_TOLERANCE,
  };
}
