import { SlotMap } from '../../kernel/slot-map.ts';
import type { SharedPoliteness } from '../../ports/politeness.ts';
import { CRAWL_DELAY_MS_MAX, DomainClock, type DomainLimits, PAUSE_MS_MAX, type Ticket } from './domain-limits.ts';

export interface DomainLimiterParts {
  readonly settings: DomainLimits;
  /** Monotonic, because the rate limiter measures durations. */
  monotonicMs(): number;
  after(ms: number, then: () => void): () => void;
  /** Notifies the worker that these requests may start. */
  grant(permits: readonly number[]): void;
  /** Reports that a step waits for one more or one fewer request. */
  waits(lease: number, by: 1 | -1): void;
  /** Decides between the nodes of a cluster; null on a single node. */
  readonly shared?: SharedPoliteness | null;
}

interface Wish {
  readonly ticket: Ticket;
  readonly domain: string;
  readonly permit: number;
  readonly lease: number;
  isWaiting: boolean;
}

/** Choice: a timer that fires slightly early would make the rate limiter run twice. */
const TIMER_MS_MIN = 1;
/** Choice: a longer wait than usual gaps is a pause that a source asked another node for; jobs then show until when they wait. */
const SHARED_PAUSE_MS_MIN = 2_000;

/** Per-domain rate limiter with its timer, between the worker's token requests and the tokens granted to them. */
export class DomainLimiter {
  readonly #parts: DomainLimiterParts;
  readonly #clock: DomainClock;
  readonly #wishes = new SlotMap<Wish>();
  /** Tickets by the worker's own token number. */
  readonly #tickets = new Map<number, Ticket>();
  #callOff: (() => void) | null = null;
  #isStopped = false;
  /** The shared limiter did not answer last time: this node keeps its part of the limits. */
  #isAlone = false;

  constructor(parts: DomainLimiterParts) {
    this.#parts = parts;
    const { shared, settings } = parts;
    this.#clock = new DomainClock(shared ? this.#dividedLimits(shared) : settings);
  }

  /** Returns the limits, divided among the nodes while they cannot ask each other. */
  #dividedLimits(shared: SharedPoliteness): DomainLimits {
    const { settings } = this.#parts;
    const nodes = (): number => (this.#isAlone ? shared.nodes : 1);
    return {
      get gapMs() {
        return settings.gapMs * nodes();
      },
      get concurrency() {
        return Math.max(1, Math.floor(settings.concurrency / nodes()));
      },
    };
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

  wish(permit: number, lease: number, job: number, domain: string): void {
    const ticket = this.#clock.acquire(domain, String(job), this.#parts.monotonicMs());
    this.#wishes.set(ticket, { ticket, domain, permit, lease, isWaiting: true });
    this.#tickets.set(permit, ticket);
    this.#parts.waits(lease, 1);
  }

  release(permit: number): void {
    const ticket = this.#tickets.get(permit);
    if (ticket !== undefined) this.#remove(ticket);
  }

  report(domain: string, wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number }): void {
    this.#clock.report(domain, wish, this.#parts.monotonicMs());
    const { retryAfterMs, crawlDelayMs } = wish;
    this.#parts.shared?.report(domain, {
      ...(retryAfterMs !== undefined && { retryAfterMs: Math.min(retryAfterMs, PAUSE_MS_MAX) }),
      ...(crawlDelayMs !== undefined && { crawlDelayMs: Math.min(crawlDelayMs, CRAWL_DELAY_MS_MAX) }),
    });
  }

  /** Drops all requests, because the worker has died. */
  forget(): void {
    for (const wish of this.#wishes.values()) this.#remove(wish.ticket);
  }

  /** Call after each round of requests and releases. */
  pump(): void {
    if (this.#isStopped) return;
    const nowMs = this.#parts.monotonicMs();
    const granted: number[] = [];
    for (const ticket of this.#clock.due(nowMs)) {
      const wish = this.#wishes.get(ticket);
      if (wish === undefined) continue;
      if (this.#parts.shared) {
        void this.#ask(wish, this.#parts.shared);
        continue;
      }
      this.#begins(wish);
      granted.push(wish.permit);
    }
    if (granted.length > 0) this.#parts.grant(granted);
    this.#setTimer(nowMs);
  }

  /** Grants nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#clearTimer();
  }

  #begins(wish: Wish): void {
    wish.isWaiting = false;
    this.#parts.waits(wish.lease, -1);
  }

  /**
   * Asks the shared limiter for a request that may start as far as this node knows, until it may or is withdrawn. The first time that
   * there is no answer, the request waits for the other nodes' parts of the gap.
   */
  async #ask(wish: Wish, shared: SharedPoliteness): Promise<void> {
    const { ticket, domain } = wish;
    const waitMs = await shared.acquire(domain, String(ticket));
    const wasAlone = this.#isAlone;
    this.#isAlone = waitMs === null;
    if (this.#isStopped || this.#wishes.get(ticket) !== wish) {
      shared.release(domain, String(ticket));
      return;
    }
    if (waitMs === 0 || (waitMs === null && wasAlone)) {
      this.#begins(wish);
      this.#parts.grant([wish.permit]);
      return;
    }
    if (waitMs !== null && waitMs >= SHARED_PAUSE_MS_MIN)
      this.#clock.report(domain, { retryAfterMs: waitMs }, this.#parts.monotonicMs());
    const againMs = waitMs ?? this.#parts.settings.gapMs * (shared.nodes - 1);
    this.#parts.after(Math.max(TIMER_MS_MIN, againMs), () => void this.#ask(wish, shared));
  }

  #remove(ticket: Ticket): void {
    const wish = this.#wishes.get(ticket);
    if (wish === undefined) return;
    if (!wish.isWaiting) this.#parts.shared?.release(wish.domain, String(ticket));
    this.#wishes.delete(ticket);
    this.#tickets.delete(wish.permit);
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
