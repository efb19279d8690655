import { unreachable } from '../kernel/brand.ts';
import type { Claim, ClaimOrder, QueueAnswer, Settled, SettleOutcome, WorkQueue } from '../ports/work-queue-port.ts';
import type { FailureEntry } from '../work/extraction-job.ts';
import { type Failure, hasEnded } from '../work/extraction-state.ts';
import type { StoreFault } from './durable.ts';
import type { Extractions, NewJob, StoredJob } from './extraction-table.ts';
import { WorkLeases } from './work-leases.ts';

/** An extraction job in the lane of its customer. */
export interface JobWork extends StoredJob {
  readonly id: string;
  readonly lane: string;
}

export interface JobReason {
  readonly failure: Failure;
  readonly entries: readonly FailureEntry[];
}

type Jobs = Pick<Extractions, 'begin' | 'create' | 'end' | 'find' | 'open' | 'stateOf'>;

/**
 * The extraction jobs as a queue. A job is done when the result of its last step is stored, which its consumer does; `settle` then ends
 * the claim.
 */
export class StoredJobs implements WorkQueue<NewJob, JobWork, null, JobReason, StoreFault> {
  readonly #jobs: Jobs;
  readonly #leases: WorkLeases<JobWork>;

  constructor(jobs: Jobs, leases = new WorkLeases<JobWork>()) {
    this.#jobs = jobs;
    this.#leases = leases;
  }

  get leaseMs(): number {
    return this.#leases.leaseMs;
  }

  async publish(jobs: readonly NewJob[], nowMs: number): Promise<QueueAnswer<null, StoreFault>> {
    for (const given of jobs) {
      if (this.#jobs.find(given.job.customer, given.job.id) !== null) continue;
      const created = await this.#jobs.create(given, nowMs);
      if (created.kind === 'fault') return created;
    }
    return { kind: 'ok', value: null };
  }

  lanes(): readonly string[] {
    return [...new Set(Array.from(this.#jobs.open(), ({ job }) => laneOf(job)))];
  }

  async claim({ consumer, lane, limit, nowMs }: ClaimOrder): Promise<readonly Claim<JobWork>[]> {
    const claims: Claim<JobWork>[] = [];
    for (const stored of this.#jobs.open()) {
      if (claims.length >= limit) break;
      const { id } = stored.job;
      if (laneOf(stored.job) !== lane || !this.#leases.isFree(id, nowMs)) continue;
      claims.push(this.#leases.take({ ...stored, id, lane }, consumer, nowMs));
    }
    const begun = await this.#jobs.begin(
      claims.map(({ work }) => work.job.number),
      nowMs,
    );
    if (begun.kind === 'ok') return claims.map((claim) => ({ ...claim, work: this.#present(claim.work) }));
    // Nothing was begun, so nothing is claimed.
    this.#leases.release(claims);
    return [];
  }

  renew(claims: readonly Claim<JobWork>[], nowMs: number): readonly Claim<JobWork>[] {
    return this.#leases.renew(claims, nowMs);
  }

  async settle(
    settled: readonly Settled<JobWork, null, JobReason>[],
    nowMs: number,
  ): Promise<QueueAnswer<readonly SettleOutcome[], StoreFault>> {
    const outcomes: SettleOutcome[] = [];
    for (const one of settled) {
      const ended = await this.#settle(one, nowMs);
      if (ended.kind === 'fault') return ended;
      outcomes.push(ended.value);
    }
    return { kind: 'ok', value: outcomes };
  }

  release(claims: readonly Claim<JobWork>[]): void {
    this.#leases.release(claims);
  }

  async #settle(
    { claim, end }: Settled<JobWork, null, JobReason>,
    nowMs: number,
  ): Promise<QueueAnswer<SettleOutcome, StoreFault>> {
    if (!this.#leases.has(claim)) return LOST;
    const { job } = claim.work;
    // Nobody else must claim it while its end is written.
    this.#leases.renew([claim], nowMs);
    switch (end.kind) {
      case 'done': {
        const state = this.#jobs.stateOf(job.number);
        if (state !== null && !hasEnded(state)) throw new Error('the job has steps that are not done');
        this.#leases.release([claim]);
        return STORED;
      }
      case 'retry':
        this.#leases.postpone(claim, end.atMs);
        return STORED;
      case 'dead': {
        const ended = await this.#jobs.end(job, end.reason.failure, end.reason.entries, nowMs);
        if (ended.kind === 'fault') return ended;
        this.#leases.release([claim]);
        return ended.value.isEnd ? STORED : LOST;
      }
      default:
        return unreachable(end);
    }
  }

  #present(work: JobWork): JobWork {
    return { ...work, state: this.#jobs.stateOf(work.job.number) ?? work.state };
  }
}

const STORED = { kind: 'ok', value: 'stored' } as const;
const LOST = { kind: 'ok', value: 'lost' } as const;

function laneOf({ customer }: StoredJob['job']): string {
  return String(customer);
}
