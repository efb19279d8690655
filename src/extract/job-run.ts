import { SlotMap } from '../base/slot-map.ts';
import type { ExtractionState } from '../core/extraction-state.ts';
import type { OpenStep } from '../store/extraction-steps.ts';
import type { Job } from '../store/extractions/job-row.ts';
import { Postponed } from './postponed.ts';

/** A step that a worker has. */
export interface Lease {
  readonly number: number;
  readonly run: JobRun;
  readonly step: OpenStep;
  readonly worker: number;
  /** The worker has nothing else meanwhile, because this step may be what ends it. */
  readonly isAlone: boolean;
  /** Requests that wait for their turn at a domain. */
  waiting: number;
  /** Domain of its latest request; null before the first. */
  domain: string | null;
}

/** Choice: open steps that are read at a time; a job with any number of them has so many in memory. */
const STEPS_READ = 32;
/** Choice: steps of one job that wait for their turn at a domain; more would only stand in line for it, in others' places. */
const WAITING_MAX = 2;

const NONE: readonly number[] = [];

/** A running job in memory: where it stands in its steps, and which of them are with workers. */
export class JobRun {
  readonly job: Job;
  state: ExtractionState;
  readonly leases = new SlotMap<Lease>();
  /** Workers that know the job. */
  readonly workers = new Set<number>();
  /** Those of them that know its session as it was before. */
  readonly outdated = new Set<number>();
  /** Of steps: the workers that died while they had it. */
  readonly deaths = new Map<number, number>();
  readonly postponed = new Postponed();
  /** It is over, or about to be: nothing of it is begun any more. */
  isOver = false;
  /** Worker → leases whose results are in the store, until it is told. */
  readonly #written = new Map<number, number[]>();
  readonly #recordsMax: number;
  readonly #again: OpenStep[] = [];
  /** Steps whose source asked to be left alone until then. */
  #later: { readonly atMs: number; readonly step: OpenStep }[] = [];
  #read: OpenStep[] = [];
  #nextStep = 0;
  #isExhausted = false;

  constructor(job: Job, state: ExtractionState, recordsMax: number) {
    this.job = job;
    this.state = state;
    this.#recordsMax = recordsMax;
  }

  /** Infinity where the job takes all. */
  get recordsLeft(): number {
    return this.job.collect.mode === 'all' ? Infinity : Math.max(1, this.#recordsMax - this.state.collected);
  }

  /** The state after a commit. */
  update(state: ExtractionState): void {
    this.state = state;
    if (state.nextStep > this.#nextStep) this.#isExhausted = false;
  }

  /** Whether another step may begin. No more at once than records are wanted: each may well give one. */
  mayLease(nowMs: number, stepsMax: number): boolean {
    if (this.isOver || this.state.pausedUntilMs > nowMs) return false;
    if (this.leases.size >= Math.min(stepsMax, this.recordsLeft)) return false;
    this.#comeBack(nowMs);
    return this.#hasSteps() && this.#waiting() < WAITING_MAX;
  }

  /**
   * Returns when the job continues (Unix ms) if all its steps wait because a source asked for it; else null. `pausedUntilMs` returns
   * the end of a domain's pause, 0 if it has none.
   */
  waitingUntilMs(nowMs: number, pausedUntilMs: (domain: string) => number): number | null {
    if (this.isOver) return null;
    const later = this.#later.map(({ atMs }) => Math.max(atMs, this.state.pausedUntilMs));
    const leases = [...this.leases.values()].map(({ domain }) => (domain === null ? 0 : pausedUntilMs(domain)));
    const further = leases.length === 0 && this.#hasSteps() ? [this.state.pausedUntilMs] : [];
    const all = [...later, ...leases, ...further];
    return all.length === 0 || all.some((atMs) => atMs <= nowMs) ? null : Math.min(...all);
  }

  #hasSteps(): boolean {
    return this.#again.length > 0 || this.#read.length > 0 || !this.#isExhausted;
  }

  /** The next step that nobody has; null where there is none just now. */
  takeStep(from: (step: number, limit: number) => readonly OpenStep[]): OpenStep | null {
    const again = this.#again.shift();
    if (again !== undefined) return again;
    if (this.#read.length === 0) {
      this.#read = [...from(this.#nextStep, STEPS_READ)];
      this.#nextStep = (this.#read.at(-1)?.step ?? this.#nextStep - 1) + 1;
      this.#isExhausted = this.#read.length < STEPS_READ;
    }
    return this.#read.shift() ?? null;
  }

  /** The step's worker is no more, or never heard of it. */
  giveBack(step: OpenStep): void {
    this.#again.push(step);
  }

  /** The step is to be done again, but not before then. */
  giveBackLater(step: OpenStep, atMs: number): void {
    this.#later.push({ step, atMs });
  }

  #comeBack(nowMs: number): void {
    if (!this.#later.some(({ atMs }) => atMs <= nowMs)) return;
    for (const { step, atMs } of this.#later) if (atMs <= nowMs) this.#again.push(step);
    this.#later = this.#later.filter(({ atMs }) => atMs > nowMs);
  }

  /** The result of the lease is in the store. */
  written({ worker, number }: Lease): void {
    const leases = this.#written.get(worker);
    if (leases === undefined) this.#written.set(worker, [number]);
    else leases.push(number);
  }

  /** What the worker was not told of yet. */
  takeWritten(worker: number): readonly number[] {
    const leases = this.#written.get(worker);
    if (leases !== undefined) this.#written.delete(worker);
    return leases ?? NONE;
  }

  #waiting(): number {
    let waiting = 0;
    for (const lease of this.leases.values()) if (lease.waiting > 0) waiting++;
    return waiting;
  }
}
