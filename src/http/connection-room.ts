import type { TrustedProxies } from './trusted-proxies.ts';
import {
  CONNECTIONS_RESERVED,
  CONNECTIONS_RESERVED_SOURCE_MAX,
  DESCRIPTORS_RESERVED,
  SOURCE_CONNECTIONS_SHARE,
} from '../kernel/limits.ts';
import { bodySourceOf } from './body-room.ts';
import { HandshakeRate } from './handshake-rate.ts';

export interface ConnectionBounds {
  /** Open connections in all. */
  readonly connectionsMax: number;
  /** Open connections of one source: an IPv4 address or an IPv6 /64. Does not apply to trusted proxies. */
  readonly sourceConnectionsMax: number;
  /** TLS handshakes of one source per second. Does not apply to trusted proxies, and not without TLS. */
  readonly sourceHandshakesMax: number;
}

/**
 * Lowers the configured bounds to what the process can hold. `descriptorsMax` is its limit of open files. Without the reserve, clients
 * could use up all descriptors, and the store, webhooks and extractions would fail.
 */
export function boundsWithin(descriptorsMax: number, wanted: ConnectionBounds): ConnectionBounds {
  const reserved = Math.min(DESCRIPTORS_RESERVED, Math.ceil(descriptorsMax / 2));
  const connectionsMax = Math.min(wanted.connectionsMax, descriptorsMax - reserved);
  const share = Math.max(1, Math.floor(connectionsMax * SOURCE_CONNECTIONS_SHARE));
  return { ...wanted, connectionsMax, sourceConnectionsMax: Math.min(wanted.sourceConnectionsMax, share) };
}

/** Counts open connections by source. */
export interface SourceCounts {
  /** Returns the number of the source's open connections. `open` is the number of all. */
  of(source: string, open: number): number;
  opened(source: string): void;
  closed(source: string): void;
}

/** `rate`: the handshakes of one source. */
export type ConnectionRefusal = 'source' | 'total' | 'rate';

/**
 * Decides which connections may stay open. The last `CONNECTIONS_RESERVED` are for sources with few connections, so that the scrape of
 * metrics and small clients get in while others fill the rest.
 */
export class ConnectionRoom {
  readonly #bounds: ConnectionBounds;
  readonly #trustedProxies: TrustedProxies;
  readonly #counts: SourceCounts;
  readonly #handshakes: HandshakeRate | null;
  readonly #refused = { source: 0, total: 0, rate: 0 };
  readonly #reservedFrom: number;
  #open = 0;

  /** `isTls`: each connection costs a handshake. */
  constructor(bounds: ConnectionBounds, trustedProxies: TrustedProxies, counts: SourceCounts, isTls: boolean) {
    this.#handshakes = isTls ? new HandshakeRate(bounds.sourceHandshakesMax) : null;
    this.#bounds = bounds;
    this.#trustedProxies = trustedProxies;
    this.#counts = counts;
    this.#reservedFrom = Math.max(Math.ceil(bounds.connectionsMax / 2), bounds.connectionsMax - CONNECTIONS_RESERVED);
  }

  get open(): number {
    return this.#open;
  }

  get refused(): Readonly<Record<ConnectionRefusal, number>> {
    return this.#refused;
  }

  /** Returns whether the connection may stay; the caller must close it otherwise. Call `leave` once for each one that stays. */
  enter(address: string): boolean {
    const source = this.#trustedProxies.has(address) ? null : bodySourceOf(address);
    const refusal = this.#refusalOf(source);
    if (refusal !== null) {
      this.#refused[refusal]++;
      return false;
    }
    this.#open++;
    if (source !== null) this.#counts.opened(source);
    return true;
  }

  /** `address` is ignored by counts that cannot use it. */
  leave(address: string): void {
    this.#open--;
    if (!this.#trustedProxies.has(address)) this.#counts.closed(bodySourceOf(address));
  }

  #refusalOf(source: string | null): ConnectionRefusal | null {
    const { connectionsMax, sourceConnectionsMax } = this.#bounds;
    if (this.#open >= connectionsMax) return 'total';
    const isReserved = this.#open >= this.#reservedFrom;
    if (source === null) return isReserved ? 'total' : null;
    const ofSource = this.#counts.of(source, this.#open);
    if (ofSource >= sourceConnectionsMax) return 'source';
    if (isReserved && ofSource >= CONNECTIONS_RESERVED_SOURCE_MAX) return 'total';
    return this.#handshakes?.take(source) === false ? 'rate' : null;
  }
}

/** Counts for a transport that reports whose connection closed. */
export class ExactCounts implements SourceCounts {
  readonly #open = new Map<string, number>();

  of(source: string): number {
    return this.#open.get(source) ?? 0;
  }

  opened(source: string): void {
    this.#open.set(source, this.of(source) + 1);
  }

  closed(source: string): void {
    const left = this.of(source) - 1;
    if (left > 0) this.#open.set(source, left);
    else this.#open.delete(source);
  }
}
