import type { Slice, ToleranceRule } from './statistics.ts';

/** A stage of the service that is compared with its baseline. */
export interface Stage {
  /** Id used by `--stages` and in the baseline file. */
  readonly id: string;
  readonly title: string;
  /** Name of one unit of work. */
  readonly unit: string;
  /** Name of the work that the cost is divided by. */
  readonly reference: string;
  readonly judged: 'processor time' | 'p99';
  /** Source files to inspect when the stage became slower. */
  readonly lookAt: string;
  readonly tolerance: ToleranceRule;
}

/** `smoke` checks that every stage works and measures nothing; `quick` takes at most three minutes for all stages. */
export type Form = 'smoke' | 'quick' | 'full';

export interface Effort {
  readonly form: Form;
  /** Multiplier of the form's number of slices. */
  readonly times: number;
}

/** Stages that are measured together because they share servers or a process. */
export interface Probe {
  readonly stages: readonly Stage[];
  /** Returns why the stages cannot be measured here, or null when they can. */
  unavailable?(): string | null;
  measure(wanted: ReadonlySet<string>, effort: Effort): Promise<readonly Measured[]>;
}

/** Slices of one stage, grouped by round; each round is a separate process. */
export interface Measured {
  readonly stage: string;
  readonly rounds: readonly (readonly Slice[])[];
  /** The same slices by the wall clock, informational only; null where no work was timed. */
  readonly wall: readonly (readonly Slice[])[] | null;
  readonly notes?: readonly string[];
}

/** Choice: 5 % exceeds the effect that an irrelevant code change has on JIT compilation; 12 % still detects a slow-down of 15 %. */
export const USUAL_TOLERANCE: ToleranceRule = { floor: 0.05, ceiling: 0.12 };
