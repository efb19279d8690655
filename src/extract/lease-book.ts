import { SlotMap } from '../kernel/slot-map.ts';
import type { OpenStep } from '../state/tables/extractions/step-table.ts';
import type { JobRun, Lease } from './job-run.ts';
import { WorkerBook } from './worker-book.ts';

export interface LeaseBounds {
  /** Maximum number of active steps of all jobs. Steps that only wait for a domain's rate limiter are not counted. */
  readonly stepsActiveMax: number;
  /** Maximum number of assigned steps, including the waiting ones. */
  readonly stepsHeldMax: number;
}

/** Choice: one crash may be another step's fault; three crashes are this step's. */
export const DEATHS_MAX = 3;
/** Choice: after two crashes a step gets a worker to itself, so that it takes no other step down. */
const DEATHS_ALONE = 2;
/** Choice: workers send a sign of life every five seconds. A worker that has been silent for this long is in an endless loop. */
const WORKER_SILENT_MS_MAX = 60_000;

/** The steps that workers have, and the workers that have them. */
export class LeaseBook {
  readonly #bounds: LeaseBounds;
  readonly #leases = new SlotMap<Lease>();
  readonly #workers = new WorkerBook();
  /** Jobs whose next step waits for a worker of its own. */
  readonly #heldBack = new Set<JobRun>();
  #nextNumber = 1;
  #waiting = 0;

  constructor(bounds: LeaseBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#leases.size;
  }

  /** Returns whether another step may be assigned. */
  hasRoom(): boolean {
    const { stepsActiveMax, stepsHeldMax } = this.#bounds;
    const active = this.#leases.size - this.#waiting;
    return active < stepsActiveMax && this.#leases.size < stepsHeldMax && this.#workers.hasRoom();
  }

  find(number: number): Lease | undefined {
    return this.#leases.get(number);
  }

  /** Returns whether the job's next step must wait until a worker is free for it alone. */
  isHeldBack(run: JobRun): boolean {
    return this.#heldBack.has(run);
  }

  /** Returns the worker for a step of the job. Null if the step must run alone and no worker is free; the job is then held back. */
  chooseWorker(run: JobRun, step: OpenStep): number | null {
    const worker = isAlone(run, step) ? this.#workers.chooseAlone() : this.#workers.choose();
    if (worker === null) this.#heldBack.add(run);
    return worker;
  }

  assign(run: JobRun, step: OpenStep, worker: number): Lease {
    const number = this.#nextNumber++;
    const lease: Lease = { number, run, step, worker, isAlone: isAlone(run, step), waiting: 0, domain: null };
    this.#leases.set(number, lease);
    run.leases.set(number, lease);
    this.#workers.leased(worker);
    return lease;
  }

  release(lease: Lease): void {
    this.#leases.delete(lease.number);
    lease.run.leases.delete(lease.number);
    if (lease.waiting > 0) this.#waiting--;
    this.#workers.released(lease.worker, lease.isAlone);
    this.#heldBack.clear();
  }

  /** Counts the requests of a step that wait for the rate limiter of their domain. */
  waits(number: number, by: 1 | -1): void {
    const lease = this.#leases.get(number);
    if (lease === undefined) return;
    const wasWaiting = lease.waiting > 0;
    lease.waiting += by;
    const isWaiting = lease.waiting > 0;
    if (wasWaiting !== isWaiting) this.#waiting += isWaiting ? 1 : -1;
  }

  workerReady(worker: number, nowMs: number): void {
    this.#workers.up(worker, nowMs);
  }

  workerAlive(worker: number, nowMs: number): void {
    this.#workers.heard(worker, nowMs);
  }

  /** Releases the steps of a worker that died, and yields them. */
  *workerEnded(worker: number): Generator<Lease> {
    this.#workers.down(worker);
    this.#heldBack.clear();
    for (const lease of this.#leases.values()) {
      if (lease.worker !== worker) continue;
      this.release(lease);
      yield lease;
    }
  }

  /** Returns the workers that have steps and have been silent for too long. */
  stuckWorkers(nowMs: number): readonly number[] {
    return this.#workers.silent(nowMs - WORKER_SILENT_MS_MAX);
  }
}

function isAlone(run: JobRun, { step }: OpenStep): boolean {
  return (run.deaths.get(step) ?? 0) >= DEATHS_ALONE;
}
