import { FixedWindow } from '../kernel/fixed-window.ts';
import { RATE_ADDRESSES_MAX } from '../kernel/limits.ts';
import type { RateState } from '../ports/admission.ts';
import { readIp } from '../risk/signals/ip.ts';

/**
 * Counts events per source address, in fixed windows. Each node counts those that it sees, because a client without credentials must not
 * cause traffic between nodes. Addresses beyond `RATE_ADDRESSES_MAX` in a window share one count with their network (/24, /48), and beyond
 * as many networks all share one. So who owns a /48, which has 65,536 times a /64, cannot use up the count of everybody else.
 */
export class SourceRate {
  readonly #limit: number;
  readonly #window = new FixedWindow();
  readonly #counts = new Map<string, number>();

  /** `limit` events of one address are allowed per window. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts one event of an address. */
  take(address: string, nowSeconds: number): SourceState {
    this.#roll(nowSeconds);
    const name = this.#nameOf(address);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return this.#state(count, nowSeconds);
  }

  peek(address: string, nowSeconds: number): SourceState {
    this.#roll(nowSeconds);
    return this.#state(this.#counts.get(this.#nameOf(address)) ?? 0, nowSeconds);
  }

  #nameOf(address: string): string {
    const name = sourceName(address);
    if (this.#counts.size < RATE_ADDRESSES_MAX || this.#counts.has(name)) return name;
    const ip = readIp(address);
    const network = ip.kind === 'valid' ? `others in ${ip.networks.site}` : OTHERS;
    return this.#counts.size < 2 * RATE_ADDRESSES_MAX || this.#counts.has(network) ? network : OTHERS;
  }

  #roll(nowSeconds: number): void {
    if (this.#window.roll(nowSeconds)) this.#counts.clear();
  }

  #state(count: number, nowSeconds: number): SourceState {
    const resetSeconds = this.#window.endSeconds;
    return {
      allowed: count <= this.#limit,
      limit: this.#limit,
      remaining: Math.max(0, this.#limit - count),
      resetSeconds,
      retryAfterSeconds: Math.max(1, resetSeconds - nowSeconds),
    };
  }
}

export interface SourceState extends RateState {
  /** False for an event beyond the limit. */
  readonly allowed: boolean;
}

const OTHERS = 'others';

/** A subscriber line owns a whole IPv6 /64, so its addresses count as one source. */
function sourceName(address: string): string {
  if (!address.includes(':')) return address;
  const ip = readIp(address);
  return ip.kind === 'valid' ? ip.networks.host : address;
}
