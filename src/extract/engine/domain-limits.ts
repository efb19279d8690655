import { FairEntry, FairQueue } from '../../kernel/fair-queue.ts';
import { SlotMap } from '../../kernel/slot-map.ts';

/** Rate limiter settings of the operator. Source: contract, 15.1. */
export interface DomainLimits {
  /** Ms between the starts of two requests to a registrable domain; 0 or more. */
  readonly gapMs: number;
  /** Concurrent requests to one registrable domain; 1 or more. */
  readonly concurrency: number;
}

/** A request's token, from when it is requested until it is released. */
export type Ticket = number;

/** Choice: reading a source that asks for a longer delay would take days, and a job has one. */
export const CRAWL_DELAY_MS_MAX = 30_000;
/**
 * Choice: a step is postponed for at most this long. If a source asks for more, the step fails, and the domain is paused for this long.
 */
export const PAUSE_MS_MAX = 3_600_000;
/**
 * Choice: a crawl delay from robots.txt is remembered for at least this long even if no request has started, because the request that
 * reported it is still running.
 */
const WISH_KEPT_MS = 60_000;
/** Choice: idle domains are searched for only when at least this many are in memory. */
const SWEEP_DOMAINS_MIN = 256;

interface Domain {
  readonly name: string;
  startedAtMs: number;
  crawlDelayMs: number;
  pausedUntilMs: number;
  knownUntilMs: number;
  running: number;
  /** The waiting tickets by job. */
  readonly waiting: FairQueue<string, Ticket>;
}

/**
 * Per-domain rate limiter: decides when a request to a domain may start. There is one for the whole service, so that all jobs
 * together are as polite as a single one. Pure: the time is passed in, it starts no timer, and it returns when to call it again.
 * Jobs take turns within a domain, and each job's requests keep their order. Idle domains are removed.
 */
export class DomainClock {
  readonly #settings: DomainLimits;
  readonly #domains = new Map<string, Domain>();
  /** Domains with waiting requests. */
  readonly #wanted = new Set<Domain>();
  /** Tickets not yet released. */
  readonly #tickets = new SlotMap<{ readonly domain: Domain; readonly entry: FairEntry<string, Ticket> }>();
  #nextTicket = 1;
  #sweepAt = SWEEP_DOMAINS_MIN;

  constructor(settings: DomainLimits) {
    this.#settings = settings;
  }

  /** Number of domains in memory. */
  get domains(): number {
    return this.#domains.size;
  }

  /** Number of domains that asked for a pause, for example with a 429 response and `Retry-After`. */
  paused(nowMs: number): number {
    let paused = 0;
    for (const { pausedUntilMs } of this.#domains.values()) if (pausedUntilMs > nowMs) paused++;
    return paused;
  }

  /** Returns the end of the domain's pause; null if it is not paused. */
  pausedUntilMs(domain: string, nowMs: number): number | null {
    const until = this.#domains.get(domain)?.pausedUntilMs ?? -Infinity;
    return until > nowMs ? until : null;
  }

  /** Requests a token; `due` returns when it is granted. */
  acquire(domain: string, jobId: string, nowMs: number): Ticket {
    const known = this.#domain(domain, nowMs);
    const ticket = this.#nextTicket++;
    const entry = new FairEntry<string, Ticket>(ticket);
    known.waiting.put(jobId, entry);
    this.#wanted.add(known);
    this.#tickets.set(ticket, { domain: known, entry });
    return ticket;
  }

  /** Returns the tickets that may start now. Each is returned once and counts as running until it is released. */
  due(nowMs: number): readonly Ticket[] {
    const due: Ticket[] = [];
    for (const domain of this.#wanted) {
      while (this.#nextStartMs(domain) <= nowMs) {
        const ticket = domain.waiting.take();
        if (ticket === null) break;
        domain.startedAtMs = nowMs;
        domain.running++;
        due.push(ticket);
      }
      if (domain.waiting.size === 0) this.#wanted.delete(domain);
    }
    return due;
  }

  /** Returns when `due` next has a ticket, as far as known now; null if everything waits for a release, or nothing waits. */
  nextDueMs(): number | null {
    let next = Infinity;
    for (const domain of this.#wanted) next = Math.min(next, this.#nextStartMs(domain));
    return next === Infinity ? null : next;
  }

  /** Releases a token after its request, or withdraws a waiting one. Ignores a ticket that was already released. */
  release(ticket: Ticket): void {
    const known = this.#tickets.get(ticket);
    if (known === undefined) return;
    this.#tickets.delete(ticket);
    const { domain, entry } = known;
    if (!domain.waiting.remove(entry)) domain.running--;
    if (domain.waiting.size === 0) this.#wanted.delete(domain);
  }

  /** Records what the source asks for: a pause after a rejected request, or a crawl delay from robots.txt. Both are limited. */
  report(
    domain: string,
    wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number },
    nowMs: number,
  ): void {
    const known = this.#domain(domain, nowMs);
    const { retryAfterMs, crawlDelayMs } = wish;
    if (retryAfterMs !== undefined)
      known.pausedUntilMs = Math.max(known.pausedUntilMs, nowMs + Math.min(retryAfterMs, PAUSE_MS_MAX));
    if (crawlDelayMs !== undefined) known.crawlDelayMs = Math.min(crawlDelayMs, CRAWL_DELAY_MS_MAX);
    known.knownUntilMs = nowMs + WISH_KEPT_MS;
  }

  /** Infinity while a request must wait for a release. */
  #nextStartMs(domain: Domain): number {
    if (domain.running >= this.#settings.concurrency) return Infinity;
    return Math.max(domain.startedAtMs + Math.max(this.#settings.gapMs, domain.crawlDelayMs), domain.pausedUntilMs);
  }

  #domain(name: string, nowMs: number): Domain {
    const known = this.#domains.get(name);
    if (known !== undefined) return known;
    if (this.#domains.size >= this.#sweepAt) this.#sweep(nowMs);
    const domain: Domain = {
      name,
      startedAtMs: -Infinity,
      crawlDelayMs: 0,
      pausedUntilMs: -Infinity,
      knownUntilMs: -Infinity,
      running: 0,
      waiting: new FairQueue(),
    };
    this.#domains.set(name, domain);
    return domain;
  }

  /** Removes domains that would be treated the same if they were new. Runs again when the number has doubled. */
  #sweep(nowMs: number): void {
    for (const domain of this.#domains.values()) {
      const isIdle = domain.running === 0 && domain.waiting.size === 0;
      if (isIdle && this.#nextStartMs(domain) <= nowMs && domain.knownUntilMs <= nowMs)
        this.#domains.delete(domain.name);
    }
    this.#sweepAt = Math.max(SWEEP_DOMAINS_MIN, 2 * this.#domains.size);
  }
}
