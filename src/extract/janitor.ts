import type { StoreFault, StoreWrite } from '../store/durable.ts';
import type { ExtractStore } from '../store/extract-store.ts';

export interface JanitorParts {
  readonly store: Pick<ExtractStore, 'extractions' | 'sessions' | 'idempotency'>;
  nowMs(): number;
  /** Lets others have their turn. */
  breathe(): Promise<void>;
  onStoreFault(fault: StoreFault): void;
}

/** Measured: removing so many rows holds the main thread for some 2 ms. */
const ROWS_PER_WRITE = 1_000;
/** Choice: rounds of one call; what is left waits for the next one. */
const ROUNDS_MAX = 200;
const JOBS_PER_WRITE = 50;
/** Choice: rows that are looked at in a call; a day's keys are passed in some minutes. */
const SWEEP_ROWS = 1_000;

/** Removes what is too old or too much, a little at a time. */
export class Janitor {
  readonly #parts: JanitorParts;
  #running: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: JanitorParts) {
    this.#parts = parts;
  }

  /** One round after the other; a call while one runs is that one. */
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

  /** Again and again while as much was removed as tells that there is more. */
  async #until(moreFrom: number, remove: () => Promise<StoreWrite<number>>): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX && !this.#isStopped; round++) {
      const removed = await remove();
      if (removed.kind === 'fault') this.#parts.onStoreFault(removed);
      if (removed.kind === 'fault' || removed.value < moreFrom) return;
      await this.#parts.breathe();
    }
  }
}
