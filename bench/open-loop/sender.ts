import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Connection } from './connection.ts';
import { planArrivals, type SendPlan } from './plan.ts';
import { RequestFeed } from './request-feed.ts';

/** Measurements of one phase. Index n of each array is the n-th request. */
export interface SendOutcome {
  /** Due time of the request, ms after the start. */
  readonly dueMs: Float64Array;
  /** From the due time until the whole response was read, ms; NaN without a response. */
  readonly latencyMs: Float64Array;
  /** From the due time until the request was written to a socket, ms: the generator's own delay, or the wait for a free connection. */
  readonly lateMs: Float64Array;
  /** HTTP status; 0 without a response. */
  readonly status: Uint16Array;
  /** Processor time of the sender process during the phase, ms. */
  readonly senderProcessorMs: number;
}

export interface SendProgress {
  readonly due: number;
  readonly answered: number;
  readonly failed: number;
}

/** The shortest delay that setTimeout supports: requests are sent at most this much late, and the lateness is reported. */
const TICK_MS = 1;

/**
 * Sends the planned requests at their due times, regardless of earlier responses. Without a free connection a request waits, and its wait
 * counts as latency.
 */
export async function sendAll(plan: SendPlan, onProgress: (progress: SendProgress) => void): Promise<SendOutcome> {
  const feed = await RequestFeed.open(plan, `load-${randomUUID()}`);
  try {
    return await new Phase(plan, feed, onProgress).run();
  } finally {
    await feed.close();
  }
}

const PROGRESS_MS = 250;

class Phase {
  readonly #plan: SendPlan;
  readonly #feed: RequestFeed;
  readonly #onProgress: (progress: SendProgress) => void;
  readonly #dueMs: Float64Array;
  readonly #latencyMs: Float64Array;
  readonly #lateMs: Float64Array;
  readonly #status: Uint16Array;
  readonly #connections = new Set<Connection>();
  readonly #free: Connection[] = [];
  #startMs = 0;
  #due = 0;
  #sent = 0;
  #ended = 0;
  #failed = 0;

  constructor(plan: SendPlan, feed: RequestFeed, onProgress: (progress: SendProgress) => void) {
    this.#plan = plan;
    this.#feed = feed;
    this.#onProgress = onProgress;
    this.#dueMs = planArrivals(plan.arrivals);
    const count = this.#dueMs.length;
    this.#latencyMs = new Float64Array(count).fill(Number.NaN);
    this.#lateMs = new Float64Array(count).fill(Number.NaN);
    this.#status = new Uint16Array(count);
  }

  async run(): Promise<SendOutcome> {
    for (let n = 0; n < this.#plan.connections; n++) this.#connect();
    const cpu = process.cpuUsage();
    this.#startMs = performance.now();
    const progress = setInterval(() => this.#report(), PROGRESS_MS);
    await new Promise<void>((done) => this.#tick(done));
    clearInterval(progress);
    this.#report();
    const { user, system } = process.cpuUsage(cpu);
    for (const connection of this.#connections) connection.close();
    return {
      dueMs: this.#dueMs,
      latencyMs: this.#latencyMs,
      lateMs: this.#lateMs,
      status: this.#status,
      senderProcessorMs: (user + system) / 1_000,
    };
  }

  #tick(done: () => void): void {
    const sinceMs = performance.now() - this.#startMs;
    const count = this.#dueMs.length;
    while (this.#due < count && (this.#dueMs[this.#due] ?? 0) <= sinceMs) this.#due++;
    this.#dispatch();
    const lastDueMs = this.#dueMs[count - 1] ?? 0;
    if (this.#ended === count || sinceMs > lastDueMs + this.#plan.drainMs) done();
    else setTimeout(() => this.#tick(done), TICK_MS);
  }

  /** Writes due requests while connections are free. */
  #dispatch(): void {
    while (this.#sent < this.#due) {
      const connection = this.#free.shift();
      if (connection === undefined) return;
      if (!this.#connections.has(connection)) continue;
      const request = this.#feed.next();
      if (request === null) {
        this.#free.unshift(connection);
        return;
      }
      const n = this.#sent++;
      this.#lateMs[n] = performance.now() - this.#startMs - (this.#dueMs[n] ?? 0);
      this.#inFlight.set(connection, n);
      connection.send(request);
    }
  }

  readonly #inFlight = new Map<Connection, number>();

  #connect(): void {
    const connection: Connection = new Connection(new URL(this.#plan.origin), {
      onResponse: (status) => {
        this.#settle(connection, status);
        if (connection.isClosing) return;
        this.#free.push(connection);
        this.#dispatch();
      },
      onEnd: (wasBusy) => {
        if (wasBusy) this.#settle(connection, 0);
        this.#connections.delete(connection);
        if (this.#ended < this.#dueMs.length) setTimeout(() => this.#connect(), RECONNECT_MS);
      },
    });
    this.#connections.add(connection);
    this.#free.push(connection);
  }

  #settle(connection: Connection, status: number): void {
    const n = this.#inFlight.get(connection);
    if (n === undefined) return;
    this.#inFlight.delete(connection);
    this.#ended++;
    this.#status[n] = status;
    if (status < 200 || status > 299) this.#failed++;
    if (status !== 0) this.#latencyMs[n] = performance.now() - this.#startMs - (this.#dueMs[n] ?? 0);
  }

  #report(): void {
    this.#onProgress({ due: this.#due, answered: this.#ended, failed: this.#failed });
  }
}

/** Choice: reconnects to a server that refuses connections, but not in a busy loop. */
const RECONNECT_MS = 20;
