import { openEcho, openServer, type Target } from '../open-loop/targets.ts';
import { loadUws } from '../../src/http/load-uws.ts';
import { ClosedLoopClient, type Cost } from './closed-loop.ts';
import { type Effort, type Form, type Measured, type Probe, type Stage, USUAL_TOLERANCE } from './stage.ts';
import { pairSlices, type Slice } from './statistics.ts';

/**
 * Processor time of the server per decision, beside that of a bare echo server on the same transport, under the same client and the
 * same number of requests. Requests without a session token are answered before the engine asks its memory: SOFT_CHALLENGE.
 */

type Transport = 'uws' | 'node';

interface Plan {
  readonly rounds: number;
  readonly slices: number;
}

const PLANS: Readonly<Record<Form, Plan>> = {
  smoke: { rounds: 1, slices: 1 },
  quick: { rounds: 3, slices: 12 },
  full: { rounds: 5, slices: 40 },
};
/** Requests of one slice and before the first; on `node:http` each costs three times as much. */
const REQUESTS = { uws: { slice: 1_000, warmUp: 12_000 }, node: { slice: 500, warmUp: 8_000 } } as const;
const SMOKE_REQUESTS = { slice: 64, warmUp: 64 };

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
      const kinds = [true, false].filter((_, n) => wanted.has(stages[n]?.id ?? ''));
      const rounds: Round[] = [];
      for (let n = 0; n < plan.rounds * times; n++)
        rounds.push(
          await runRound(transport, kinds, plan.slices, form === 'smoke' ? SMOKE_REQUESTS : REQUESTS[transport]),
        );
      return kinds.map((withSession, kind) => ({
        stage: stageOf(transport, withSession).id,
        rounds: rounds.map((round) => slicesOf(round, kind, ({ processorUs }) => processorUs)),
        wall: rounds.map((round) => slicesOf(round, kind, ({ wallUs }) => wallUs)),
      }));
    },
  };
}

/** Echo, then each kind, then echo: one more of the echo than of each kind. */
interface Round {
  readonly echoes: readonly Cost[];
  readonly kinds: readonly (readonly Cost[])[];
}

async function runRound(
  transport: Transport,
  kinds: readonly boolean[],
  slices: number,
  { slice: requests, warmUp }: { readonly slice: number; readonly warmUp: number },
): Promise<Round> {
  const opened: Target[] = [];
  const client = new ClosedLoopClient();
  try {
    const echo = await openEcho(transport);
    opened.push(echo);
    const server = await openServer({ transport, nodeFlags: [] });
    opened.push(server);
    await client.load(echo, warmUp);
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
    title: `decide on ${transport}, ${withSession ? 'with memory' : 'without session and memory'}`,
    unit: 'request',
    reference: `echo on ${transport}`,
    judged: 'processor time',
    lookAt: `src/http/${transport}.ts, src/http/gate.ts, src/decide, src/pools${withSession ? ', src/score, src/velocity' : ', src/score/gather.ts'}`,
    tolerance: USUAL_TOLERANCE,
  };
}
