import type { Slice, ToleranceRule } from './statistics.ts';

/** One stage of the service that is compared with its baseline. */
export interface Stage {
  /** As `--stages` and the baseline have it. */
  readonly id: string;
  readonly title: string;
  /** What one unit of work is. */
  readonly unit: string;
  /** What it is divided by. */
  readonly reference: string;
  readonly judged: 'processor time' | 'p99';
  /** Where to look when it became slower. */
  readonly lookAt: string;
  readonly tolerance: ToleranceRule;
}

/** `smoke` shows that every stage works and measures nothing; `quick` takes at most three minutes for all stages. */
export type Form = 'smoke' | 'quick' | 'full';

export interface Effort {
  readonly form: Form;
  /** How many times the form's slices are taken. */
  readonly times: number;
}

/** What is measured together, because it shares servers or a process. */
export interface Probe {
  readonly stages: readonly Stage[];
  /** Why it cannot be measured here; null when it can. */
  unavailable?(): string | null;
  measure(wanted: ReadonlySet<string>, effort: Effort): Promise<readonly Measured[]>;
}

/** The slices of one stage, round by round; each round is a process of its own. */
export interface Measured {
  readonly stage: string;
  readonly rounds: readonly (readonly Slice[])[];
  /** The same by the wall clock, for information only; null where no work was timed. */
  readonly wall: readonly (readonly Slice[])[] | null;
  readonly notes?: readonly string[];
}

/** Choice: 5 % is above what a code change of no consequence does to the compiler's choices; 12 % still shows 15 %. */
export const USUAL_TOLERANCE: ToleranceRule = { floor: 0.05, ceiling: 0.12 };
