import type { CustomerNumber } from '../kernel/brand.ts';
import { FairEntry } from '../kernel/fair-queue.ts';
import { SlotMap } from '../kernel/slot-map.ts';
import type { ExtractionState } from '../work/extraction-state.ts';
import type { OpenStep } from '../state/extractions/step-table.ts';
import type { Job } from '../state/extractions/job-row.ts';
import { Postponed } from './postponed.ts';

/** A step that is assigned to a worker. */
export interface Lease {
  readonly number: number;
  readonly run: JobRun;
  readonly step: OpenStep;
  readonly worker: number;
  /** The worker gets no other step meanwhile, because this step may crash it. */
  readonly isAlone: boolean;
  /** Requests that wait for the rate limiter of their domain. */
  waiting: number;
  /** Domain of the latest request; null before the first. */
  domain: string | null;
}

/** Choice: number of open steps read at a time. A job holds only this many in memory, however many steps it has. */
const STEPS_READ = 32;
/**
 * Choice: maximum number of steps of one job that wait for a domain's rate limiter. More would only queue up there and take slots from
 * other jobs.
 */
const WAITING_MAX = 2;

const NONE: readonly number[] = [];

/** A running job in memory: its position in its steps, and the steps that workers have. */
export class JobRun {
  readonly job: Job;
  /** Its position among the running jobs of its customer. */
  readonly turn = new FairEntry<CustomerNumber, JobRun>(this);
  state: ExtractionState;
  readonly leases = new SlotMap<Lease>();
  /** Workers that know the job. */
  readonly workers = new Set<number>();
  /** Workers that know only an earlier version of the job's session. */
  readonly outdated = new Set<number>();
  /** Step → number of workers that died while they had it. */
  readonly deaths = new Map<number, number>();
  readonly postponed = new Postponed();
  /** The job has ended or is about to end; none of its steps is started any more. */
  isOver = false;
  /** Worker → leases whose results are stored, until the worker is notified. */
  readonly #written = new Map<number, number[]>();
  readonly #recordsMax: number;
  readonly #again: OpenStep[] = [];
  /** Steps whose source asked for a pause until that time. */
  #later: { readonly atMs: number; readonly step: OpenStep }[] = [];
  #read: OpenStep[] = [];
  #nextStep = 0;
  #isExhausted = false;

  constructor(job: Job, state: ExtractionState, recordsMax: number) {
    this.job = job;
    this.state = state;
    this.#recordsMax = recordsMax;
  }

  /** Infinity if the job collects everything. */
  get recordsLeft(): number {
    return this.job.collect.mode === 'all' ? Infinity : Math.max(1, this.#recordsMax - this.state.collected);
  }

  /** Sets the state after a commit. */
  update(state: ExtractionState): void {
    this.state = state;
    if (state.nextStep > this.#nextStep) this.#isExhausted = false;
  }

  /** Returns whether another step may start. No more steps run at once than records are wanted, because each may well yield one. */
  mayLease(nowMs: number, stepsMax: number): boolean {
    if (this.isOver || this.state.pausedUntilMs > nowMs) return false;
    if (this.leases.size >= Math.min(stepsMax, this.recordsLeft)) return false;
    this.#comeBack(nowMs);
    return this.#hasSteps() && this.#waiting() < WAITING_MAX;
  }

  /**
   * Returns when the job continues (Unix ms) if all its steps wait because a source asked for it; else null. `pausedUntilMs` returns the
   * end of a domain's pause, 0 if it has none.
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

  /** Returns the next unassigned step; null if there is none at the moment. */
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

  /** Returns a step to the job. Its worker has died or never received it. */
  giveBack(step: OpenStep): void {
    this.#again.push(step);
  }

  /** Returns a step to the job that must not run again before that time. */
  giveBackLater(step: OpenStep, atMs: number): void {
    this.#later.push({ step, atMs });
  }

  #comeBack(nowMs: number): void {
    if (!this.#later.some(({ atMs }) => atMs <= nowMs)) return;
    for (const { step, atMs } of this.#later) if (atMs <= nowMs) this.#again.push(step);
    this.#later = this.#later.filter(({ atMs }) => atMs > nowMs);
  }

  /** Records that the result of the lease is stored. */
  written({ worker, number }: Lease): void {
    const leases = this.#written.get(worker);
    if (leases === undefined) this.#written.set(worker, [number]);
    else leases.push(number);
  }

  /** Returns the stored leases of which the worker has not been notified yet, and marks them as notified. */
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
