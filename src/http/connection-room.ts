import type { TrustedProxies } from './trusted-proxies.ts';
import {
  CONNECTIONS_RESERVED,
  CONNECTIONS_RESERVED_SOURCE_MAX,
  DESCRIPTORS_RESERVED,
  SOURCE_CONNECTIONS_SHARE,
} from '../kernel/limits.ts';
import { bodySourceOf } from './body-room.ts';
import { HandshakeRate, type SharedHandshakes } from './handshake-rate.ts';

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

/** What is known of the connections of a transport. */
export interface OpenConnections {
  readonly open: number;
  readonly refused: Readonly<Record<ConnectionRefusal, number>>;
}

/** Words of the memory, after that of the open connections. */
const REFUSALS = ['source', 'total', 'rate'] as const satisfies readonly ConnectionRefusal[];

/** Counts of one transport in memory that its threads may share. */
export class ConnectionTally implements OpenConnections {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * (1 + REFUSALS.length))) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  get open(): number {
    return Atomics.load(this.#words, 0);
  }

  get refused(): Readonly<Record<ConnectionRefusal, number>> {
    const [source = 0, total = 0, rate = 0] = REFUSALS.map((_, at) => Atomics.load(this.#words, 1 + at));
    return { source, total, rate };
  }

  /** Adds 1 or -1 to the open connections. */
  change(by: 1 | -1): void {
    Atomics.add(this.#words, 0, by);
  }

  refuse(refusal: ConnectionRefusal): void {
    Atomics.add(this.#words, 1 + REFUSALS.indexOf(refusal), 1);
  }
}

/** What the threads of one transport share to bound their connections together. */
export interface SharedBounds {
  readonly threads: number;
  readonly connections: SharedArrayBuffer;
  readonly handshakes: SharedHandshakes;
}

/**
 * Decides which connections may stay open. The last `CONNECTIONS_RESERVED` are for sources with few connections, so that the scrape of
 * metrics and small clients get in while others fill the rest.
 */
export class ConnectionRoom implements OpenConnections {
  readonly #bounds: ConnectionBounds;
  readonly #trustedProxies: TrustedProxies;
  readonly #counts: SourceCounts;
  readonly #handshakes: HandshakeRate | null;
  readonly #tally: ConnectionTally;
  readonly #reservedFrom: number;

  /** `isTls`: each connection costs a handshake. `shared`: by the threads of the transport; absent if it has one. */
  constructor(
    bounds: ConnectionBounds,
    trustedProxies: TrustedProxies,
    counts: SourceCounts,
    isTls: boolean,
    shared?: SharedBounds,
  ) {
    this.#handshakes = isTls ? new HandshakeRate(bounds.sourceHandshakesMax, shared?.handshakes) : null;
    this.#bounds = bounds;
    this.#trustedProxies = trustedProxies;
    this.#counts = counts;
    this.#tally = new ConnectionTally(shared?.connections);
    this.#reservedFrom = Math.max(Math.ceil(bounds.connectionsMax / 2), bounds.connectionsMax - CONNECTIONS_RESERVED);
  }

  get open(): number {
    return this.#tally.open;
  }

  get refused(): Readonly<Record<ConnectionRefusal, number>> {
    return this.#tally.refused;
  }

  /** Returns whether the connection may stay; the caller must close it otherwise. Call `leave` once for each one that stays. */
  enter(address: string): boolean {
    const source = this.#trustedProxies.has(address) ? null : bodySourceOf(address);
    const refusal = this.#refusalOf(source);
    if (refusal !== null) {
      this.#tally.refuse(refusal);
      return false;
    }
    this.#tally.change(1);
    if (source !== null) this.#counts.opened(source);
    return true;
  }

  /** `address` is ignored by counts that cannot use it. */
  leave(address: string): void {
    this.#tally.change(-1);
    if (!this.#trustedProxies.has(address)) this.#counts.closed(bodySourceOf(address));
  }

  #refusalOf(source: string | null): ConnectionRefusal | null {
    const { connectionsMax, sourceConnectionsMax } = this.#bounds;
    const { open } = this.#tally;
    if (open >= connectionsMax) return 'total';
    const isReserved = open >= this.#reservedFrom;
    if (source === null) return isReserved ? 'total' : null;
    const ofSource = this.#counts.of(source, open);
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
