import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Effort, type Form, type Measured, type Probe, USUAL_TOLERANCE } from './stage.ts';
import { pairSlices } from './statistics.ts';

/** Single-threaded stages, measured in one process per round, next to a fixed kernel in the same process. */

export interface MicroPlan {
  readonly stages: readonly { readonly stage: string; readonly units: number; readonly kernelUnits: number }[];
  readonly warmUpSlices: number;
  readonly slices: number;
}

/** µs of processor time and of wall time per unit; the reference has one slice more than the stage. */
export interface MicroSlices {
  readonly ours: readonly number[];
  readonly references: readonly number[];
  readonly oursWall: readonly number[];
  readonly referencesWall: readonly number[];
}

const CHILD = new URL('micro-child.js', import.meta.url).pathname;
/**
 * A slice takes 1 to 3 ms: the shorter a slice, the more similar the machine's state is for a slice and its neighbours. Measured: with 15
 * processes competing for two processors, the ratio of verify, one process at a time, spreads by 2.6 % with such slices and by 5.1 % with
 * slices eight times as long; lower quantiles and minima instead of the median spread more (3.8 to 7.6 %).
 */
const UNITS: Readonly<Record<string, { readonly units: number; readonly kernelUnits: number }>> = {
  verify: { units: 512, kernelUnits: 512 },
  engine: { units: 64, kernelUnits: 128 },
  'engine-no-memory': { units: 96, kernelUnits: 128 },
};
const SMOKE_UNITS = 32;
/** Choice: JIT compilation differs by chance between processes, so several processes give more information than many slices of one. */
const PLANS: Readonly<
  Record<Form, { readonly rounds: number; readonly warmUpSlices: number; readonly slices: number }>
> = {
  smoke: { rounds: 1, warmUpSlices: 1, slices: 2 },
  quick: { rounds: 6, warmUpSlices: 250, slices: 240 },
  full: { rounds: 9, warmUpSlices: 250, slices: 600 },
};
const COMMON = { judged: 'processor time', tolerance: USUAL_TOLERANCE } as const;

export const micro: Probe = {
  stages: [
    {
      id: 'verify',
      title: 'verify',
      unit: 'signature',
      reference: 'hashing kernel',
      lookAt: 'src/auth/verify.ts, src/auth/signature.ts, src/auth/key-cache.ts',
      ...COMMON,
    },
    {
      id: 'engine',
      title: 'engine with velocity store',
      unit: 'request',
      reference: 'scoring kernel',
      lookAt: 'src/velocity, src/score, src/risk',
      ...COMMON,
    },
    {
      id: 'engine-no-memory',
      title: 'engine without velocity store',
      unit: 'request',
      reference: 'scoring kernel',
      lookAt: 'src/score, src/risk/rules, src/risk',
      ...COMMON,
    },
  ],

  async measure(wanted: ReadonlySet<string>, { form, times }: Effort): Promise<readonly Measured[]> {
    const { rounds, warmUpSlices, slices } = PLANS[form];
    // Measures all stages even if only some are wanted: alone in its process, verify takes up to 1.08 times as long (measured), because it
    // is compiled differently.
    const stages = Object.entries(UNITS).map(([stage, units]) =>
      form === 'smoke' ? { stage, units: SMOKE_UNITS, kernelUnits: SMOKE_UNITS } : { stage, ...units },
    );
    const plan: MicroPlan = { stages, warmUpSlices, slices };
    const taken: { stage: string; slices: MicroSlices }[] = [];
    for (let round = 0; round < rounds * times; round++) {
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--max-semi-space-size=8',
        CHILD,
        JSON.stringify(plan),
      ]);
      for (const line of stdout.trim().split('\n'))
        taken.push(JSON.parse(line) as { stage: string; slices: MicroSlices });
    }
    return [...wanted].map((stage) => {
      const own = taken.filter((one) => one.stage === stage).map((one) => one.slices);
      return {
        stage,
        rounds: own.map(({ ours, references }) => pairSlices(ours, references)),
        wall: own.map(({ oursWall, referencesWall }) => pairSlices(oursWall, referencesWall)),
      };
    });
  },
};
