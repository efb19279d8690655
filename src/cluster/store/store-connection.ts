import { Breaker } from './breaker.ts';
import { type Argument, LINK_DEADLINE_MS, type Reply, ReplyTooLarge, type SendFault } from './link.ts';
import { loadedRedis, loadRedis, type Redis } from './redis-client.ts';

/** One primary of the store. */
export interface StoreAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly user: string | null;
  readonly password: string | null;
}

export interface Settle {
  replied(reply: Reply): void;
  failed(fault: SendFault): void;
}

/** `RESP_TYPES.BLOB_STRING` of the client. */
const BLOB_STRING = 36;
/** Bulk strings as buffers: values are binary. Without a timer for each command, which the client sets otherwise. */
const COMMAND_OPTIONS = { typeMapping: { [BLOB_STRING]: Buffer }, timeout: 0 };
/** Choice: one late round trip may be a pause of this process or of the network; three in succession are the store. */
const LATE_MAX = 3;
/** Choice: what a link may hold in memory while the store does not answer. */
const IN_FLIGHT_COMMANDS_MAX = 4_096;
const IN_FLIGHT_BYTES_MAX = 16_777_216;
const PROBE_MS = 100;
/** Choice: a connection that has been silent so long beyond its deadlines is replaced; packets may be dropped without a reset. */
const SILENT_MS = 1_000;
/** Choice: a node without requests also notices within two or three seconds that its store is gone. */
const IDLE_PROBE_MS = 1_000;
const CONNECT_MS = 1_000;
const RECONNECT_MS_MIN = 50;
const RECONNECT_MS_MAX = 1_000;
const PAUSES_TO_LONGEST = 10;

type Client = ReturnType<typeof openClient>;

/** Work of the connections of this thread at each tick. One timer for all: with one each, a quiet node woke up 60 times a second. */
const ticks = new Set<() => void>();
let timer: NodeJS.Timeout | null = null;

function startTicks(tick: () => void): void {
  ticks.add(tick);
  timer ??= setInterval(() => setImmediate(runTicks), PROBE_MS).unref();
}

/** After a pause of this thread its timers run before its sockets, so the replies that have arrived meanwhile are read first. */
function runTicks(): void {
  for (const each of ticks) each();
}

function stopTicks(tick: () => void): void {
  ticks.delete(tick);
  if (ticks.size > 0 || timer === null) return;
  clearInterval(timer);
  timer = null;
}

/**
 * The connection to one primary, with its breaker. The client (`@redis/client`) writes, reads and parses; when and how often to connect is
 * decided here. The client itself would retry a command that no answer comes for without limit, keep what it holds in flight without
 * bound, and wait without end for the handshake of a store that accepts connections but is paused.
 */
export class StoreConnection {
  readonly name: string;
  readonly address: StoreAddress;
  readonly #onTick = (): void => this.#tick();
  readonly #breaker = new Breaker(LATE_MAX);
  #client: Client | null = null;
  #connectAtMs = 0;
  #connectedAtMs = Number.POSITIVE_INFINITY;
  #failures = 0;
  #inFlight = 0;
  #inFlightBytes = 0;
  /** The last reply, or the first command after all were answered. */
  #activeAtMs = 0;
  /** Longest deadline of the commands in flight. */
  #patienceMs = 0;
  #isProbing = false;
  #isClosed = false;
  #detail = 'not connected yet';

  constructor(address: StoreAddress) {
    this.address = address;
    this.name = `${address.host}:${address.port}`;
    startTicks(this.#onTick);
    if (loadedRedis() === null) void loadRedis().then(() => this.#tick());
    else this.#tick();
  }

  get isUp(): boolean {
    return !this.#breaker.isOpen;
  }

  get opened(): number {
    return this.#breaker.opened;
  }

  /** The last fault; not meaningful while it is up. */
  get detail(): string {
    return `${this.name}: ${this.#detail}`;
  }

  /** Returns null if the command was sent. `settle` is then called exactly once, whenever that is. */
  send(args: readonly Argument[], deadlineMs: number, settle: Settle): SendFault | null {
    if (this.#breaker.isOpen) return down(this.#detail);
    return this.#write(args, deadlineMs, settle);
  }

  /** Sends a command of a slot that moves here: the primary answers it only directly after `ASKING`. */
  sendAsking(args: readonly Argument[], deadlineMs: number, settle: Settle): SendFault | null {
    const unsent = this.send(['ASKING'], deadlineMs, IGNORED);
    return unsent ?? this.send(args, deadlineMs, settle);
  }

  onTime(): void {
    this.#breaker.onTime();
  }

  /** A round trip that used this connection missed its deadline. */
  late(): void {
    this.#detail = 'the store did not answer in time';
    this.#breaker.late();
  }

  close(): void {
    this.#isClosed = true;
    stopTicks(this.#onTick);
    this.#drop('closed');
  }

  #write(args: readonly Argument[], deadlineMs: number, settle: Settle): SendFault | null {
    const client = this.#client;
    if (client === null || !client.isReady) return down(this.#detail);
    const bytes = bytesOf(args);
    if (this.#inFlight > 0 && !this.#hasRoom(bytes)) return down('too much is in flight');
    if (this.#inFlight === 0) {
      this.#activeAtMs = performance.now();
      this.#patienceMs = 0;
    }
    this.#inFlight++;
    this.#inFlightBytes += bytes;
    this.#patienceMs = Math.max(this.#patienceMs, deadlineMs);
    client.sendCommand<Reply>(args, COMMAND_OPTIONS).then(
      (reply) => {
        this.#answered(client, bytes);
        settle.replied(reply);
      },
      (error: unknown) => {
        this.#answered(client, bytes);
        settle.failed(this.#faultOf(client, error));
      },
    );
    return null;
  }

  #hasRoom(bytes: number): boolean {
    return this.#inFlight < IN_FLIGHT_COMMANDS_MAX && this.#inFlightBytes + bytes <= IN_FLIGHT_BYTES_MAX;
  }

  #answered(client: Client, bytes: number): void {
    // Commands of a replaced client were counted as lost.
    if (client !== this.#client) return;
    this.#inFlight--;
    this.#inFlightBytes -= bytes;
    this.#activeAtMs = performance.now();
  }

  #faultOf(client: Client, error: unknown): SendFault {
    const detail = error instanceof Error ? error.message : String(error);
    const redis = loadedRedis();
    if (redis === null || !(error instanceof redis.ErrorReply)) return { kind: 'fault', what: 'unknown', detail };
    // A primary that became a replica: the address may lead to its successor.
    if (detail.startsWith('READONLY') && client === this.#client) this.#drop(detail);
    return { kind: 'fault', what: 'refused', detail };
  }

  /** Connects, probes, and replaces a connection that has been silent for too long. */
  #tick(): void {
    const nowMs = performance.now();
    const redis = loadedRedis();
    if (this.#client === null || redis === null) {
      if (nowMs >= this.#connectAtMs && redis !== null) void this.#connect(redis, nowMs);
      return;
    }
    if (!this.#client.isReady) {
      if (nowMs > this.#connectedAtMs + CONNECT_MS) this.#drop('no connection in time');
      return;
    }
    if (this.#inFlight > 0 && nowMs > this.#activeAtMs + this.#patienceMs + SILENT_MS) {
      this.#drop('the store did not answer any more');
      return;
    }
    const isIdle = this.#inFlight === 0 && nowMs > this.#activeAtMs + IDLE_PROBE_MS;
    if (this.#breaker.isOpen || isIdle) this.#probe();
  }

  async #connect(redis: Redis, nowMs: number): Promise<void> {
    const client = openClient(redis, this.address);
    this.#client = client;
    this.#connectedAtMs = nowMs;
    this.#isProbing = false;
    const lost = (error: unknown): void => {
      if (client !== this.#client) return;
      // A reply that was too large is read again after the pause: the longest one spares the store.
      if (error instanceof ReplyTooLarge) this.#failures = PAUSES_TO_LONGEST;
      this.#drop(error instanceof Error ? describe(error) : String(error));
    };
    client.on('error', lost);
    await client.connect().catch(lost);
    if (client === this.#client) this.#probe();
  }

  /** Sends a command that only a usable store answers: signed in, loaded, and in time. */
  #probe(): void {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const client = this.#client;
    const sentAtMs = performance.now();
    const settle: Settle = {
      replied: () => {
        if (client !== this.#client) return;
        this.#isProbing = false;
        if (performance.now() - sentAtMs > LINK_DEADLINE_MS) return;
        this.#failures = 0;
        this.#breaker.proved();
      },
      failed: ({ detail }) => {
        if (client !== this.#client) return;
        this.#isProbing = false;
        this.#detail = detail;
      },
    };
    if (this.#write(['PING'], LINK_DEADLINE_MS, settle) !== null) this.#isProbing = false;
  }

  /** Ends the connection; the next tick after a pause opens another one. */
  #drop(detail: string): void {
    const client = this.#client;
    this.#client = null;
    this.#detail = detail;
    this.#breaker.lost();
    this.#inFlight = 0;
    this.#inFlightBytes = 0;
    this.#isProbing = false;
    this.#connectAtMs = this.#isClosed ? Number.POSITIVE_INFINITY : performance.now() + this.#pauseMs();
    client?.destroy();
  }

  #pauseMs(): number {
    const pauseMs = Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(this.#failures++, PAUSES_TO_LONGEST));
    // Spreads the nodes that lost the store at the same time.
    return pauseMs * (0.5 + Math.random() / 2);
  }
}

const IGNORED: Settle = { replied: () => {}, failed: () => {} };

/**
 * Without the package's `createClient`, which makes a class with a method for each command of Redis whenever the options differ from those
 * of the call before. Measured: 45 ms of processor time for each address, during which a thread that learns of a failover decides nothing.
 */
function openClient(redis: Redis, { host, port, isTls, user, password }: StoreAddress) {
  return new redis.RedisClient({
    RESP: 2,
    socket: { host, port, ...(isTls && { tls: true }), connectTimeout: CONNECT_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    ...(user !== null && { username: user }),
    ...(password !== null && { password }),
  });
}

function down(detail: string): SendFault {
  return { kind: 'fault', what: 'down', detail };
}

function bytesOf(args: readonly Argument[]): number {
  let bytes = 0;
  for (const arg of args) bytes += arg.length + 16;
  return bytes;
}

/** An attempt at several addresses of a name has no message of its own. */
function describe(error: Error): string {
  return error instanceof AggregateError && error.message === '' ? error.errors.map(String).join('; ') : error.message;
}
