import { BATCH_REQUESTS_MAX, OUTCOMES_KEPT_MS } from '../kernel/limits.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Outcome } from '../risk/event-outcome.ts';
import type { Replayed, ReplayEngine, ReplayRequest, Settleable } from './replay-engine.ts';

/** An outcome that was reported later than its decision. */
export interface ReplayOutcome {
  readonly customer: CustomerNumber;
  readonly requestId: string;
  readonly outcome: Outcome;
  /** The time of the report, Unix ms. */
  readonly atMs: number;
}

/** Choice: decisions whose outcome may still come, some 400 bytes each; the oldest ones are dropped first. */
const OPEN_MAX = 200_000;

/**
 * Plays requests and outcomes in the order in which they are given. Requests are scored in batches; an outcome counts before every request
 * that is given after it. `T` is what the caller knows of a request.
 */
export class Replay<T> {
  readonly #engine: ReplayEngine;
  readonly #onDecided: (replayed: Replayed, request: ReplayRequest, known: T) => void;
  #batch: { readonly request: ReplayRequest; readonly known: T; readonly hasOutcome: boolean }[] = [];
  /** Decisions whose outcome may still come, oldest first. */
  readonly #open = new Map<string, Settleable>();
  /** Outcomes whose decision was not found. */
  unmatched = 0;

  /** `onDecided` is called for each request, in order. */
  constructor(engine: ReplayEngine, onDecided: (replayed: Replayed, request: ReplayRequest, known: T) => void) {
    this.#engine = engine;
    this.#onDecided = onDecided;
  }

  /** `hasOutcome`: an outcome of it may be reported later. */
  async request(request: ReplayRequest, known: T, hasOutcome: boolean): Promise<void> {
    this.#batch.push({ request, known, hasOutcome });
    if (this.#batch.length >= BATCH_REQUESTS_MAX) await this.flush();
  }

  async outcome({ customer, requestId, outcome, atMs }: ReplayOutcome): Promise<void> {
    await this.flush();
    const decided = this.#open.get(requestId);
    if (decided === undefined || decided.occurredAtMs < atMs - OUTCOMES_KEPT_MS) {
      this.unmatched++;
      return;
    }
    this.#engine.settle(customer, decided, outcome, atMs);
    this.#open.set(requestId, { ...decided, outcome });
  }

  /** Decides what waits for its batch. Call at the end. */
  async flush(): Promise<void> {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    const replayed = await this.#engine.decide(batch.map(({ request }) => request));
    for (const [at, { request, known, hasOutcome }] of batch.entries()) {
      const one = replayed[at];
      if (one === undefined) throw new Error('a request was not decided');
      if (hasOutcome && one.kind === 'decided') this.#keep(one.record);
      this.#onDecided(one, request, known);
    }
  }

  #keep({ requestId, occurredAtMs, publicKey, outcome, trace }: Settleable & { readonly requestId: string }): void {
    this.#open.set(requestId, { occurredAtMs, publicKey, outcome, trace });
    for (const [id, { occurredAtMs: atMs }] of this.#open) {
      if (this.#open.size <= OPEN_MAX && atMs >= occurredAtMs - OUTCOMES_KEPT_MS) break;
      this.#open.delete(id);
    }
  }
}
