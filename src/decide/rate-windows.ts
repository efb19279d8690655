import { readIp } from '../risk/signals/ip.ts';
import {
  RATE_ADDRESSES_MAX,
  RATE_FAILED_AUTHENTICATIONS,
  RATE_VISITOR_MIN,
  RATE_VISITOR_SHARE,
  RATE_WINDOW_SECONDS,
} from '../kernel/limits.ts';
import { VisitorCounts } from './visitor-counts.ts';

/**
 * Fixed windows of 60 s: one counter per key, one per source address of a public key, and one per source address for failed
 * authentications.
 * A port; this is the implementation for a single node. Source: contract, 3.9.
 */
export interface RateWindows {
  /** Counts one request of a verified key. */
  take(keyNumber: number, allowance: number, nowSeconds: number): RateState;
  /**
   * Counts one request of a verified public key against the source's share of the allowance, and against the allowance itself. Returns the
   * state of the share, so that a client cannot observe the traffic of other sources. The allowance shows in `remaining` only when less
   * than the share is left of it.
   */
  takeVisitor(keyNumber: number, allowance: number, source: string, nowSeconds: number): RateState;
  /** Counts one failed authentication of an address. */
  takeFailure(address: string, nowSeconds: number): RateState;
  peekFailures(address: string, nowSeconds: number): RateState;
}

export interface RateState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** End of the window, Unix seconds. */
  readonly resetSeconds: number;
  /** Whole seconds until the end of the window, at least 1. */
  readonly retryAfterSeconds: number;
}

export class LocalRateWindows implements RateWindows {
  #windowStart = -1;
  #perKey = new Uint32Array(64);
  readonly #failures = new Map<string, number>();
  /** Allocated when a public key is first used. */
  #visitors: VisitorCounts | null = null;

  take(keyNumber: number, allowance: number, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    const used = this.#perKey[keyNumber] ?? 0;
    if (used >= allowance) return this.#state(false, allowance, used, nowSeconds);
    if (keyNumber >= this.#perKey.length) this.#grow(keyNumber);
    this.#perKey[keyNumber] = used + 1;
    return this.#state(true, allowance, used + 1, nowSeconds);
  }

  takeVisitor(keyNumber: number, allowance: number, source: string, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    const visitors = (this.#visitors ??= new VisitorCounts());
    const share = visitorShare(allowance);
    const used = visitors.find(keyNumber, source);
    if (used >= share) return this.#state(false, share, used, nowSeconds);
    const key = this.take(keyNumber, allowance, nowSeconds);
    if (key.allowed) visitors.add();
    return this.#state(key.allowed, share, Math.max(used + 1, share - key.remaining), nowSeconds);
  }

  takeFailure(address: string, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    const name = this.#failureName(address);
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    return this.#failureState(failures, nowSeconds);
  }

  peekFailures(address: string, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    return this.#failureState(this.#failures.get(this.#failureName(address)) ?? 0, nowSeconds);
  }

  #failureState(failures: number, nowSeconds: number): RateState {
    const allowed = failures <= RATE_FAILED_AUTHENTICATIONS;
    return this.#state(allowed, RATE_FAILED_AUTHENTICATIONS, failures, nowSeconds);
  }

  #failureName(address: string): string {
    const name = sourceName(address);
    return this.#failures.size < RATE_ADDRESSES_MAX || this.#failures.has(name) ? name : 'others';
  }

  /** If the clock steps back by up to one window, the current window continues; if it steps back further, a new window starts. */
  #roll(nowSeconds: number): void {
    const start = nowSeconds - (nowSeconds % RATE_WINDOW_SECONDS);
    if (start <= this.#windowStart && start >= this.#windowStart - RATE_WINDOW_SECONDS) return;
    this.#windowStart = start;
    this.#perKey.fill(0);
    this.#failures.clear();
    this.#visitors?.clear();
  }

  #grow(keyNumber: number): void {
    const next = new Uint32Array(2 ** Math.ceil(Math.log2(keyNumber + 2)));
    next.set(this.#perKey);
    this.#perKey = next;
  }

  #state(allowed: boolean, limit: number, used: number, nowSeconds: number): RateState {
    const resetSeconds = this.#windowStart + RATE_WINDOW_SECONDS;
    return {
      allowed,
      limit,
      remaining: Math.max(0, limit - used),
      resetSeconds,
      retryAfterSeconds: Math.max(1, resetSeconds - nowSeconds),
    };
  }
}

/** Returns the share of a public key's allowance that one source may use. */
export function visitorShare(allowance: number): number {
  return Math.min(allowance, Math.max(RATE_VISITOR_MIN, Math.ceil(allowance * RATE_VISITOR_SHARE)));
}

/** A subscriber line owns a whole IPv6 /64, so its addresses count as one source. */
function sourceName(address: string): string {
  if (!address.includes(':')) return address;
  const ip = readIp(address);
  return ip.kind === 'valid' ? ip.networks.host : address;
}

/** Returns the rate-limit fields of every response, each line beginning with CRLF: three of the contract and two of the IETF. */
export function rateFields(state: RateState): string {
  const { limit, remaining, resetSeconds, retryAfterSeconds } = state;
  return (
    `\r\nX-SVC-Rl-Limit: ${limit}\r\nX-SVC-Rl-Remaining: ${remaining}\r\nX-SVC-Rl-Reset: ${resetSeconds}` +
    `\r\nRateLimit-Policy: "default";q=${limit};w=${RATE_WINDOW_SECONDS}` +
    `\r\nRateLimit: "default";r=${remaining};t=${retryAfterSeconds}`
  );
}
