import { RATE_ADDRESSES_MAX, RATE_FAILED_AUTHENTICATIONS, RATE_WINDOW_SECONDS } from '../limits.ts';

/**
 * Fixed windows of 60 s: one counter for each key, one for the failed authentications of each source address.
 * A port: this is the one for a single node. Source: open points, section 1.
 */
export interface RateWindows {
  /** Counts one request of a verified key. */
  take(keyNumber: number, allowance: number, nowSeconds: number): RateState;
  /** How a key stands, without counting. */
  peek(keyNumber: number, allowance: number, nowSeconds: number): RateState;
  /** Counts one failed authentication of an address. */
  takeFailure(address: string, nowSeconds: number): RateState;
  peekFailures(address: string, nowSeconds: number): RateState;
}

export interface RateState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds at which the window ends. */
  readonly resetSeconds: number;
  /** Whole seconds until then, at least 1. */
  readonly retryAfterSeconds: number;
}

export class LocalRateWindows implements RateWindows {
  #windowStart = -1;
  #perKey = new Uint32Array(64);
  readonly #failures = new Map<string, number>();

  take(keyNumber: number, allowance: number, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    const used = this.#perKey[keyNumber] ?? 0;
    if (used >= allowance) return this.#state(false, allowance, used, nowSeconds);
    if (keyNumber >= this.#perKey.length) this.#grow(keyNumber);
    this.#perKey[keyNumber] = used + 1;
    return this.#state(true, allowance, used + 1, nowSeconds);
  }

  peek(keyNumber: number, allowance: number, nowSeconds: number): RateState {
    this.#roll(nowSeconds);
    const used = this.#perKey[keyNumber] ?? 0;
    return this.#state(used < allowance, allowance, used, nowSeconds);
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
    return this.#failures.size < RATE_ADDRESSES_MAX || this.#failures.has(address) ? address : 'others';
  }

  /** A clock that steps back a little stays in its window; one that steps back far begins a new one. */
  #roll(nowSeconds: number): void {
    const start = nowSeconds - (nowSeconds % RATE_WINDOW_SECONDS);
    if (start <= this.#windowStart && start >= this.#windowStart - RATE_WINDOW_SECONDS) return;
    this.#windowStart = start;
    this.#perKey.fill(0);
    this.#failures.clear();
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

/** The rate-limit fields of every answer, each line beginning with CRLF: the contract's three and the IETF's two. */
export function rateFields(state: RateState): string {
  const { limit, remaining, resetSeconds, retryAfterSeconds } = state;
  return (
    `\r\nX-SVC-Rl-Limit: ${limit}\r\nX-SVC-Rl-Remaining: ${remaining}\r\nX-SVC-Rl-Reset: ${resetSeconds}` +
    `\r\nRateLimit-Policy: "default";q=${limit};w=${RATE_WINDOW_SECONDS}` +
    `\r\nRateLimit: "default";r=${remaining};t=${retryAfterSeconds}`
  );
}
