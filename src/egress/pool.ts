import { SlotMap } from '../kernel/slot-map.ts';
import { dial, type Dialling } from './dial.ts';
import { type EgressExchange, type ExchangeHost, RESPONSE_HEADER_BYTES_MAX } from './http-exchange.ts';
import { faultOf } from './faults.ts';
import { Line } from './connection.ts';
import type { Target } from './egress-target.ts';

/**
 * Connections of all origins. A request takes the origin's most recently used idle connection, else a new one. If the origin is at its
 * limit, the request waits in the origin's queue. An origin without connections and requests is removed, so memory follows current use.
 */

interface Origin {
  readonly name: string;
  /** Idle connections. The last one has been idle for the shortest time and is the most likely to be still open. */
  readonly resting: Line[];
  /** In order of arrival. */
  readonly waiting: Set<EgressExchange>;
  /** Number of connections, including those being opened. */
  lines: number;
}

export interface PoolOptions {
  readonly connectionsPerOriginMax: number;
  readonly idleSocketsMax: number;
}

export interface PoolStats {
  readonly connectionsOpened: number;
  readonly connectionsReused: number;
  /** Unfinished requests, including those that wait for a connection. */
  readonly inFlight: number;
  /** Connections that are open or being opened. */
  readonly sockets: number;
  /** Origins that have a connection or a request. */
  readonly origins: number;
}

export class Pool implements ExchangeHost {
  readonly #dialling: Dialling;
  readonly #options: PoolOptions;
  readonly #origins = new Map<string, Origin>();
  /** Idle connections of all origins; the one idle longest comes first. */
  readonly #resting = new Set<Line>();
  readonly #inFlight = new SlotMap<EgressExchange>();
  readonly #lines = new Set<Line>();
  #beingMade = 0;
  #opened = 0;
  #nextNumber = 1;
  #reused = 0;

  constructor(dialling: Dialling, options: PoolOptions) {
    this.#dialling = dialling;
    this.#options = options;
  }

  stats(): PoolStats {
    return {
      connectionsOpened: this.#opened,
      connectionsReused: this.#reused,
      inFlight: this.#inFlight.size,
      sockets: this.#lines.size + this.#beingMade,
      origins: this.#origins.size,
    };
  }

  nowMs(): number {
    return this.#dialling.wheel.nowMs();
  }

  start(exchange: EgressExchange): void {
    exchange.number = this.#nextNumber++;
    this.#inFlight.set(exchange.number, exchange);
    this.setDeadline(exchange, exchange.request.timeoutMs);
    this.#serve(this.#originOf(exchange.target), exchange);
  }

  setDeadline(exchange: EgressExchange, ms: number, detail?: string): void {
    const { wheel } = this.#dialling;
    if (exchange.deadline !== null) wheel.cancel(exchange.deadline);
    exchange.deadline = wheel.add(ms, () => {
      if (detail === undefined) exchange.onDeadline();
      else exchange.fail('timeout', detail);
    });
  }

  /** Fails every pending request. No request may be started afterwards. */
  close(): void {
    for (const { waiting } of this.#origins.values()) waiting.clear();
    for (const exchange of this.#inFlight.values()) exchange.fail('shutdown', 'the client was closed');
    for (const line of this.#lines) line.close();
  }

  /** Closes the idle connections. */
  closeResting(): void {
    for (const line of this.#resting) line.close();
  }

  onDone(exchange: EgressExchange, line: Line): void {
    this.#forget(exchange);
    line.rest();
    const origin = this.#originOf(line.target);
    if (!line.isFit(this.nowMs())) {
      line.close();
      this.#tidy(origin);
    } else if (!this.#serveNext(origin, line)) this.#letRest(origin, line);
  }

  onFailed(exchange: EgressExchange, line: Line | null): void {
    this.#forget(exchange);
    const origin = this.#originOf(exchange.target);
    origin.waiting.delete(exchange);
    exchange.dialling?.abort();
    line?.close();
    this.#tidy(origin);
  }

  onLineLost(exchange: EgressExchange, wasSent: boolean): void {
    const origin = this.#originOf(exchange.target);
    if (!wasSent) this.#serve(origin, exchange);
    else {
      exchange.isSecondSending = true;
      void this.#open(origin, exchange);
    }
  }

  #forget(exchange: EgressExchange): void {
    this.#inFlight.delete(exchange.number);
    if (exchange.deadline !== null) this.#dialling.wheel.cancel(exchange.deadline);
  }

  #originOf(target: Target): Origin {
    const known = this.#origins.get(target.origin);
    if (known !== undefined) return known;
    const origin: Origin = { name: target.origin, resting: [], waiting: new Set(), lines: 0 };
    this.#origins.set(target.origin, origin);
    return origin;
  }

  #serve(origin: Origin, exchange: EgressExchange): void {
    for (let line = origin.resting.pop(); line !== undefined; line = origin.resting.pop()) {
      this.#resting.delete(line);
      if (line.isFit(this.nowMs())) {
        this.#reused++;
        exchange.runOn(line);
        return;
      }
      line.close();
    }
    if (origin.lines < this.#options.connectionsPerOriginMax) void this.#open(origin, exchange);
    else origin.waiting.add(exchange);
  }

  /** Gives a free connection to the request that has waited longest. Returns false if no request waits. */
  #serveNext(origin: Origin, line: Line): boolean {
    const next = takeFirst(origin.waiting);
    if (next === undefined) return false;
    this.#reused++;
    next.runOn(line);
    return true;
  }

  #letRest(origin: Origin, line: Line): void {
    origin.resting.push(line);
    this.#resting.add(line);
    if (this.#resting.size <= this.#options.idleSocketsMax) return;
    const oldest = takeFirst(this.#resting);
    oldest?.close();
  }

  async #open(origin: Origin, exchange: EgressExchange): Promise<void> {
    origin.lines++;
    this.#beingMade++;
    const dialling = new AbortController();
    exchange.dialling = dialling;
    const { connectMs } = exchange.request;
    const dialled = await dial(exchange.target, connectMs, this.#dialling, dialling.signal).catch((error: unknown) => ({
      kind: 'failed' as const,
      ...faultOf(error, 'connect'),
    }));
    exchange.dialling = null;
    this.#beingMade--;
    if (dialled.kind === 'failed') {
      this.#lineEnded(origin);
      exchange.fail(dialled.error, dialled.detail, dialled.lack);
      return;
    }
    const { socket, remoteAddress } = dialled;
    const line = new Line(exchange.target, socket, {
      remoteAddress,
      nowMs: this.nowMs(),
      headerBytesMax: RESPONSE_HEADER_BYTES_MAX,
      onGone: (gone) => this.#onGone(origin, gone),
    });
    this.#lines.add(line);
    this.#opened++;
    if (exchange.isSettled) line.close();
    else exchange.runOn(line);
  }

  #onGone(origin: Origin, line: Line): void {
    this.#lines.delete(line);
    this.#resting.delete(line);
    const at = origin.resting.indexOf(line);
    if (at >= 0) origin.resting.splice(at, 1);
    this.#lineEnded(origin);
  }

  #lineEnded(origin: Origin): void {
    origin.lines--;
    const next = origin.lines < this.#options.connectionsPerOriginMax ? takeFirst(origin.waiting) : undefined;
    if (next !== undefined) void this.#open(origin, next);
    else this.#tidy(origin);
  }

  #tidy(origin: Origin): void {
    if (origin.lines === 0 && origin.waiting.size === 0) this.#origins.delete(origin.name);
  }
}

function takeFirst<T>(set: Set<T>): T | undefined {
  for (const first of set) {
    set.delete(first);
    return first;
  }
  return undefined;
}
