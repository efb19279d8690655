import type { ExtractionState } from '../../src/work/extraction-state.ts';
import { Scheduler, SCHEDULER_BOUNDS, type SchedulerBounds } from '../../src/extract/engine/scheduler.ts';
import type {
  ExtractEvent,
  ExtractOrder,
  ExtractResult,
  ExtractStepMessage,
} from '../../src/extract/base/extract-messages.ts';
import { committed, type StoreFault } from '../../src/state/tables/durable.ts';
import type { ExtractStore } from '../../src/state/tables/extract-store.ts';
import type { Job } from '../../src/state/tables/extractions/job-row.ts';
import { found, stepsNamed } from './extraction-jobs.ts';

/** A scheduler whose worker is simulated by the test, and whose clock stands still until the test advances it. */

export const SEALING = Buffer.alloc(32, 7);

export interface Leased extends ExtractStepMessage {
  /** Key of the step. */
  readonly key: string;
}

export class SchedulerBench {
  readonly scheduler: Scheduler;
  /** Steps that the worker currently holds. */
  readonly leased: Leased[] = [];
  readonly orders: ExtractOrder[] = [];
  readonly ended: { readonly job: Job; readonly state: ExtractionState }[] = [];
  readonly faults: StoreFault[] = [];
  /** How often the worker was replaced because it was stuck. */
  restarts = 0;
  nowMs = 1_000;
  readonly #store: ExtractStore;
  #timers: { atMs: number; run: () => void }[] = [];

  constructor(store: ExtractStore, bounds: Partial<SchedulerBounds> = {}, polite = { gapMs: 0, concurrency: 1_000 }) {
    this.#store = store;
    this.scheduler = new Scheduler({
      store,
      encryptionKey: SEALING,
      polite,
      bounds: { ...SCHEDULER_BOUNDS, ...bounds },
      carriesRest: (_job, stateJson) => stateJson.includes('list'),
      nowMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      after: (ms, then) => {
        const timer = { atMs: this.nowMs + ms, run: then };
        this.#timers.push(timer);
        return () => {
          this.#timers = this.#timers.filter((other) => other !== timer);
        };
      },
      wakeWorker() {},
      send: (order) => {
        this.orders.push(order);
        if (order.kind === 'steps')
          for (const step of order.steps) {
            const { key } = JSON.parse(step.stateJson) as { key: string };
            this.leased.push({ ...step, key });
          }
        return true;
      },
      restartWorker: () => void this.restarts++,
      onEnded: (job, state) => void this.ended.push({ job, state }),
      onStoreFault: (fault) => void this.faults.push(fault),
    });
  }

  get keys(): string[] {
    return this.leased.map(({ key }) => key);
  }

  /** Advances the clock and runs the timers that are due. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ atMs }) => atMs > this.nowMs);
    for (const { run } of due) run();
    this.scheduler.tick();
    await this.settle();
  }

  take(key: string): Leased {
    const at = this.leased.findIndex((leased) => leased.key === key);
    const [leased] = this.leased.splice(at, 1);
    if (at < 0 || leased === undefined) throw new Error(`the worker does not have ${key}`);
    return leased;
  }

  /** Reports the step's result in the name of the worker, and waits until the store has written it. */
  async answer(leased: Leased, given: Answer = {}): Promise<void> {
    this.scheduler.hear([resultOf(leased.lease, given)]);
    await this.settle();
  }

  hear(...events: ExtractEvent[]): void {
    this.scheduler.hear(events);
  }

  /** Waits until the store has written everything and the scheduler was notified. */
  async settle(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      // Transactions are ordered, so all earlier ones are committed before this one.
      await new Promise((done) => setImmediate(done));
      await committed(this.#store.root, () => null);
      await new Promise((done) => setImmediate(done));
    }
  }
}

export interface Answer extends Partial<
  Pick<ExtractResult, 'failure' | 'total' | 'pauseMs' | 'errors' | 'sessionJson'>
> {
  readonly ids?: readonly string[];
  readonly next?: readonly string[];
}

export function resultOf(lease: number, { ids = [], next = [], failure = null, ...rest }: Answer): ExtractResult {
  return {
    kind: 'result',
    lease,
    ...found(ids),
    next: stepsNamed(next),
    total: null,
    pauseMs: 0,
    pages: failure === null ? 1 : 0,
    credits: failure === null ? 1 : 0,
    tier: failure === null ? 'standard' : null,
    errors: failure === null ? 0 : 1,
    bytes: 100,
    failure,
    notes: [],
    jobNotes: [],
    sessionJson: null,
    ...rest,
  };
}
