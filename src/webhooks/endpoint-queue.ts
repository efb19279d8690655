import { Turn, TurnQueue } from '../kernel/turn-queue.ts';
import type { DeliveryError, ExtraHeaders, WebhookRetry, WebhookSecrets } from '../work/webhook.ts';
import { ENDPOINT_ATTEMPTS_START, HOST_ATTEMPTS_MAX, HOST_LATE_ATTEMPTS_MAX } from '../kernel/delivery-limits.ts';
import type { DeliverTask, EndpointMessage, TaskList } from './deliver-messages.ts';
import {
  allowanceAfter,
  isWithinShare,
  standingAfter,
  usualMsAfter,
  type AttemptCourse,
  type Standing,
} from './slots.ts';

/** An unfinished delivery that was handed to the worker. */
export interface Held {
  readonly task: DeliverTask;
  readonly queue: EndpointQueue;
  attemptsMade: number;
  /** Time that counts against the deadline, up to `countingSinceMs`. */
  elapsedMs: number;
  /** The monotonic time at which its time began to count in this worker; null before its first attempt. */
  countingSinceMs: number | null;
  lastError: DeliveryError | null;
  /** Set when the endpoint was abandoned while an attempt was in flight: no further attempt follows. */
  skip: DeliveryError | null;
  /** Cancels its wait for a retry; null while it is not waiting. */
  cancelWait: (() => void) | null;
}

/** Deliveries of one endpoint that arrived in one message and have not begun. Each becomes a `Held` when it begins. */
export class Run {
  readonly queue: EndpointQueue;
  readonly #tasks: TaskList;
  /** Indexes of the tasks that are left, in order. */
  readonly #indexes: number[] = [];

  constructor(queue: EndpointQueue, tasks: TaskList) {
    this.queue = queue;
    this.#tasks = tasks;
  }

  get size(): number {
    return this.#indexes.length;
  }

  add(index: number): void {
    this.#indexes.push(index);
  }

  take(): DeliverTask | null {
    const index = this.#indexes.shift();
    return index === undefined ? null : (this.#tasks.at(index) ?? null);
  }

  /** Removes and returns the tasks that `isTaken` selects. */
  takeAll(isTaken: (task: DeliverTask) => boolean): readonly DeliverTask[] {
    const taken: DeliverTask[] = [];
    const kept = this.#indexes.filter((index) => {
      const task = this.#tasks.at(index);
      if (task === undefined || !isTaken(task)) return true;
      taken.push(task);
      return false;
    });
    this.#indexes.splice(0, this.#indexes.length, ...kept);
    return taken;
  }
}

/** A part of the attempts in flight at one host, with a limit of its own. */
export class Lane {
  inFlight = 0;
  /** Queues that would send if the lane had room; the longest-waiting first. */
  readonly parked = new TurnQueue<EndpointQueue>();
  readonly #host: Host;
  readonly #max: number;

  constructor(host: Host, max: number) {
    this.#host = host;
    this.#max = max;
  }

  get hasRoom(): boolean {
    return this.inFlight < this.#max && this.#host.inFlight < HOST_MAX;
  }
}

/** Maximum number of connections that the SSRF-guarded client opens to one host: further attempts would wait unnoticed in the client. */
const HOST_MAX = HOST_ATTEMPTS_MAX + HOST_LATE_ATTEMPTS_MAX;

/**
 * One host and port, with all endpoints there. Slow attempts have a lane of their own, so fast ones overtake them. Every attempt that
 * becomes slow moves to it, even beyond its limit; then no slow attempt starts until the lane is below its limit again.
 */
export class Host {
  readonly prompt = new Lane(this, HOST_ATTEMPTS_MAX);
  readonly late = new Lane(this, HOST_LATE_ATTEMPTS_MAX);

  get inFlight(): number {
    return this.prompt.inFlight + this.late.inFlight;
  }

  laneOf(standing: Standing): Lane {
    return standing === 'slow' ? this.late : this.prompt;
  }

  /**
   * Returns whether an endpoint with this many attempts in flight may have one more. True for an endpoint with none in flight while its
   * lane has room.
   */
  hasShare(lane: Lane, inFlight: number): boolean {
    if (!isWithinShare(inFlight, HOST_MAX - this.inFlight, HOST_MAX)) return false;
    const lateFree = HOST_LATE_ATTEMPTS_MAX - this.late.inFlight;
    return lane === this.prompt || isWithinShare(inFlight, lateFree, HOST_LATE_ATTEMPTS_MAX);
  }
}

/** Returns the extra headers of an endpoint; null for none, so that most attempts copy nothing. */
export function extraIn({ headers = {} }: EndpointMessage): ExtraHeaders | null {
  return Object.keys(headers).length === 0 ? null : headers;
}

/** The deliveries that the worker holds for one endpoint, and how many of them may be in flight. */
export class EndpointQueue {
  readonly id: string;
  /** Its position among the endpoints of its class, or among those that wait for their host's lane. */
  readonly turn = new Turn<EndpointQueue>(this);
  host: Host;
  url: string;
  secrets: WebhookSecrets;
  /** Null for none. */
  headers: ExtraHeaders | null;
  retry: WebhookRetry;
  standing: Standing = 'unproven';
  inFlight = 0;
  allowance = ENDPOINT_ATTEMPTS_START;
  /** Moving average of the duration of its attempts, ms. */
  usualMs = 0;
  /** Tests and probes: a caller or the endpoint's health depends on them, so they ignore the endpoint's concurrency limit. */
  readonly urgent: Held[] = [];
  /** Retries that are due. */
  readonly due: Held[] = [];
  /** None of them is empty. */
  #fresh: Run[] = [];
  /** Its unfinished deliveries that have begun, wait for a time, or are urgent. */
  readonly held = new Set<Held>();

  constructor(endpoint: EndpointMessage, host: Host) {
    this.id = endpoint.endpointId;
    this.host = host;
    this.url = endpoint.url;
    this.secrets = endpoint.secrets;
    this.headers = extraIn(endpoint);
    this.retry = endpoint.retry ?? 'fast';
  }

  get mayBegin(): boolean {
    if (this.urgent.length > 0) return true;
    return this.inFlight < this.allowance && this.due.length + this.#fresh.length > 0;
  }

  /** The lane of its next attempt. */
  get lane(): Lane {
    return this.host.laneOf(this.standing);
  }

  /** Removes and returns the next delivery; the caller must have checked `mayBegin`. */
  take(): Held | null {
    return this.urgent.shift() ?? this.due.shift() ?? this.#takeFresh();
  }

  #takeFresh(): Held | null {
    const [run] = this.#fresh;
    const task = run?.take() ?? null;
    if (run?.size === 0) this.#fresh.shift();
    return task === null ? null : this.hold(task, null);
  }

  /** `countingSinceMs` is null if no attempt has been made yet. */
  hold(task: DeliverTask, countingSinceMs: number | null): Held {
    const { attemptsMade, elapsedMs } = task;
    const held: Held = {
      task,
      queue: this,
      attemptsMade,
      elapsedMs,
      countingSinceMs,
      lastError: null,
      skip: null,
      cancelWait: null,
    };
    this.held.add(held);
    return held;
  }

  /** Queues a run that is not empty. */
  append(run: Run): void {
    this.#fresh.push(run);
  }

  /** Removes deliveries that have not begun. */
  takeFresh(isTaken: (task: DeliverTask) => boolean): readonly Held[] {
    const tasks = this.#fresh.flatMap((run) => run.takeAll(isTaken));
    this.#fresh = this.#fresh.filter(({ size }) => size > 0);
    return tasks.map((task) => this.hold(task, null));
  }

  /** Whether nothing is left of it but attempts in flight after which it is abandoned. */
  get isAbandoned(): boolean {
    if (this.#fresh.length > 0) return false;
    for (const { skip } of this.held) if (skip === null) return false;
    return true;
  }

  /** Removes a delivery from whichever list it waits in. */
  remove(held: Held): void {
    for (const list of [this.urgent, this.due]) {
      const at = list.indexOf(held);
      if (at >= 0) list.splice(at, 1);
    }
  }

  learn(course: AttemptCourse, durationMs: number): void {
    this.usualMs = usualMsAfter(this.usualMs, durationMs);
    this.allowance = allowanceAfter(this.allowance, course);
    this.standing = standingAfter(course, this.usualMs);
  }
}
