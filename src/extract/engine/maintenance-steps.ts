import type { StoreFault, StoreWrite } from '../../state/tables/durable.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';

export interface JanitorParts {
  readonly store: Pick<ExtractStore, 'extractions' | 'sessions' | 'idempotency'>;
  nowMs(): number;
  /** Yields to the event loop. */
  yieldToEventLoop(): Promise<void>;
  onStoreFault(fault: StoreFault): void;
}

/** Measured: removing this many rows blocks the extraction thread for about 2 ms. */
const ROWS_PER_WRITE = 1_000;
/** Choice: maximum number of rounds of one call. The next call removes the rest. */
const ROUNDS_MAX = 200;
const JOBS_PER_WRITE = 50;
/** Choice: rows inspected by one call. A day's keys are covered within some minutes. */
const SWEEP_ROWS = 1_000;

/** Removes expired and surplus data in small portions. */
export class Janitor {
  readonly #parts: JanitorParts;
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: JanitorParts) {
    this.#parts = parts;
  }

  /** Runs the maintenance once. A call during a run returns the promise of that run. */
  run(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #round(): Promise<void> {
    const { extractions, sessions, idempotency } = this.#parts.store;
    const nowMs = this.#parts.nowMs();
    await this.#until(1, () => extractions.prune(nowMs, JOBS_PER_WRITE));
    await this.#until(ROWS_PER_WRITE, () => extractions.clean(ROWS_PER_WRITE));
    await this.#until(Infinity, () => sessions.sweep(nowMs, SWEEP_ROWS));
    await this.#until(Infinity, () => idempotency.sweep(nowMs, SWEEP_ROWS));
  }

  /** Repeats while the number of removed rows indicates that there are more. */
  async #until(moreFrom: number, remove: () => Promise<StoreWrite<number>>): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && !this.#isStopped; round++) {
      const removed = await remove();
      if (removed.kind === 'fault') this.#parts.onStoreFault(removed);
      if (removed.kind === 'fault' || removed.value < moreFrom) return;
      await this.#parts.yieldToEventLoop();
    }
  }
}
