import { SlotMap } from '../../kernel/slot-map.ts';
import type { OpenStep } from '../../state/tables/extractions/step-table.ts';
import type { JobRun, Lease } from './job-run.ts';

export interface LeaseBounds {
  /** Maximum number of active steps of all jobs. Steps that only wait for a domain's rate limiter are not counted. */
  readonly stepsActiveMax: number;
  /** Maximum number of assigned steps, including the waiting ones. */
  readonly stepsHeldMax: number;
}

/** Choice: one crash may be another step's fault; three crashes are this step's. */
export const DEATHS_MAX = 3;
/** Choice: after two crashes a step gets the worker to itself, so that it takes no other step down. */
const DEATHS_ALONE = 2;
/** Choice: the worker sends a sign of life every five seconds. If it has been silent for this long, it is in an endless loop. */
const WORKER_SILENT_MS_MAX = 60_000;

/** The steps that the worker has, and whether it is up. */
export class LeaseBook {
  readonly #bounds: LeaseBounds;
  readonly #leases = new SlotMap<Lease>();
  /** Jobs whose next step waits until the worker is idle, or until a step that runs alone is done. */
  readonly #heldBack = new Set<JobRun>();
  /** When the worker last sent something, monotonic ms; null while it is down. */
  #heardAtMs: number | null = null;
  /** The job whose step runs alone, or for which the worker gets no more steps until it can take that one. */
  #alone: JobRun | null = null;
  #nextNumber = 1;
  #waiting = 0;

  constructor(bounds: LeaseBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#leases.size;
  }

  /** Returns whether another step may be assigned. */
  hasRoom(nowMs: number): boolean {
    if (this.#alone !== null && isAbsent(this.#alone, nowMs)) this.#endAlone();
    const { size } = this.#leases;
    const { stepsActiveMax, stepsHeldMax } = this.#bounds;
    const isFree = this.#heardAtMs !== null && (this.#alone === null || size === 0);
    return isFree && size - this.#waiting < stepsActiveMax && size < stepsHeldMax;
  }

  find(number: number): Lease | undefined {
    return this.#leases.get(number);
  }

  /** Returns whether the job's next step must wait. */
  isHeldBack(run: JobRun): boolean {
    return this.#heldBack.has(run);
  }

  /** Returns whether the worker may have a step of the job. If not, the job is held back. */
  mayAssign(run: JobRun, step: OpenStep): boolean {
    let may = this.#alone === null;
    if (isAlone(run, step)) {
      this.#alone ??= run;
      may = this.#leases.size === 0;
    }
    if (!may) this.#heldBack.add(run);
    return may;
  }

  assign(run: JobRun, step: OpenStep): Lease {
    const number = this.#nextNumber++;
    const lease: Lease = { number, run, step, isAlone: isAlone(run, step), waiting: 0, domain: null };
    if (lease.isAlone) this.#alone = run;
    this.#leases.set(number, lease);
    run.leases.set(number, lease);
    return lease;
  }

  release(lease: Lease): void {
    this.#leases.delete(lease.number);
    lease.run.leases.delete(lease.number);
    if (lease.waiting > 0) this.#waiting--;
    if (lease.isAlone) this.#alone = null;
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

  workerReady(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  workerAlive(nowMs: number): void {
    if (this.#heardAtMs !== null) this.#heardAtMs = nowMs;
  }

  /** Releases the steps of the worker that died, and yields them. */
  *workerEnded(): Generator<Lease> {
    this.#heardAtMs = null;
    this.#endAlone();
    for (const lease of this.#leases.values()) {
      this.release(lease);
      yield lease;
    }
  }

  /** Returns whether the worker has steps and has been silent for too long. */
  isWorkerStuck(nowMs: number): boolean {
    return this.#heardAtMs !== null && this.#leases.size > 0 && this.#heardAtMs < nowMs - WORKER_SILENT_MS_MAX;
  }

  #endAlone(): void {
    this.#alone = null;
    this.#heldBack.clear();
  }
}

/** Returns whether the job does not take the worker that was reserved for it, because it has ended or was paused meanwhile. */
function isAbsent({ leases, isOver, state }: JobRun, nowMs: number): boolean {
  return leases.size === 0 && (isOver || state.pausedUntilMs > nowMs);
}

function isAlone(run: JobRun, { step }: OpenStep): boolean {
  return (run.deaths.get(step) ?? 0) >= DEATHS_ALONE;
}
