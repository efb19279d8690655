import { SlotMap } from '../base/slot-map.ts';

/** What of the polite clock an operator sets. Source: open points, section 6. */
export interface PoliteSettings {
  /** Between the starts of two requests to a registrable domain; 0 and up. */
  readonly gapMs: number;
  /** Requests to one at the same time; 1 and up. */
  readonly concurrency: number;
}

/** One wish to begin a request, from when it is asked for until it is released. */
export type Ticket = number;

/** Choice: a source that asks for more is one to be read for days, and a job has one. */
export const CRAWL_DELAY_MS_MAX = 30_000;
/** Choice: a step is put off for so long; a source that asks for more fails it, and then this is for the others that wait for it. */
export const PAUSE_MS_MAX = 3_600_000;
/** Choice: what robots.txt asked for is known at least so long, though nothing has started: the request that asked is on its way. */
const WISH_KEPT_MS = 60_000;
/** Choice: so many domains are there before those that are idle are looked for. */
const SWEEP_DOMAINS_MIN = 256;

interface Domain {
  readonly name: string;
  startedAtMs: number;
  crawlDelayMs: number;
  pausedUntilMs: number;
  knownUntilMs: number;
  running: number;
  /** Job → its tickets in the order of their wishes. The job whose turn is next stands first. */
  readonly waiting: Map<string, Ticket[]>;
}

/**
 * The polite clock: when a request to a domain may begin. One for the whole service, so that any number of jobs and workers together
 * are as polite as one. Pure: it is told the time, starts no timer, and says when it wants to be asked again.
 * Within a domain jobs take turns, and a job's wishes keep their order. Domains that are idle are forgotten.
 */
export class PoliteClock {
  readonly #settings: PoliteSettings;
  readonly #domains = new Map<string, Domain>();
  /** Those that something waits for. */
  readonly #wanted = new Set<Domain>();
  /** Where each ticket stands that was not released; `jobId` while it waits, null while it runs. */
  readonly #tickets = new SlotMap<{ readonly domain: Domain; readonly jobId: string | null }>();
  #nextTicket = 1;
  #sweepAt = SWEEP_DOMAINS_MIN;

  constructor(settings: PoliteSettings) {
    this.#settings = settings;
  }

  /** Domains that are remembered. */
  get domains(): number {
    return this.#domains.size;
  }

  /** Those of them that have asked to be left alone for a while, by an answer like 429 with `Retry-After`. */
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

  /** Wishes to begin a request; `due` says when it may. */
  acquire(domain: string, jobId: string, nowMs: number): Ticket {
    const known = this.#domain(domain, nowMs);
    const ticket = this.#nextTicket++;
    const queue = known.waiting.get(jobId);
    if (queue === undefined) known.waiting.set(jobId, [ticket]);
    else queue.push(ticket);
    this.#wanted.add(known);
    this.#tickets.set(ticket, { domain: known, jobId });
    return ticket;
  }

  /** The tickets that may begin now; each is told once and runs until it is released. */
  due(nowMs: number): readonly Ticket[] {
    const due: Ticket[] = [];
    for (const domain of this.#wanted) {
      while (this.#nextStartMs(domain) <= nowMs) {
        const ticket = takeTurn(domain);
        if (ticket === null) break;
        domain.startedAtMs = nowMs;
        domain.running++;
        this.#tickets.set(ticket, { domain, jobId: null });
        due.push(ticket);
      }
      if (domain.waiting.size === 0) this.#wanted.delete(domain);
    }
    return due;
  }

  /** When `due` has something next, as far as is known now; null while everything waits for a release, or nothing waits. */
  nextDueMs(): number | null {
    let next = Infinity;
    for (const domain of this.#wanted) next = Math.min(next, this.#nextStartMs(domain));
    return next === Infinity ? null : next;
  }

  /** The request is over, or the wish is withdrawn. A ticket that was released before is passed over. */
  release(ticket: Ticket): void {
    const known = this.#tickets.get(ticket);
    if (known === undefined) return;
    this.#tickets.delete(ticket);
    const { domain, jobId } = known;
    if (jobId === null) domain.running--;
    else withdraw(domain, jobId, ticket);
    if (domain.waiting.size === 0) this.#wanted.delete(domain);
  }

  /** What the source asks for: a pause after a refusal, a gap by robots.txt. Both are bounded. */
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

  /** Infinity while it must wait for a release. */
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
      waiting: new Map(),
    };
    this.#domains.set(name, domain);
    return domain;
  }

  /** Forgets the domains that would be treated the same if they were new. Next when there are twice as many as were left. */
  #sweep(nowMs: number): void {
    for (const domain of this.#domains.values()) {
      const isIdle = domain.running === 0 && domain.waiting.size === 0;
      if (isIdle && this.#nextStartMs(domain) <= nowMs && domain.knownUntilMs <= nowMs)
        this.#domains.delete(domain.name);
    }
    this.#sweepAt = Math.max(SWEEP_DOMAINS_MIN, 2 * this.#domains.size);
  }
}

/** The first ticket of the job whose turn it is, which then goes behind the others. */
function takeTurn({ waiting }: Domain): Ticket | null {
  for (const [jobId, queue] of waiting) {
    waiting.delete(jobId);
    const ticket = queue.shift();
    if (queue.length > 0) waiting.set(jobId, queue);
    return ticket ?? null;
  }
  return null;
}

function withdraw({ waiting }: Domain, jobId: string, ticket: Ticket): void {
  const queue = waiting.get(jobId);
  const at = queue?.indexOf(ticket) ?? -1;
  if (queue === undefined || at < 0) return;
  queue.splice(at, 1);
  if (queue.length === 0) waiting.delete(jobId);
}
