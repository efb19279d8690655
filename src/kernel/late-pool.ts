import { setTimeout as sleep } from 'node:timers/promises';

/** Choice: a pool that cannot start now, for lack of memory or threads, may start later. */
const AGAIN_MS = 1_000;

/**
 * A pool whose workers start with their first work: an unused thread costs its start and 25 to 45 MB.
 * Measured: without webhooks and jobs a start takes 1.4 s of processor time instead of 2.0 s, and the idle process has 290 MB instead of
 * 351 MB.
 */
export class LatePool<P> {
  readonly #start: () => Promise<P>;
  readonly #onOpened: (pool: P) => void;
  readonly #onFailed: (error: unknown) => void;
  #opening: Promise<void> | null = null;
  #isClosed = false;
  #failed = false;
  #pool: P | null = null;

  /** `onOpened` is called once the pool is available; `onFailed` after each failed start, which is then retried. */
  constructor(parts: { start(): Promise<P>; onOpened(pool: P): void; onFailed(error: unknown): void }) {
    this.#start = () => parts.start();
    this.#onOpened = (pool) => parts.onOpened(pool);
    this.#onFailed = (error) => parts.onFailed(error);
  }

  /** null until the pool was needed and its workers are up. */
  get current(): P | null {
    return this.#pool;
  }

  /** Whether the pool was needed and has failed to start so far. */
  get isBroken(): boolean {
    return this.#failed;
  }

  /** Starts the pool unless it was woken before, and retries until it succeeds: a failure to send or fetch must not stop decisions. */
  wake(): void {
    if (this.#opening !== null || this.#isClosed) return;
    this.#opening = this.#openAtLast();
  }

  /** Prevents further starts. Resolves to the pool that has started or is starting. */
  async closed(): Promise<P | null> {
    this.#isClosed = true;
    await this.#opening;
    return this.#pool;
  }

  async #openAtLast(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const pool = await this.#start();
        this.#pool = pool;
        this.#failed = false;
        this.#onOpened(pool);
        return;
      } catch (error) {
        this.#failed = true;
        this.#onFailed(error);
        await sleep(AGAIN_MS);
      }
    }
  }
}
