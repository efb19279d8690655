import type { Collect, FailureEntry, OutputOptions } from '../../work/extraction-job.ts';
import {
  begun,
  ended,
  type ExtractionState,
  type Failure,
  pagesMaxOf,
  queuedState,
  stepDone,
  verdictOfEnd,
  verdictOfFailure,
  verdictOfPages,
  withNotes,
  withUsage,
} from '../../work/extraction-state.ts';
import type { ExtractEvent, ExtractResult } from '../base/extract-messages.ts';
import type { Connector, Step } from '../base/connector.ts';
import type { FetchParts } from '../fetch/fetch-parts.ts';
import { LocalRecords } from './local-records.ts';
import { LocalSteps, type LocalStep } from './local-steps.ts';
import { packSteps } from '../base/pack-steps.ts';
import { DomainLimiter } from '../engine/domain-limiter.ts';
import type { DomainLimits } from '../engine/domain-limits.ts';
import { Postponed } from '../base/postponed.ts';
import { StepRunner } from '../worker/step-runner.ts';

export interface LocalJob {
  readonly connector: string;
  readonly operation: string;
  readonly output: OutputOptions;
  readonly collect: Collect;
  /** Result of `Operation.start`. */
  readonly steps: readonly Step[];
}

/** Limits of what a job may collect, and for how long. A job that exceeds them ends as `limit_reached`, as it does in the service. */
export interface LocalBounds {
  /** Applies to a job that collects everything. */
  readonly recordsMax: number;
  readonly durationMsMax: number;
}

export interface LocalParts {
  readonly connectors: readonly Connector[];
  readonly fetch: Omit<FetchParts, 'polite'>;
  /** Connector → base address that replaces its own. */
  readonly bases: Readonly<Record<string, string>>;
  readonly polite: DomainLimits;
  readonly bounds: LocalBounds;
  /** Ends the job as `cancelled`. */
  readonly signal: AbortSignal;
  /** Calls `then` once, later. The returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  /** For durations. */
  monotonicMs(): number;
  /**
   * Writes NDJSON without `_meta.seq`; `firstSeq` is the number of its first record, from 1. The job continues when the promise resolves,
   * and ends when it rejects.
   */
  write(ndjson: Uint8Array, firstSeq: number): Promise<void>;
  onProgress(state: ExtractionState): void;
}

export interface LocalEnd {
  /** Succeeded or failed. */
  readonly state: ExtractionState;
  /** Why the job failed; null if it succeeded or was cancelled. */
  readonly detail: string | null;
  /** The first failures on the way. */
  readonly entries: readonly FailureEntry[];
}

/** Choice: the first failures explain the most. */
const ENTRIES_MAX = 8;

const JOB = 0;
/** The same failures as for a job of the service. */
const CANCELLED: Failure = { reason: 'cancelled', retryable: false };
const LIMIT_REACHED: Failure = { reason: 'limit_reached', retryable: false };

/**
 * Runs one job in this process, without a store: connects the worker's step runner directly to the service's rate limiter. What the service
 * keeps on disk is in memory here: waiting steps, and hashes of what was seen, at most 200 MB for a crawl of a million pages. Records are
 * written as they arrive and not kept. Rejects only if `write` does.
 */
export async function runLocal(job: LocalJob, parts: LocalParts): Promise<LocalEnd> {
  const run = new LocalRun(job, parts);
  try {
    return await run.run();
  } finally {
    run.close();
  }
}

class LocalRun {
  readonly #job: LocalJob;
  readonly #parts: LocalParts;
  readonly #steps = new LocalSteps();
  readonly #records: LocalRecords;
  readonly #gate: DomainLimiter;
  readonly #runner: StepRunner;
  readonly #leases = new Map<number, LocalStep>();
  readonly #postponed = new Postponed();
  /** Steps whose source asked for a pause until then, Unix ms. */
  #later: { readonly atMs: number; readonly step: LocalStep; readonly lease: number }[] = [];
  readonly #results: ExtractResult[] = [];
  readonly #entries: FailureEntry[] = [];
  readonly #endsAtMs: number;
  #state: ExtractionState;
  #nextLease = 1;
  #wake: () => void = () => {};

  constructor(job: LocalJob, parts: LocalParts) {
    this.#job = job;
    this.#parts = parts;
    this.#records = new LocalRecords(job.collect.mode === 'limit' ? job.collect.limit : parts.bounds.recordsMax);
    this.#gate = new DomainLimiter({
      settings: parts.polite,
      monotonicMs: () => parts.monotonicMs(),
      after: (ms, then) => parts.after(ms, then),
      grant: (permits) => this.#runner.order({ kind: 'permitted', permits }),
      waits: () => {},
    });
    this.#runner = new StepRunner({ ...parts, emit: (event) => this.#hear(event) });
    const { connector, operation, output, steps } = job;
    const message = { job: JOB, connector, operation, output, sessionJson: null, sessionOrigins: [] };
    this.#runner.order({ kind: 'job', job: message });
    this.#steps.add(packSteps(steps));
    const state = begun(queuedState(), parts.fetch.clock.nowMs());
    this.#state = { ...state, openSteps: this.#steps.waiting, isWide: this.#steps.waiting > 1 };
    this.#endsAtMs = parts.monotonicMs() + parts.bounds.durationMsMax;
  }

  async run(): Promise<LocalEnd> {
    const { signal } = this.#parts;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    for (;;) {
      if (signal.aborted) return this.#end(CANCELLED, null);
      if (this.#parts.monotonicMs() >= this.#endsAtMs)
        return this.#end(LIMIT_REACHED, 'the job reached its maximum duration');
      const result = this.#results.shift();
      if (result !== undefined) {
        const end = await this.#take(result);
        if (end !== null) return end;
        continue;
      }
      this.#begin();
      if (this.#state.openSteps === 0) return this.#endOfSteps();
      await this.#somethingHappens();
    }
  }

  /** Stops everything: aborts the running steps and their waiting requests. */
  close(): void {
    this.#runner.order({ kind: 'forget', job: JOB });
    this.#gate.stop();
  }

  #hear(event: ExtractEvent): void {
    if (event.kind === 'result') {
      this.#results.push(event);
      this.#wake();
      return;
    }
    if (event.kind === 'permit') this.#gate.wish(event.permit, event.lease, JOB, event.domain);
    else if (event.kind === 'release') this.#gate.release(event.permit);
    else this.#gate.report(event.domain, event.wish);
    this.#gate.pump();
  }

  /** Starts as many steps at once as requests may run to one domain, and no more than records are wanted. */
  #begin(): void {
    if (this.#state.pausedUntilMs > this.#parts.fetch.clock.nowMs()) return;
    const recordsLeft = this.#job.collect.mode === 'all' ? Infinity : this.#records.left;
    const leasesMax = Math.min(this.#parts.polite.concurrency, recordsLeft);
    while (this.#leases.size < leasesMax) {
      const later = this.#takeLater();
      const step = later?.step ?? this.#steps.take();
      if (step === null) return;
      const lease = later?.lease ?? this.#nextLease++;
      this.#leases.set(lease, step);
      // `written` stays empty: `LocalSteps` drops known steps itself.
      const order = { lease, job: JOB, stateJson: step.stateJson, recordsLeft, written: [] };
      this.#runner.order({ kind: 'steps', steps: [order] });
    }
  }

  /** Processes the result of a step. Null means that the job continues. */
  async #take(result: ExtractResult): Promise<LocalEnd | null> {
    const { collect } = this.#job;
    const step = this.#leases.get(result.lease);
    const key = step?.key ?? '';
    this.#leases.delete(result.lease);
    const waitMs = result.failure?.waitMs;
    if (step !== undefined && waitMs !== undefined && this.#postponed.take(result.lease, waitMs)) {
      this.#later.push({ step, lease: result.lease, atMs: this.#parts.fetch.clock.nowMs() + waitMs });
      this.#note(key, result);
      return null;
    }
    this.#postponed.delete(result.lease);
    const firstSeq = this.#state.collected + 1;
    const kept = this.#records.keep(result);
    this.#state = {
      ...this.#state,
      collected: this.#state.collected + kept.records,
      duplicates: this.#state.duplicates + kept.duplicates,
    };
    if (kept.records > 0) await this.#parts.write(kept.ndjson, firstSeq);
    const isFull = collect.mode === 'limit' && this.#records.left === 0;
    if (!isFull) this.#steps.add(result.next);
    this.#note(key, result);
    this.#state = afterStep(
      this.#state,
      result,
      this.#steps.waiting + this.#later.length + this.#leases.size,
      this.#parts.fetch.clock.nowMs(),
    );
    this.#parts.onProgress(this.#state);
    if (isFull) return this.#end(null, null);
    if (kept.isOver) return this.#end(LIMIT_REACHED, `there are more than ${this.#parts.bounds.recordsMax} records`);
    const failure = result.failure && verdictOfFailure(this.#state, result.failure, collect);
    if (failure !== null) return this.#end(failure, result.failure?.detail ?? null);
    const { openSteps, pages, collected } = this.#state;
    if (openSteps === 0 || pages < pagesMaxOf(collect)) return null;
    this.#state = withNotes(this.#state, ['page_limit_reached']);
    return this.#end(verdictOfPages(this.#state), `${pages} pages yielded ${collected} records`);
  }

  /** Returns a step whose pause is over, with the lease that it had. */
  #takeLater(): { readonly step: LocalStep; readonly lease: number } | null {
    const nowMs = this.#parts.fetch.clock.nowMs();
    const due = this.#later.find(({ atMs }) => atMs <= nowMs);
    if (due === undefined) return null;
    this.#later = this.#later.filter((other) => other !== due);
    return due;
  }

  #note(step: string, { failure, notes }: ExtractResult): void {
    const atMs = this.#parts.fetch.clock.nowMs();
    for (const { reason, detail } of failure === null ? notes : [failure, ...notes]) {
      if (this.#entries.length < ENTRIES_MAX) this.#entries.push({ atMs, reason, step, detail });
    }
  }

  #endOfSteps(): LocalEnd {
    const failure = verdictOfEnd(this.#state, this.#job.collect);
    if (failure !== null) {
      return this.#end(failure, this.#entries.find(({ reason }) => reason === failure.reason)?.detail ?? null);
    }
    const { leftOut } = this.#steps;
    return leftOut === 0
      ? this.#end(null, null)
      : this.#end(LIMIT_REACHED, `${leftOut} pages were found but did not fit into memory`);
  }

  #end(failure: Failure | null, detail: string | null): LocalEnd {
    const state = ended(this.#state, failure, this.#parts.fetch.clock.nowMs(), 0);
    return { state, detail, entries: this.#entries };
  }

  /** Resolves at a result, the end of a pause, the end of the job's time, or a cancellation. */
  async #somethingHappens(): Promise<void> {
    if (this.#results.length > 0) return;
    const nowMs = this.#parts.fetch.clock.nowMs();
    const pauseMs = this.#steps.waiting === 0 ? 0 : this.#state.pausedUntilMs - nowMs;
    // A step that is due but has no slot starts after the next result.
    const later = this.#later.map(({ atMs }) => Math.max(atMs, this.#state.pausedUntilMs) - nowMs);
    const laterMs = Math.min(...later.filter((ms) => ms > 0));
    const endMs = this.#endsAtMs - this.#parts.monotonicMs();
    await new Promise<void>((resolve) => {
      const callOff = this.#parts.after(Math.max(1, Math.min(pauseMs > 0 ? pauseMs : endMs, laterMs, endMs)), resolve);
      this.#wake = () => {
        callOff();
        resolve();
      };
    });
    this.#wake = () => {};
  }
}

/** Returns the state after a step; `openSteps` is the number of remaining steps. */
function afterStep(state: ExtractionState, result: ExtractResult, openSteps: number, nowMs: number): ExtractionState {
  const { total, pauseMs, failure, jobNotes } = result;
  return {
    ...stepDone(withNotes(withUsage(state, result), jobNotes), openSteps, failure, pauseMs > 0 ? nowMs + pauseMs : 0),
    announced: total === null ? state.announced : Math.max(state.announced ?? 0, total),
  };
}
