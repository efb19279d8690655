import type { Cost, Costs } from './interleave.ts';
import { Rig } from './rig.ts';
import type { Builds, LapCosts, Probe, Stage } from './stage.ts';

/** Measures stages in laps: each lap measures every stage once, so that a disturbance of some seconds affects one lap of each. */

export interface LapPlan {
  readonly isSmoke: boolean;
  /** No lap begins that would end after this time, as far as the previous ones tell, except the first `lapsMin`. */
  readonly secondsMax: number;
  readonly lapsMin: number;
  readonly lapsMax: number;
}

/** Costs of one stage, one entry per lap. */
export interface Measured {
  readonly stage: Stage;
  readonly laps: readonly StageLap[];
}

export interface StageLap {
  readonly ours: readonly Cost[];
  readonly reference: readonly Cost[] | null;
  readonly echo: readonly Cost[] | null;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Whether another lap fits: judged by the mean duration of the laps so far. */
export function hasTimeFor(lap: number, elapsedSeconds: number, plan: LapPlan): boolean {
  if (lap >= plan.lapsMax) return false;
  return lap < plan.lapsMin || elapsedSeconds + elapsedSeconds / lap <= plan.secondsMax;
}

/** Measures the stages that can be measured on this machine, in registry order. Prints why others cannot. */
export async function measureLaps(
  probes: readonly Probe[],
  wanted: readonly string[],
  builds: Builds,
  plan: LapPlan,
): Promise<readonly Measured[]> {
  const able = probes.filter((probe) => isAble(probe, wanted));
  const stages = able.flatMap((probe) => probe.stages.filter(({ id }) => wanted.includes(id)));
  const laps = new Map<Stage, StageLap[]>(stages.map((stage) => [stage, []]));
  const rig = new Rig();
  // A run of one lap would otherwise always start the same build first.
  const isSwapped = Math.random() < 0.5;
  const fromMs = performance.now();
  const elapsed = (): number => (performance.now() - fromMs) / 1_000;
  // A check that is stopped leaves no server behind.
  const stop = (): void => void rig.close().then(() => process.exit(2));
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    for (let lap = 0; hasTimeFor(lap, elapsed(), plan); lap++)
      for (const probe of able) {
        const costs = await probe.measure({
          lap,
          isReferenceFirst: (lap % 2 === 1) !== isSwapped,
          isSmoke: plan.isSmoke,
          wanted,
          builds,
          rig,
        });
        for (const [stage, taken] of laps) if (probe.stages.includes(stage)) taken.push(lapOf(stage.id, costs));
      }
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    await rig.close();
  }
  return [...laps].map(([stage, taken]) => ({ stage, laps: taken }));
}

function isAble(probe: Probe, wanted: readonly string[]): boolean {
  const titles = probe.stages.filter(({ id }) => wanted.includes(id)).map(({ title }) => title);
  if (titles.length === 0) return false;
  const unavailable = probe.unavailable();
  if (unavailable !== null) console.log(`not measured here: ${titles.join('; ')}: ${unavailable}`);
  return unavailable === null;
}

function lapOf(id: string, { ours, reference, echo }: LapCosts): StageLap {
  const of = (costs: Costs | null): readonly Cost[] | null => costs?.[id] ?? null;
  return { ours: of(ours) ?? [], reference: of(reference), echo: of(echo) };
}
