import { type CustomerNumber, unreachable } from '../../kernel/brand.ts';
import { FairQueue } from '../../kernel/fair-queue.ts';
import type { ExtractionId, FailureEntry } from '../../work/extraction-job.ts';
import { type ExtractionState, type Failure, hasEnded } from '../../work/extraction-state.ts';
import type { SharedPoliteness } from '../../ports/politeness.ts';
import type { ExtractEvent, ExtractOrder, ExtractResult, ExtractStepMessage } from '../base/extract-messages.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import type { Job } from '../../state/tables/extractions/job-row.ts';
import type { AppliedResult } from '../../state/tables/extraction-table.ts';
import type { StoredJob } from '../../state/tables/extractions/job-rows.ts';
import { ExtractionCounts } from './counts.ts';
import { JobQueue, type QueueBounds } from './job-queue.ts';
import { JobRun, type Lease } from './job-run.ts';
import { DEATHS_MAX, LeaseBook, type LeaseBounds } from './lease-book.ts';
import { KILLED, KILLER } from './killed-step.ts';
import { DomainLimiter } from './domain-limiter.ts';
import type { DomainLimits } from './domain-limits.ts';
import { namedOrigins } from '../request/session-origins.ts';
import { partsOf, postponedPart, type SentResult } from './result-parts.ts';
import { StepWriter } from './step-writer.ts';

export interface SchedulerBounds extends QueueBounds, LeaseBounds {
  /** Maximum number of steps of one job that the worker has. */
  readonly stepsPerJobMax: number;
  readonly jobMsMax: number;
}

export const SCHEDULER_BOUNDS: SchedulerBounds = {
  /** Choice: maximum number of running jobs of one customer; more are queued. */
  runningPerCustomerMax: 10,
  /** Choice: each job takes about 50 KB of memory. */
  runningMax: 200,
  /** Choice: with ten running at a time, an hour's work or more. */
  queuedPerCustomerMax: 100,
  queuedMax: 10_000,
  /** Choice: the rate limiter already limits concurrent requests to one site, so this is for jobs with many sites. */
  stepsPerJobMax: 8,
  /** Choice: number of pages in memory at the same time. */
  stepsActiveMax: 64,
  stepsHeldMax: 512,
  /** Source: contract, 11.2: 24 h. */
  jobMsMax: 86_400_000,
};

export interface SchedulerParts {
  readonly store: Pick<ExtractStore, 'extractions' | 'steps' | 'sessions'>;
  /** Key that encrypts and decrypts sessions. */
  readonly encryptionKey: Uint8Array;
  readonly polite: DomainLimits;
  /** The limits per domain that all nodes keep together; null or absent on a single node. */
  readonly sharedPoliteness?: SharedPoliteness | null;
  readonly bounds: SchedulerBounds;
  /** False: jobs are queued and none is begun. */
  readonly runsJobs?: boolean;
  /** Returns whether this node runs the job; by default it runs all. */
  readonly owns?: (job: Job) => boolean;
  /** Returns whether an unknown remainder of a list is lost when the step fails. */
  carriesRest(job: Job, stateJson: string): boolean;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** For durations. */
  monotonicMs(): number;
  /** Calls `then` once, later. The returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  send(order: ExtractOrder): boolean;
  restartWorker(): void;
  /** Called when there is work: starts the worker if it has not started yet. */
  wakeWorker(): void;
  onEnded(job: Job, state: ExtractionState): void;
  onStoreFault(fault: StoreFault): void;
}

const SESSION_GONE: Failure = { reason: 'session_expired', retryable: false };
const LIMIT_REACHED: Failure = { reason: 'limit_reached', retryable: false };
const REFUSED: Failure = { reason: 'internal_error', retryable: true };

/**
 * Assigns the steps of jobs to the worker and stores their results. This class holds only transient state: leases, slots, counters.
 * Everything that defines a job is in the store, so its open steps are leased again however the process ended.
 *
 * flow: `enqueue` → `pump` (queued jobs begin, steps are leased) → `hear` (results arrive) → `ResultWriter` → `#applied` → `pump`
 */
export class Scheduler {
  readonly counts = new ExtractionCounts();
  readonly queue: JobQueue<Job>;
  readonly gate: DomainLimiter;
  readonly #parts: SchedulerParts;
  readonly #runs = new Map<number, JobRun>();
  readonly #turns = new FairQueue<CustomerNumber, JobRun>();
  readonly #leases: LeaseBook;
  readonly #writer: StepWriter;
  /** Running writes other than those of the result writer. */
  readonly #writes = new Set<Promise<unknown>>();
  readonly #runsJobs: boolean;
  #isStopping = false;
  /** Set by the operator, or because the disk is full. Nothing is started meanwhile. */
  isPaused = false;

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#runsJobs = parts.runsJobs ?? true;
    this.queue = new JobQueue(parts.bounds);
    this.#leases = new LeaseBook(parts.bounds);
    this.gate = new DomainLimiter({
      settings: parts.polite,
      shared: parts.sharedPoliteness ?? null,
      monotonicMs: () => parts.monotonicMs(),
      after: (ms, then) => parts.after(ms, then),
      grant: (permits) => void parts.send({ kind: 'permitted', permits }),
      waits: (lease, by) => this.#leases.waits(lease, by),
    });
    this.#writer = new StepWriter({
      apply: (results) => parts.store.extractions.apply(results, parts.nowMs()),
      onApplied: (result, applied) => this.#applied(result, applied),
      onWritten: () => this.pump(),
      onFault: (fault) => parts.onStoreFault(fault),
      onRefused: (result) => this.#keep(this.#refused(result)),
      after: (ms, then) => parts.after(ms, then),
    });
  }

  get stepsInFlight(): number {
    return this.#leases.size;
  }

  get resultsWaiting(): number {
    return this.#writer.waiting;
  }

  /**
   * Returns when a job continues (Unix ms) that is idle because its sources asked it to wait; null for any other job. Includes pauses
   * that other jobs caused at the same domain.
   */
  waitingUntilMs(id: ExtractionId): number | null {
    const run = this.#runOf(id);
    if (run === null) return null;
    const nowMs = this.#parts.nowMs();
    const aheadMs = nowMs - this.#parts.monotonicMs();
    return run.waitingUntilMs(nowMs, (domain) => {
      const untilMs = this.gate.pausedUntilMs(domain);
      return untilMs === null ? 0 : untilMs + aheadMs;
    });
  }

  /** Returns the jobs for which `waitingUntilMs` returns a time, with that time. */
  waitingJobs(): ReadonlyMap<ExtractionId, number> {
    const waiting = new Map<ExtractionId, number>();
    for (const { job } of this.#runs.values()) {
      const untilMs = this.waitingUntilMs(job.id);
      if (untilMs !== null) waiting.set(job.id, untilMs);
    }
    return waiting;
  }

  /** Loads the jobs of the previous run from the store: running jobs continue, and queued ones are queued again. */
  resume(): void {
    for (const stored of this.#parts.store.extractions.open()) if (this.#owns(stored.job)) this.#load(stored);
    this.pump();
  }

  /** Continues a job that another node ran. */
  adopt(stored: StoredJob): void {
    if (this.#runs.has(stored.job.number)) return;
    this.#load(stored);
    this.pump();
  }

  /** Removes a job that another node runs from now on, or that is no longer stored here. */
  release(number: number): void {
    this.queue.remove(number);
    const run = this.#runs.get(number);
    if (run !== undefined) this.#forget(run);
    this.pump();
  }

  #load({ job, state }: StoredJob): void {
    this.#parts.wakeWorker();
    if (state.status === 'queued') this.queue.add(job.customer, job.number, job);
    else if (!hasEnded(state)) {
      this.queue.began(job.customer);
      this.#run(job, state);
    }
  }

  #owns(job: Job): boolean {
    return this.#parts.owns?.(job) ?? true;
  }

  enqueue(job: Job): void {
    if (!this.#owns(job)) return;
    this.#parts.wakeWorker();
    this.queue.add(job.customer, job.number, job);
    this.pump();
  }

  /** Removes a job that was cancelled by its customer, after the store has recorded it. */
  drop(job: Job): void {
    this.queue.remove(job.number);
    const run = this.#runs.get(job.number);
    if (run !== undefined) this.#forget(run);
    this.counts.ended(job.connector, 'cancelled');
    this.pump();
  }

  workerReady(): void {
    this.#leases.workerReady(this.#parts.monotonicMs());
    this.pump();
  }

  workerAlive(): void {
    this.#leases.workerAlive(this.#parts.monotonicMs());
  }

  /** Takes back the steps of the worker that died. A step that was present at each of `DEATHS_MAX` crashes fails. */
  workerEnded(): void {
    this.counts.workersLost++;
    this.gate.forget();
    for (const run of this.#runs.values()) run.atWorker = 'nothing';
    for (const lease of this.#leases.workerEnded()) this.#lost(lease);
    this.gate.pump();
    this.pump();
  }

  hear(events: readonly ExtractEvent[]): void {
    this.#leases.workerAlive(this.#parts.monotonicMs());
    for (const event of events) this.#hearOne(event);
    this.gate.pump();
    this.pump();
  }

  /** Call every 500 ms: resumes paused jobs, and times out jobs and a stuck worker. */
  tick(): void {
    if (!this.#runsJobs) return;
    const nowMs = this.#parts.nowMs();
    for (const run of this.#runs.values()) {
      if (nowMs - (run.state.startedAtMs ?? nowMs) >= this.#parts.bounds.jobMsMax && !run.isOver)
        this.#keep(this.#end(run, LIMIT_REACHED, 'the job reached its maximum duration'));
    }
    if (this.#leases.isWorkerStuck(this.#parts.monotonicMs())) this.#parts.restartWorker();
    this.pump();
  }

  /** Ends the job that takes the most space on the disk, if there is one. Its records stay readable. */
  endLargest(detail: string): void {
    const runs = [...this.#runs.values()].filter(({ isOver }) => !isOver);
    const largest = runs.reduce<JobRun | null>((max, run) => (run.bytes > (max?.bytes ?? 0) ? run : max), null);
    if (largest !== null) this.#keep(this.#end(largest, LIMIT_REACHED, detail));
  }

  /** Starts everything that may start. */
  pump(): void {
    if (this.#isStopping || this.isPaused || !this.#runsJobs) return;
    this.#beginJobs();
    const nowMs = this.#parts.nowMs();
    const steps: ExtractStepMessage[] = [];
    for (;;) {
      const lease = this.#leaseOne(nowMs);
      if (lease === null) break;
      const { run, step, number } = lease;
      const { recordsLeft, job } = run;
      steps.push({
        lease: number,
        job: job.number,
        stateJson: step.stateJson,
        recordsLeft,
        written: run.takeWritten(),
      });
    }
    if (steps.length > 0) this.#parts.send({ kind: 'steps', steps });
  }

  /** Starts nothing more, and writes the results that have arrived. Steps that the worker still has run again after the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.gate.stop();
    await this.#writer.stop();
    await Promise.all(this.#writes);
  }

  #keep(write: Promise<unknown>): void {
    this.#writes.add(write);
    void write.finally(() => this.#writes.delete(write));
  }

  #beginJobs(): void {
    const taken: Job[] = [];
    for (let job = this.queue.take(); job !== null; job = this.queue.take()) taken.push(job);
    if (taken.length > 0) this.#keep(this.#begin(taken));
  }

  async #begin(jobs: readonly Job[]): Promise<void> {
    const { extractions } = this.#parts.store;
    const begun = await extractions.begin(
      jobs.map(({ number }) => number),
      this.#parts.nowMs(),
    );
    if (begun.kind === 'fault') this.#parts.onStoreFault(begun);
    for (const job of jobs) {
      const state = extractions.stateOf(job.number);
      if (state?.status === 'running') this.#run(job, state);
      else {
        // The job was cancelled meanwhile, or the store rejects writes; in that case it is queued again.
        this.queue.ended(job.customer);
        if (state?.status === 'queued') this.#parts.after(1_000, () => this.#requeue(job));
      }
    }
    this.pump();
  }

  #requeue(job: Job): void {
    if (this.#parts.store.extractions.stateOf(job.number)?.status === 'queued') this.enqueue(job);
  }

  #run(job: Job, state: ExtractionState): void {
    const run = new JobRun(job, state, this.#parts.store.extractions.recordsMaxOf(job));
    this.#runs.set(job.number, run);
    this.#turns.put(job.customer, run.turn);
  }

  #leaseOne(nowMs: number): Lease | null {
    const { stepsPerJobMax } = this.#parts.bounds;
    while (this.#writer.hasRoom && this.#leases.hasRoom(nowMs)) {
      const run = this.#turns.rotate((run) => !this.#leases.isHeldBack(run) && run.mayLease(nowMs, stepsPerJobMax));
      if (run === null) return null;
      const lease = this.#leaseOf(run, nowMs);
      if (lease !== null) return lease;
    }
    return null;
  }

  /** Returns null if the job has no step to assign at the moment. */
  #leaseOf(run: JobRun, nowMs: number): Lease | null {
    const step = run.takeStep(this.#parts.store.steps);
    if (step === null) return null;
    if (this.#leases.mayAssign(run, step) && this.#introduce(run, nowMs)) return this.#leases.assign(run, step);
    run.giveBack(step);
    return null;
  }

  /** Sends the job to the worker if the worker does not know it. Returns false if the job has ended because its session is gone. */
  #introduce(run: JobRun, nowMs: number): boolean {
    const { job } = run;
    const { sessions } = this.#parts.store;
    if (job.session !== null && sessions.find(job.customer, job.session, nowMs) === null) {
      this.#keep(this.#end(run, SESSION_GONE, 'the session was removed or has expired'));
      return false;
    }
    if (run.atWorker === 'current') return true;
    const content =
      job.session === null ? null : sessions.contentOf(this.#parts.encryptionKey, job.customer, job.session, nowMs);
    if (job.session !== null && content === null) {
      this.#keep(this.#end(run, SESSION_GONE, 'the session cannot be decrypted: it was encrypted with another key'));
      return false;
    }
    const { number, connector, operation, output } = job;
    const sessionJson = content === null ? null : content.toString('utf8');
    const sessionOrigins = content === null ? [] : namedOrigins(job.input);
    const inputJson = JSON.stringify(job.input);
    const message = { job: number, connector, operation, inputJson, output, sessionJson, sessionOrigins };
    this.#parts.send({ kind: 'job', job: message });
    run.atWorker = 'current';
    return true;
  }

  #hearOne(event: ExtractEvent): void {
    switch (event.kind) {
      case 'result':
        this.#arrived(event);
        break;
      case 'permit': {
        const lease = this.#leases.find(event.lease);
        if (lease !== undefined) lease.domain = event.domain;
        this.gate.wish(event.permit, event.lease, lease?.run.job.number ?? 0, event.domain);
        break;
      }
      case 'release':
        this.gate.release(event.permit);
        break;
      case 'report':
        this.gate.report(event.domain, event.wish);
        break;
      default:
        unreachable(event);
    }
  }

  #arrived(result: ExtractResult): void {
    const lease = this.#leases.find(result.lease);
    if (lease === undefined) return;
    this.#leases.release(lease);
    // Stopping aborts the worker's requests, which is not a failure of the steps.
    if (this.#isStopping && result.failure !== null) return;
    const { run, step } = lease;
    run.deaths.delete(step.step);
    if (run.isOver) return;
    const { connector } = run.job;
    this.counts.count('bytes', connector, result.bytes);
    const waitMs = result.failure?.waitMs;
    if (waitMs !== undefined && run.postponed.take(step.step, waitMs)) {
      this.#postpone(lease, result, waitMs);
      return;
    }
    run.postponed.delete(step.step);
    this.counts.count('errors', connector, result.errors);
    this.#write(lease, result, lease);
  }

  /**
   * Postpones a step whose source asks for a longer pause than a fetch waits for. The step stays open and this attempt is not charged,
   * because it is repeated from its beginning. After a restart of the process it is repeated at once.
   */
  #postpone(lease: Lease, result: ExtractResult, waitMs: number): void {
    const { encryptionKey } = this.#parts;
    const nowMs = this.#parts.nowMs();
    this.#writer.add([postponedPart(lease, result, { encryptionKey, nowMs, lease, againAtMs: nowMs + waitMs })]);
  }

  #write({ run, step }: Lease, result: ExtractResult, from: Lease | null): void {
    const { encryptionKey } = this.#parts;
    this.#writer.add(partsOf(run.job, step, result, { encryptionKey, nowMs: this.#parts.nowMs(), lease: from }));
  }

  #lost(lease: Lease): void {
    const { run, step } = lease;
    const deaths = (run.deaths.get(step.step) ?? 0) + 1;
    if (deaths < DEATHS_MAX) {
      run.deaths.set(step.step, deaths);
      run.giveBack(step);
      return;
    }
    run.deaths.delete(step.step);
    const losesRest = this.#parts.carriesRest(run.job, step.stateJson);
    this.#write(lease, losesRest ? { ...KILLER, failure: { ...KILLED, losesRest } } : KILLER, null);
  }

  #applied(result: SentResult, { state, isTaken, isEnd }: AppliedResult): void {
    const run = this.#runs.get(result.job.number);
    if (run === undefined) return;
    const { connector } = run.job;
    if (result.isLast) run.done(result.step);
    if (isTaken && state !== null) {
      this.counts.count('records', connector, state.collected - run.state.collected);
      this.counts.count('pages', connector, state.pages - run.state.pages);
      run.update(state);
      // Only now is it certain that the store has what the step found, so that the worker need not send it again.
      if (result.isLast && result.outcome.failure === null && result.lease !== null) run.written(result.lease);
      if (result.session !== null) this.#sessionChanged(run.job);
      if (result.againAtMs !== undefined && result.lease?.run === run)
        run.giveBackLater(result.lease.step, result.againAtMs);
    }
    if (state === null) this.#forget(run);
    else if (isEnd) this.#ended(run, state);
  }

  /** Marks the session as outdated at the worker, which gets the new version with the next step of each job that uses it. */
  #sessionChanged({ customer, session }: Job): void {
    for (const run of this.#runs.values()) {
      if (run.job.session !== session || run.job.customer !== customer) continue;
      if (run.atWorker === 'current') run.atWorker = 'outdated';
    }
  }

  async #refused({ job, step }: SentResult): Promise<void> {
    const run = this.#runs.get(job.number);
    if (run === undefined) return;
    if (await this.#end(run, REFUSED, `the store rejects the result of step ${step}`)) return;
    // The store rejects all writes. After it has recovered, the step runs again.
    run.isOver = false;
    this.#forget(run);
    const state = this.#parts.store.extractions.stateOf(job.number);
    if (state === null || hasEnded(state)) return;
    this.queue.began(job.customer);
    this.#run(run.job, state);
  }

  /** Returns whether the store accepted the write. */
  async #end(run: JobRun, failure: Failure, detail: string): Promise<boolean> {
    run.isOver = true;
    const nowMs = this.#parts.nowMs();
    const entry: FailureEntry = { atMs: nowMs, reason: failure.reason, step: '', detail };
    const written = await this.#parts.store.extractions.end(run.job, failure, [entry], nowMs);
    if (written.kind === 'fault') {
      this.#parts.onStoreFault(written);
      run.isOver = false;
      return false;
    }
    const { state, isEnd } = written.value;
    if (isEnd && state !== null) this.#ended(run, state);
    return true;
  }

  #ended(run: JobRun, state: ExtractionState): void {
    this.#forget(run);
    this.counts.ended(run.job.connector, state.failure?.reason ?? state.status);
    this.#parts.onEnded(run.job, state);
  }

  #runOf(id: ExtractionId): JobRun | null {
    for (const run of this.#runs.values()) if (run.job.id === id) return run;
    return null;
  }

  /** Removes the job from memory. Later results of its steps are ignored. */
  #forget(run: JobRun): void {
    const { customer, number } = run.job;
    if (this.#runs.get(number) !== run) return;
    run.isOver = true;
    this.#runs.delete(number);
    this.#turns.remove(run.turn);
    this.queue.ended(customer);
    for (const lease of run.leases.values()) this.#leases.release(lease);
    if (run.atWorker !== 'nothing') this.#parts.send({ kind: 'forget', job: number });
  }
}
