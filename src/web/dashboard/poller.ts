import { effect, signal } from '@preact/signals';
import { type ApiFault, toFault } from './api.ts';

/** The live switch of the top bar. Off: requests are sent only when somebody asks for them. */
export const live = signal(true);

/** Choice: waits after consecutive failures, ms; a Retry-After that is longer counts instead. */
const BACK_OFF_MS = [2_000, 4_000, 8_000, 15_000, 30_000];
const BACK_OFF_MS_MAX = 30_000;

/** Choice: consecutive 429 responses that are retried without a message. */
const BRIEF_FAILURES = 2;

/** Sends requests and stores what they return. Stores nothing once `signal` is aborted; throws what `toFault` reads. */
type Read = (signal: AbortSignal) => Promise<void>;

export interface PollerOptions {
  /** Milliseconds between polls while the tab is visible and the live switch is on; 0: one poll only. */
  readonly everyMs: number;
  readonly poll: Read;
  /** Whether a poll has succeeded; until then a tab that becomes visible polls. */
  readonly isLoaded: () => boolean;
  /** `retryAtMs` null: it is not retried. */
  readonly onFault: (fault: ApiFault, retryAtMs: number | null) => void;
}

/** Polls one URL: at once, at intervals, and again after failures. A hidden tab polls when it becomes visible. */
export class Poller {
  readonly #options: PollerOptions;
  readonly #ended = new AbortController();
  /** Ends the poll in flight. */
  #polling: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueMs = 0;
  #failures = 0;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Polls now, and again when the live switch is turned on. Returns what ends it. */
  start(): () => void {
    const onVisible = (): void => {
      const isDue = this.#dueMs > 0 ? this.#dueMs <= Date.now() : !this.#options.isLoaded();
      if (!document.hidden && isDue) this.poll();
    };
    document.addEventListener('visibilitychange', onVisible);
    let isFirst = true;
    const stopWatching = effect(() => {
      const isLive = live.value;
      const repeats = this.#options.everyMs > 0;
      if (repeats && !isLive) clearTimeout(this.#timer);
      if (isFirst || (repeats && isLive)) this.poll();
      isFirst = false;
    });
    return () => {
      stopWatching();
      clearTimeout(this.#timer);
      document.removeEventListener('visibilitychange', onVisible);
      this.#polling?.abort();
      this.#ended.abort();
    };
  }

  /** Aborts the poll in flight and polls now; no-op while the tab is hidden. */
  poll(): void {
    if (document.hidden) return;
    this.#polling?.abort();
    this.#polling = new AbortController();
    void this.#attempt(this.#options.poll, this.#polling.signal, () => this.poll());
  }

  /** Reads something else of the same list beside the polls. After a failure its retry takes the place of the next poll. */
  read(read: Read): void {
    void this.#attempt(read, this.#ended.signal, () => this.read(read));
  }

  async #attempt(read: Read, signal: AbortSignal, retry: () => void): Promise<void> {
    try {
      await read(signal);
      if (signal.aborted) return;
      this.#failures = 0;
      const { everyMs } = this.#options;
      if (everyMs > 0 && live.peek()) this.#plan(everyMs, () => this.poll());
    } catch (error) {
      if (!signal.aborted) this.#fail(toFault(error), retry);
    }
  }

  #fail(fault: ApiFault, retry: () => void): void {
    const retries = fault.status === 0 || fault.status === 429 || fault.status >= 500;
    const backOffMs = BACK_OFF_MS[this.#failures] ?? BACK_OFF_MS_MAX;
    const waitMs = Math.max(backOffMs, (fault.retryAfterSeconds ?? 0) * 1_000);
    this.#failures++;
    // A 429 passes quickly: it is shown only if it persists.
    const isBrief = fault.status === 429 && this.#failures <= BRIEF_FAILURES;
    if (!isBrief) this.#options.onFault(fault, retries ? Date.now() + waitMs : null);
    if (retries) this.#plan(waitMs, retry);
  }

  #plan(waitMs: number, run: () => void): void {
    this.#dueMs = Date.now() + waitMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(run, waitMs);
  }
}
