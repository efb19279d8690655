import { SlotMap } from '../kernel/slot-map.ts';
import { DomainClock, type DomainLimits, type Ticket } from './domain-limits.ts';

export interface DomainLimiterParts {
  readonly settings: DomainLimits;
  /** Monotonic, because the rate limiter measures durations. */
  monotonicMs(): number;
  after(ms: number, then: () => void): () => void;
  /** Notifies a worker that these requests may start. */
  grant(worker: number, permits: readonly number[]): void;
  /** Reports that a step waits for one more or one fewer request. */
  waits(lease: number, by: 1 | -1): void;
}

interface Wish {
  readonly ticket: Ticket;
  readonly worker: number;
  readonly permit: number;
  readonly lease: number;
  isWaiting: boolean;
}

/** A worker's token numbers stay below this. */
const PERMITS_MAX = 2 ** 40;

function placeOf(worker: number, permit: number): number {
  return worker * PERMITS_MAX + permit;
}

/** Choice: a timer that fires slightly early would make the rate limiter run twice. */
const TIMER_MS_MIN = 1;

/** Per-domain rate limiter with its timer, between the workers' token requests and the tokens granted to them. */
export class DomainLimiter {
  readonly #parts: DomainLimiterParts;
  readonly #clock: DomainClock;
  readonly #wishes = new SlotMap<Wish>();
  /** Tickets by worker and the worker's own token number. */
  readonly #tickets = new Map<number, Ticket>();
  #callOff: (() => void) | null = null;
  #isStopped = false;

  constructor(parts: DomainLimiterParts) {
    this.#parts = parts;
    this.#clock = new DomainClock(parts.settings);
  }

  get domains(): number {
    return this.#clock.domains;
  }

  get domainsPaused(): number {
    return this.#clock.paused(this.#parts.monotonicMs());
  }

  /** Returns the end of the domain's pause (monotonic ms); null if it is not paused. */
  pausedUntilMs(domain: string): number | null {
    return this.#clock.pausedUntilMs(domain, this.#parts.monotonicMs());
  }

  wish(worker: number, permit: number, lease: number, job: number, domain: string): void {
    const ticket = this.#clock.acquire(domain, String(job), this.#parts.monotonicMs());
    this.#wishes.set(ticket, { ticket, worker, permit, lease, isWaiting: true });
    this.#tickets.set(placeOf(worker, permit), ticket);
    this.#parts.waits(lease, 1);
  }

  release(worker: number, permit: number): void {
    const ticket = this.#tickets.get(placeOf(worker, permit));
    if (ticket !== undefined) this.#remove(ticket);
  }

  report(domain: string, wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number }): void {
    this.#clock.report(domain, wish, this.#parts.monotonicMs());
  }

  /** Drops all requests of a worker that has died. */
  forget(worker: number): void {
    for (const wish of this.#wishes.values()) if (wish.worker === worker) this.#remove(wish.ticket);
  }

  /** Call after each round of requests and releases. */
  pump(): void {
    if (this.#isStopped) return;
    const nowMs = this.#parts.monotonicMs();
    const granted = new Map<number, number[]>();
    for (const ticket of this.#clock.due(nowMs)) {
      const wish = this.#wishes.get(ticket);
      if (wish === undefined) continue;
      wish.isWaiting = false;
      this.#parts.waits(wish.lease, -1);
      const permits = granted.get(wish.worker);
      if (permits === undefined) granted.set(wish.worker, [wish.permit]);
      else permits.push(wish.permit);
    }
    for (const [worker, permits] of granted) this.#parts.grant(worker, permits);
    this.#setTimer(nowMs);
  }

  /** Grants nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#clearTimer();
  }

  #remove(ticket: Ticket): void {
    const wish = this.#wishes.get(ticket);
    if (wish === undefined) return;
    this.#wishes.delete(ticket);
    this.#tickets.delete(placeOf(wish.worker, wish.permit));
    this.#clock.release(ticket);
    if (wish.isWaiting) this.#parts.waits(wish.lease, -1);
  }

  #setTimer(nowMs: number): void {
    this.#clearTimer();
    const nextMs = this.#clock.nextDueMs();
    if (nextMs === null) return;
    this.#callOff = this.#parts.after(Math.max(TIMER_MS_MIN, nextMs - nowMs), () => {
      this.#callOff = null;
      this.pump();
    });
  }

  #clearTimer(): void {
    this.#callOff?.();
    this.#callOff = null;
  }
}
