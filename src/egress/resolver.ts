import { BoundedCache } from '../kernel/bounded-cache.ts';
import { codeOf, isLack } from './faults.ts';
import { type Lookup, nameLookup } from './name-lookup.ts';
import type { TimerWheel } from './timer-wheel.ts';

/**
 * Caches DNS results. Concurrent look-ups of one name share one query, and each caller waits within the time of its own request. A name
 * that was found stays usable while its name servers do not answer. Timed-out names are retried with exponential back-off. Addresses are
 * checked at every dial, so a cached one is as safe as a new one.
 */

/** Choice: ms after which a look-up that hangs counts as timed out. The system's own look-up usually ends within 30 s. */
const LOOKUP_MS_MAX = 30_000;
/** Choice: ms for which addresses are used without a new query. */
const FRESH_MS = 30_000;
/** Choice: ms for which a name that was not found is not queried again. */
const FAILED_MS = 5_000;
/**
 * Choice: ms for which a name that timed out is not queried again, doubled with each further time-out. The maximum is a minute, as for
 * unhealthy webhooks.
 */
const TIMED_OUT_MS_MIN = 2_000;
const TIMED_OUT_MS_MAX = 60_000;
/** Choice: maximum age of addresses that are returned as soon as a new query is slow. */
const STALE_MS_MAX = 300_000;
/** Maximum age of addresses that are used while queries fail temporarily. Source: RFC 8767, section 5, one to three days. */
const KEPT_MS_MAX = 86_400_000;
/**
 * Choice: how long a request waits for new addresses if it has old ones. The second value applies when those are older than `STALE_MS_MAX`.
 */
const REFRESH_WAIT_MS = 100;
const RENEW_WAIT_MS = 1_000;
/** Choice: names in each of the two generations of the cache. */
const NAMES_MAX = 2048;
/** Choice: if a name has more addresses, only the first ones are used. */
const ADDRESSES_MAX = 16;

export type Resolved =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  /** `lack`: error code if this machine lacked a resource for the query. */
  | { readonly kind: 'failed'; readonly detail: string; readonly lack?: string };

interface Entry {
  readonly outcome: Resolved;
  readonly answeredAtMs: number;
  readonly freshUntilMs: number;
  /** Number of time-outs since the last answer. */
  readonly timeOuts: number;
}

interface Flight {
  readonly host: string;
  readonly waiting: Set<(outcome: Resolved) => void>;
  /** Aborts when nobody waits any more. */
  limit: AbortController;
}

export class Resolver {
  readonly #lookup: Lookup;
  readonly #wheel: TimerWheel;
  readonly #cache = new BoundedCache<string, Entry>(NAMES_MAX);
  readonly #flights = new Map<string, Flight>();

  constructor(wheel: TimerWheel, lookup: Lookup = nameLookup()) {
    this.#wheel = wheel;
    this.#lookup = lookup;
  }

  /** Look-ups that are running or queued. */
  get pending(): number {
    return this.#flights.size;
  }

  /** Settles no later than `signal` aborts. A look-up that nobody waits for is not started. */
  resolve(host: string, signal: AbortSignal): Promise<Resolved> {
    if (signal.aborted) return Promise.resolve({ kind: 'failed', detail: `no time left to look up ${host}` });
    const entry = this.#cache.get(host);
    const nowMs = this.#wheel.nowMs();
    if (entry !== undefined && nowMs < entry.freshUntilMs) return Promise.resolve(entry.outcome);
    return this.#join(host, entry !== undefined && isKept(entry, nowMs) ? entry : null, signal);
  }

  #join(host: string, old: Entry | null, signal: AbortSignal): Promise<Resolved> {
    return new Promise((resolve) => {
      const flight = this.#flightOf(host);
      const settle = (outcome: Resolved): void => {
        signal.removeEventListener('abort', onAbort);
        if (patience !== null) this.#wheel.cancel(patience);
        resolve(outcome);
      };
      const onAbort = (): void => {
        flight.waiting.delete(settle);
        if (flight.waiting.size === 0) flight.limit.abort();
        settle({ kind: 'failed', detail: `no addresses of ${host} in time` });
      };
      // When this caller settles for old addresses, the look-up continues for later callers.
      const patience = old === null ? null : this.#wheel.add(this.#patienceMs(old), () => settle(old.outcome));
      flight.waiting.add(settle);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #patienceMs({ answeredAtMs }: Entry): number {
    return this.#wheel.nowMs() - answeredAtMs < STALE_MS_MAX ? REFRESH_WAIT_MS : RENEW_WAIT_MS;
  }

  #flightOf(host: string): Flight {
    const known = this.#flights.get(host);
    if (known !== undefined) return known;
    const flight: Flight = { host, waiting: new Set(), limit: new AbortController() };
    this.#flights.set(host, flight);
    void this.#run(flight);
    return flight;
  }

  async #run(flight: Flight): Promise<void> {
    const { host, waiting } = flight;
    let answer = await this.#ask(flight);
    // A new caller may have joined after the last one left, when the look-up was already cancelled.
    while (isCancelled(answer) && waiting.size > 0) {
      flight.limit = new AbortController();
      answer = await this.#ask(flight);
    }
    this.#flights.delete(host);
    if (isCancelled(answer)) return;
    const outcome = this.#remember(host, answer);
    for (const settle of waiting) settle(outcome);
  }

  #ask({ host, limit }: Flight): Promise<Answer> {
    return new Promise((resolve) => {
      const giveUp = this.#wheel.add(LOOKUP_MS_MAX, () => resolve({ kind: 'failed', code: 'ETIMEOUT' }));
      const settle = (answer: Answer): void => {
        this.#wheel.cancel(giveUp);
        resolve(answer);
      };
      this.#lookup(host, limit.signal).then(
        (addresses) => settle({ kind: 'found', addresses: addresses.slice(0, ADDRESSES_MAX) }),
        (error: unknown) => settle({ kind: 'failed', code: codeOf(error) }),
      );
    });
  }

  /** Caches the result. An answer that the name does not exist replaces known addresses. Name servers that fail temporarily do not. */
  #remember(host: string, answer: Answer): Resolved {
    const nowMs = this.#wheel.nowMs();
    if (answer.kind === 'found' && answer.addresses.length > 0) {
      this.#cache.set(host, { outcome: answer, answeredAtMs: nowMs, freshUntilMs: nowMs + FRESH_MS, timeOuts: 0 });
      return answer;
    }
    const code = answer.kind === 'found' ? 'ENODATA' : answer.code;
    const old = this.#cache.get(host);
    const kept = old !== undefined && isTemporary(code) && isKept(old, nowMs) ? old : null;
    if (isLack(code)) return kept?.outcome ?? { kind: 'failed', detail: `${code} ${host}`, lack: code };
    const timeOuts = TIME_OUT_CODES.has(code) ? (old?.timeOuts ?? 0) + 1 : 0;
    const outcome: Resolved = kept?.outcome ?? { kind: 'failed', detail: `${code} ${host}` };
    const answeredAtMs = kept?.answeredAtMs ?? nowMs;
    this.#cache.set(host, { outcome, answeredAtMs, freshUntilMs: nowMs + pauseMs(timeOuts), timeOuts });
    return outcome;
  }
}

type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'failed'; readonly code: string };

const CANCELLED = 'ECANCELLED';
const TIME_OUT_CODES = new Set(['ETIMEOUT', 'EAI_AGAIN']);
const TEMPORARY_CODES = new Set([...TIME_OUT_CODES, 'EAI_FAIL', 'ESERVFAIL', 'EREFUSED', 'ECONNREFUSED', '']);

function isTemporary(code: string): boolean {
  return TEMPORARY_CODES.has(code) || isLack(code);
}

function isCancelled(answer: Answer): boolean {
  return answer.kind === 'failed' && answer.code === CANCELLED;
}

function isKept({ outcome, answeredAtMs }: Entry, nowMs: number): boolean {
  return outcome.kind === 'found' && nowMs - answeredAtMs < KEPT_MS_MAX;
}

/** Returns how long (ms) a failed name is not queried again. */
function pauseMs(timeOuts: number): number {
  return timeOuts === 0 ? FAILED_MS : Math.min(TIMED_OUT_MS_MAX, TIMED_OUT_MS_MIN * 2 ** (timeOuts - 1));
}
