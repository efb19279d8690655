import type { DeliveryError, WebhookSecrets } from '../core/webhook.ts';
import { ENDPOINT_ATTEMPTS_START, HOST_ATTEMPTS_MAX, HOST_LATE_ATTEMPTS_MAX } from '../limits.ts';
import type { DeliverTask, EndpointMessage } from '../pools/deliver-messages.ts';
import {
  allowanceAfter,
  isWithinShare,
  standingAfter,
  usualMsAfter,
  type AttemptCourse,
  type Standing,
} from './slots.ts';

/** A delivery that the worker has been handed and that has not ended. */
export interface Held {
  readonly task: DeliverTask;
  readonly queue: EndpointQueue;
  attemptsMade: number;
  /** Counts against the deadline, up to `countingSinceMs`. */
  elapsedMs: number;
  /** The monotonic clock when its time began to count here; null before its first attempt. */
  countingSinceMs: number | null;
  lastError: DeliveryError | null;
  /** Set when the endpoint was given up while an attempt was in flight: no further one follows. */
  skip: DeliveryError | null;
  /** Ends its wait for a retry; null while it does not wait. */
  cancelWait: (() => void) | null;
}

/** A part of what a host is sent at once. */
export class Lane {
  inFlight = 0;
  /** Queues that would send if the lane had room; the longest wait first. */
  readonly parked = new Set<EndpointQueue>();
  readonly #host: Host;
  readonly #max: number;

  constructor(host: Host, max: number) {
    this.#host = host;
    this.#max = max;
  }

  get hasRoom(): boolean {
    return this.inFlight < this.#max && this.#host.inFlight < HOST_MAX;
  }

  /** Takes out the queue that has waited for the longest. */
  unpark(): EndpointQueue | null {
    if (this.parked.size === 0) return null;
    for (const queue of this.parked) {
      this.parked.delete(queue);
      return queue;
    }
    return null;
  }
}

/** As many connections as the guarded client makes to one host: beyond them an attempt would wait where nobody sees it. */
const HOST_MAX = HOST_ATTEMPTS_MAX + HOST_LATE_ATTEMPTS_MAX;

/**
 * One host and port, with all endpoints there. Attempts that take long have a lane of their own, so quick ones pass them by. All
 * that are late go over to it, also beyond its bound: then nothing begins there until it is back below.
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

  /** Whether an endpoint with so many in flight may have one more. True for one with none where its lane has room. */
  hasShare(lane: Lane, inFlight: number): boolean {
    if (!isWithinShare(inFlight, HOST_MAX - this.inFlight, HOST_MAX)) return false;
    const lateFree = HOST_LATE_ATTEMPTS_MAX - this.late.inFlight;
    return lane === this.prompt || isWithinShare(inFlight, lateFree, HOST_LATE_ATTEMPTS_MAX);
  }
}

/** What the worker holds of one endpoint, and how much of it may be in flight. */
export class EndpointQueue {
  readonly id: string;
  host: Host;
  url: string;
  secrets: WebhookSecrets;
  standing: Standing = 'unproven';
  inFlight = 0;
  allowance = ENDPOINT_ATTEMPTS_START;
  /** How long its attempts take, ms. */
  usualMs = 0;
  /** Tests and probes: somebody waits for them, so they pass by the endpoint's allowance. */
  readonly urgent: Held[] = [];
  /** Retries whose time has come. */
  readonly due: Held[] = [];
  readonly fresh: Held[] = [];
  /** All of it that has not ended. */
  readonly held = new Set<Held>();

  constructor(endpoint: EndpointMessage, host: Host) {
    this.id = endpoint.endpointId;
    this.host = host;
    this.url = endpoint.url;
    this.secrets = endpoint.secrets;
  }

  get mayBegin(): boolean {
    if (this.urgent.length > 0) return true;
    return this.inFlight < this.allowance && this.due.length + this.fresh.length > 0;
  }

  /** Where its next attempt belongs. */
  get lane(): Lane {
    return this.host.laneOf(this.standing);
  }

  /** Takes the next delivery out; the caller has asked `mayBegin`. */
  take(): Held | null {
    return this.urgent.shift() ?? this.due.shift() ?? this.fresh.shift() ?? null;
  }

  /** Takes one out, wherever it waits its turn. */
  remove(held: Held): void {
    for (const list of [this.urgent, this.due, this.fresh]) {
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
