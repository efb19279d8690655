import { FixedWindow } from '../kernel/fixed-window.ts';
import { RATE_ADDRESSES_MAX, RATE_FAILED_AUTHENTICATIONS } from '../kernel/limits.ts';
import type { RateState } from '../ports/admission.ts';
import { readIp } from '../risk/signals/ip.ts';

/**
 * Counts failed authentications per source address, in fixed windows. Each node counts those that it sees, because a client without
 * credentials must not cause traffic between nodes. Source: contract, 3.9.
 */
export class FailedAuthentications {
  readonly #window = new FixedWindow();
  readonly #counts = new Map<string, number>();

  /** Counts one failed authentication of an address. */
  take(address: string, nowSeconds: number): FailureState {
    this.#roll(nowSeconds);
    const name = this.#nameOf(address);
    const failures = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, failures);
    return this.#state(failures, nowSeconds);
  }

  peek(address: string, nowSeconds: number): FailureState {
    this.#roll(nowSeconds);
    return this.#state(this.#counts.get(this.#nameOf(address)) ?? 0, nowSeconds);
  }

  #nameOf(address: string): string {
    const name = sourceName(address);
    return this.#counts.size < RATE_ADDRESSES_MAX || this.#counts.has(name) ? name : 'others';
  }

  #roll(nowSeconds: number): void {
    if (this.#window.roll(nowSeconds)) this.#counts.clear();
  }

  #state(failures: number, nowSeconds: number): FailureState {
    const resetSeconds = this.#window.endSeconds;
    return {
      allowed: failures <= RATE_FAILED_AUTHENTICATIONS,
      limit: RATE_FAILED_AUTHENTICATIONS,
      remaining: Math.max(0, RATE_FAILED_AUTHENTICATIONS - failures),
      resetSeconds,
      retryAfterSeconds: Math.max(1, resetSeconds - nowSeconds),
    };
  }
}

export interface FailureState extends RateState {
  /** False for a failure beyond the allowance. */
  readonly allowed: boolean;
}

/** A subscriber line owns a whole IPv6 /64, so its addresses count as one source. */
function sourceName(address: string): string {
  if (!address.includes(':')) return address;
  const ip = readIp(address);
  return ip.kind === 'valid' ? ip.networks.host : address;
}
