import type { Build } from './build.ts';
import type { Costs } from './interleave.ts';
import type { Rig } from './rig.ts';

/** A stage of the service whose cost is compared between two builds. */
export interface Stage {
  /** Id used by `--stages` and in the file of the noise. */
  readonly id: string;
  readonly title: string;
  /** Name of one unit of work. */
  readonly unit: string;
  /** Units of work in one slice. */
  readonly units: number;
  /** Source files to inspect when the stage became slower. */
  readonly lookAt: string;
  /** Measured by `--quick` too. The others run in the full form only, or when `--stages` names them. */
  readonly isQuick: boolean;
  /** Reported, without a verdict: its noise was never measured. */
  readonly isUnjudged?: true;
}

/** `smoke` checks that every stage works and measures nothing; `quick` takes at most three minutes for everything. */
export type Form = 'smoke' | 'quick' | 'full';

/** What one lap measures. */
export interface LapOrder {
  readonly lap: number;
  /** Whether the reference starts first; it does in every second lap. */
  readonly isReferenceFirst: boolean;
  readonly isSmoke: boolean;
  /** Ids of the stages to measure. */
  readonly wanted: readonly string[];
  readonly builds: Builds;
  readonly rig: Rig;
}

/** `reference` is null where there is none: then the figures are reported without a verdict. */
export interface Builds {
  readonly ours: Build;
  readonly reference: Build | null;
}

/** Costs of the slices of one lap by stage. */
export interface LapCosts {
  readonly ours: Costs;
  readonly reference: Costs | null;
  /** Costs of the bare echo server, in the first lap of stages that have one. */
  readonly echo: Costs | null;
}

/** Stages that are measured together because they share processes. */
export interface Probe {
  readonly stages: readonly Stage[];
  /** Returns why the stages cannot be measured here, or null when they can. */
  unavailable(): string | null;
  /** Measures one lap with processes of its own: JIT compilation differs by chance between processes. */
  measure(order: LapOrder): Promise<LapCosts>;
}
