import { lookup as systemLookup } from 'node:dns/promises';
import { BoundedCache } from '../base/bounded-cache.ts';
import { codeOf } from './faults.ts';
import type { TimerWheel } from './timer-wheel.ts';

/**
 * Names to addresses. Look-ups block threads that are shared with files, so few run at once, each name once; what waits, waits
 * within the time of its own request. Addresses are judged whenever they are dialled, so a cached one is as safe as a new one.
 */

/** All addresses of a name, in the order in which to try them; rejects with an error that has a `code`. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** Choice: libuv runs no more look-ups than half of its 4 threads at once; the others stay free for files. */
const LOOKUPS_AT_ONCE_MAX = 2;
/** Choice: after that a look-up that never ends gives up its place; the system's own ends within 30 s as a rule. */
const LOOKUP_MS_MAX = 30_000;
/** Choice: how long addresses are used without asking again. */
const FRESH_MS = 30_000;
/** Choice: how long a name that was not found is not asked for again. */
const FAILED_MS = 5_000;
/** Choice: how old addresses may be while asking again is slow or fails for the moment. */
const STALE_MS_MAX = 300_000;
/** Choice: how long a request waits for new addresses when it has old ones. */
const REFRESH_WAIT_MS = 100;
/** Choice: names in each of the two generations of the cache. */
const NAMES_MAX = 2048;
/** Choice: of a name with more addresses, the first ones. */
const ADDRESSES_MAX = 16;

export type Resolved =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'failed'; readonly detail: string };

interface Entry {
  readonly outcome: Resolved;
  readonly answeredAtMs: number;
  readonly freshUntilMs: number;
}

interface Flight {
  readonly host: string;
  readonly waiting: Set<(outcome: Resolved) => void>;
}

export class Resolver {
  readonly #lookup: Lookup;
  readonly #wheel: TimerWheel;
  readonly #cache = new BoundedCache<string, Entry>(NAMES_MAX);
  readonly #flights = new Map<string, Flight>();
  /** Flights that have not begun, in order. */
  readonly #queue = new Set<Flight>();
  #running = 0;

  constructor(wheel: TimerWheel, lookup: Lookup = lookupBySystem) {
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
    const isUsable = entry?.outcome.kind === 'found' && nowMs - entry.answeredAtMs < STALE_MS_MAX;
    return this.#join(host, isUsable ? entry.outcome : null, signal);
  }

  #join(host: string, old: Resolved | null, signal: AbortSignal): Promise<Resolved> {
    return new Promise((resolve) => {
      const flight = this.#flightOf(host);
      const settle = (outcome: Resolved): void => {
        signal.removeEventListener('abort', onAbort);
        if (patience !== null) this.#wheel.cancel(patience);
        resolve(outcome);
      };
      const onAbort = (): void => {
        this.#leave(flight, settle);
        settle({ kind: 'failed', detail: `no addresses of ${host} in time` });
      };
      // With old addresses at hand the flight goes on by itself, for those that come later.
      const patience = old === null ? null : this.#wheel.add(REFRESH_WAIT_MS, () => settle(old));
      flight.waiting.add(settle);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#begin();
    });
  }

  #flightOf(host: string): Flight {
    const known = this.#flights.get(host);
    if (known !== undefined) return known;
    const flight: Flight = { host, waiting: new Set() };
    this.#flights.set(host, flight);
    this.#queue.add(flight);
    return flight;
  }

  #leave(flight: Flight, settle: (outcome: Resolved) => void): void {
    flight.waiting.delete(settle);
    if (flight.waiting.size === 0 && this.#queue.delete(flight)) this.#flights.delete(flight.host);
  }

  #begin(): void {
    for (const flight of this.#queue) {
      if (this.#running >= LOOKUPS_AT_ONCE_MAX) return;
      this.#queue.delete(flight);
      this.#running++;
      void this.#run(flight);
    }
  }

  async #run(flight: Flight): Promise<void> {
    const answer = await this.#ask(flight.host);
    this.#running--;
    this.#flights.delete(flight.host);
    const outcome = this.#remember(flight.host, answer);
    for (const settle of flight.waiting) settle(outcome);
    this.#begin();
  }

  #ask(host: string): Promise<Answer> {
    return new Promise((resolve) => {
      const giveUp = this.#wheel.add(LOOKUP_MS_MAX, () => resolve({ kind: 'failed', code: 'ETIMEOUT' }));
      const settle = (answer: Answer): void => {
        this.#wheel.cancel(giveUp);
        resolve(answer);
      };
      this.#lookup(host).then(
        (addresses) => settle({ kind: 'found', addresses: addresses.slice(0, ADDRESSES_MAX) }),
        (error: unknown) => settle({ kind: 'failed', code: codeOf(error) }),
      );
    });
  }

  /** A name that is gone is gone; a resolver that does not answer for the moment does not take known addresses away. */
  #remember(host: string, answer: Answer): Resolved {
    const nowMs = this.#wheel.nowMs();
    if (answer.kind === 'found' && answer.addresses.length > 0) {
      this.#cache.set(host, { outcome: answer, answeredAtMs: nowMs, freshUntilMs: nowMs + FRESH_MS });
      return answer;
    }
    const code = answer.kind === 'found' ? 'ENODATA' : answer.code;
    const old = this.#cache.get(host);
    const isKept =
      TEMPORARY_CODES.has(code) && old?.outcome.kind === 'found' && nowMs - old.answeredAtMs < STALE_MS_MAX;
    const outcome: Resolved = isKept ? old.outcome : { kind: 'failed', detail: `${code} ${host}` };
    const answeredAtMs = isKept ? old.answeredAtMs : nowMs;
    this.#cache.set(host, { outcome, answeredAtMs, freshUntilMs: nowMs + FAILED_MS });
    return outcome;
  }
}

type Answer =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'failed'; readonly code: string };

const TEMPORARY_CODES = new Set(['EAI_AGAIN', 'EAI_FAIL', 'ETIMEOUT', 'ESERVFAIL', 'ECONNREFUSED', '']);

/** The system's own order of addresses, by its rules of preference, so that hosts files and search domains count. */
async function lookupBySystem(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}
