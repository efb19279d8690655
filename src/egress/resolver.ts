import { BoundedCache } from '../base/bounded-cache.ts';
import { codeOf, isLack } from './faults.ts';
import { nameLookup } from './name-lookup.ts';
import type { TimerWheel } from './timer-wheel.ts';

/**
 * Names to addresses, each asked for once however many want it; what waits, waits within the time of its own request. A name that
 * was found stays usable while its name servers are silent, one that hangs is asked for ever more rarely. Addresses are judged
 * whenever they are dialled, so a cached one is as safe as a new one.
 */

/**
 * All addresses of a name, in the order in which to try them; rejects with an error that has a `code`. When `signal` aborts nobody
 * waits any more: what has not begun by then is not to begin, and rejects with `ECANCELLED`.
 */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/** Choice: after that a look-up that never ends counts as timed out; the system's own ends within 30 s as a rule. */
const LOOKUP_MS_MAX = 30_000;
/** Choice: how long addresses are used without asking again. */
const FRESH_MS = 30_000;
/** Choice: how long a name that was not found is not asked for again. */
const FAILED_MS = 5_000;
/** Choice: the same for one that timed out, twice as long each time it does so again; a minute as for unhealthy webhooks. */
const TIMED_OUT_MS_MIN = 2_000;
const TIMED_OUT_MS_MAX = 60_000;
/** Choice: how old addresses may be that are taken as soon as asking again is slow. */
const STALE_MS_MAX = 300_000;
/** How old they may be where asking again fails for the moment. Source: RFC 8767, section 5, one to three days. */
const KEPT_MS_MAX = 86_400_000;
/** Choice: how long a request waits for new addresses when it has old ones, and when those are older than `STALE_MS_MAX`. */
const REFRESH_WAIT_MS = 100;
const RENEW_WAIT_MS = 1_000;
/** Choice: names in each of the two generations of the cache. */
const NAMES_MAX = 2048;
/** Choice: of a name with more addresses, the first ones. */
const ADDRESSES_MAX = 16;

export type Resolved =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  /** `lack`: this machine had no means to ask. */
  | { readonly kind: 'failed'; readonly detail: string; readonly lack?: string };

interface Entry {
  readonly outcome: Resolved;
  readonly answeredAtMs: number;
  readonly freshUntilMs: number;
  /** Time-outs since it was last answered. */
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

  /** Look-ups that are under way or wait. */
  get pending(): number {
    return this.#flights.size;
  }

  /** Settles at the latest when `signal` aborts; a look-up that nobody waits for any more is not begun. */
  resolve(host: string, signal: AbortSignal): Promise<Resolved> {
    if (signal.aborted) return Promise.resolve({ kind: 'failed', detail: `no time to look up ${host}` });
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
      // With old addresses at hand the flight goes on by itself, for those that come later.
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
    // Somebody may have come after the last one had left.
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

  /** A name that is gone is gone; name servers that do not answer for the moment do not take known addresses away. */
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

/** How long a name that failed is not asked for again. */
function pauseMs(timeOuts: number): number {
  return timeOuts === 0 ? FAILED_MS : Math.min(TIMED_OUT_MS_MAX, TIMED_OUT_MS_MIN * 2 ** (timeOuts - 1));
}
