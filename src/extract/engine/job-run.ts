import type { CustomerNumber } from '../../kernel/brand.ts';
import { FairEntry } from '../../kernel/fair-queue.ts';
import { SlotMap } from '../../kernel/slot-map.ts';
import type { ExtractionState } from '../../work/extraction-state.ts';
import type { ExtractionSteps, OpenStep } from '../../state/tables/extractions/step-table.ts';
import type { Job } from '../../state/tables/extractions/job-row.ts';
import { Postponed } from '../base/postponed.ts';
import { isAddressList } from '../request/job-input.ts';

/** A step that is assigned to the worker. */
export interface Lease {
  readonly number: number;
  readonly run: JobRun;
  readonly step: OpenStep;
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

/** Choice: maximum number of lists of one job that are read at once, as each may yield thousands of pages. A domain grants as many. */
const LISTS_ACTIVE_MAX = 2;

/** A running job in memory: its position in its steps, and the steps that the worker has. */
export class JobRun {
  readonly job: Job;
  /** Its position among the running jobs of its customer. */
  readonly turn = new FairEntry<CustomerNumber, JobRun>(this);
  state: ExtractionState;
  readonly leases = new SlotMap<Lease>();
  /** What the worker knows of the job; `outdated`: an earlier version of its session. */
  atWorker: 'nothing' | 'outdated' | 'current' = 'nothing';
  /** Step → how often the worker died while it had it. */
  readonly deaths = new Map<number, number>();
  readonly postponed = new Postponed();
  /** The job has ended or is about to end; none of its steps is started any more. */
  isOver = false;
  /** Leases whose results are stored, until the worker is notified. */
  #written: number[] = [];
  readonly #recordsMax: number;
  /** Whether its steps run one after the other, so that the records have the order of the input's addresses. */
  readonly #isInOrder: boolean;
  readonly #again: OpenStep[] = [];
  /** Steps whose source asked for a pause until that time. */
  #later: { readonly atMs: number; readonly step: OpenStep }[] = [];
  #read: OpenStep[] = [];
  #nextStep = 0;
  /** Whether the store may have pages that were not read. */
  #hasPages = true;
  /** Whether the store may have lists that are not in `#lists`. */
  #hasLists = true;
  /** Lists that were taken and whose results are not stored yet. */
  readonly #lists = new Set<number>();

  constructor(job: Job, state: ExtractionState, recordsMax: number) {
    this.job = job;
    this.state = state;
    this.#recordsMax = recordsMax;
    this.#isInOrder = isAddressList(job.input);
  }

  /** Infinity if the job collects everything. */
  get recordsLeft(): number {
    return this.job.collect.mode === 'all' ? Infinity : Math.max(1, this.#recordsMax - this.state.collected);
  }

  /** Disk space of its records and steps. */
  get bytes(): number {
    return this.state.recordBytes + this.state.stepBytes;
  }

  /** Sets the state after a commit. */
  update(state: ExtractionState): void {
    if (state.nextStep > this.state.nextStep) {
      this.#hasPages = true;
      this.#hasLists = true;
    }
    this.state = state;
  }

  /** Returns whether another step may start. No more steps run at once than records are wanted, because each may well yield one. */
  mayLease(nowMs: number, stepsMax: number): boolean {
    if (this.isOver || this.state.pausedUntilMs > nowMs) return false;
    if (this.leases.size >= Math.min(this.#isInOrder ? 1 : stepsMax, this.recordsLeft)) return false;
    this.#comeBack(nowMs);
    if (this.#isInOrder && this.#later.length > 0) return false;
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
    const mayGoOn = leases.length === 0 && !(this.#isInOrder && later.length > 0);
    const further = mayGoOn && this.#hasSteps() ? [this.state.pausedUntilMs] : [];
    const all = [...later, ...leases, ...further];
    return all.length === 0 || all.some((atMs) => atMs <= nowMs) ? null : Math.min(...all);
  }

  #hasSteps(): boolean {
    const mayHaveList = this.#hasLists && this.#lists.size < LISTS_ACTIVE_MAX;
    return this.#again.length > 0 || this.#read.length > 0 || this.#hasPages || mayHaveList;
  }

  /** Returns the next unassigned step, a list only if no page waits; null if there is none at the moment. */
  takeStep(steps: ExtractionSteps): OpenStep | null {
    const again = this.#again.shift();
    if (again !== undefined) return again;
    const { number } = this.job;
    if (this.#read.length === 0 && this.#hasPages) {
      this.#read = [...steps.from(number, this.#nextStep, STEPS_READ)];
      this.#nextStep = (this.#read.at(-1)?.step ?? this.#nextStep - 1) + 1;
      this.#hasPages = this.#read.length === STEPS_READ;
    }
    const page = this.#read.shift();
    if (page !== undefined) return page;
    if (this.#lists.size >= LISTS_ACTIVE_MAX) return null;
    const list = steps.lists(number, this.#lists.size + 1).find(({ step }) => !this.#lists.has(step));
    this.#hasLists = list !== undefined;
    if (list !== undefined) this.#lists.add(list.step);
    return list ?? null;
  }

  /** Records that the store no longer has the step. */
  done(step: number): void {
    this.#lists.delete(step);
  }

  /** Returns a step to the job. The worker has died or never received it. */
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
  written({ number }: Lease): void {
    this.#written.push(number);
  }

  /** Returns the stored leases of which the worker has not been notified yet, and marks them as notified. */
  takeWritten(): readonly number[] {
    const leases = this.#written;
    this.#written = [];
    return leases;
  }

  #waiting(): number {
    let waiting = 0;
    for (const lease of this.leases.values()) if (lease.waiting > 0) waiting++;
    return waiting;
  }
}
