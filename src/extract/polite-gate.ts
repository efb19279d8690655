import { SlotMap } from '../base/slot-map.ts';
import { PoliteClock, type PoliteSettings, type Ticket } from './politeness.ts';

export interface PoliteGateParts {
  readonly settings: PoliteSettings;
  /** Monotonic: the clock is one of durations. */
  monotonicMs(): number;
  after(ms: number, then: () => void): () => void;
  /** These requests of a worker may begin. */
  grant(worker: number, permits: readonly number[]): void;
  /** A step waits for one request more, or less. */
  waits(lease: number, by: 1 | -1): void;
}

interface Wish {
  readonly ticket: Ticket;
  readonly worker: number;
  readonly permit: number;
  readonly lease: number;
  isWaiting: boolean;
}

/** A worker counts its permits up to less than this. */
const PERMITS_MAX = 2 ** 40;

function placeOf(worker: number, permit: number): number {
  return worker * PERMITS_MAX + permit;
}

/** Choice: a clock that is asked a little early would be asked twice. */
const TIMER_MS_MIN = 1;

/** The polite clock with its timer, between the workers' wishes and their requests. */
export class PoliteGate {
  readonly #parts: PoliteGateParts;
  readonly #clock: PoliteClock;
  readonly #wishes = new SlotMap<Wish>();
  /** By worker and its own number. */
  readonly #tickets = new Map<number, Ticket>();
  #callOff: (() => void) | null = null;
  #isStopped = false;

  constructor(parts: PoliteGateParts) {
    this.#parts = parts;
    this.#clock = new PoliteClock(parts.settings);
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

  /** The worker is dead with all its requests. */
  forget(worker: number): void {
    for (const wish of this.#wishes.values()) if (wish.worker === worker) this.#remove(wish.ticket);
  }

  /** To be called after each round of wishes and releases. */
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

  /** Nothing is granted any more. */
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
