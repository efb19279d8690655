import type { DeliveryError, WebhookSecrets } from '../core/webhook.ts';
import { ENDPOINT_ATTEMPTS_START, HOST_ATTEMPTS_MAX, HOST_LATE_ATTEMPTS_MAX } from '../limits.ts';
import type { DeliverTask, EndpointMessage } from '../pools/deliver-messages.ts';
import { allowanceAfter, standingAfter, type AttemptPace, type Standing } from './slots.ts';

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
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get hasRoom(): boolean {
    return this.inFlight < this.#max;
  }

  /** Takes out the queue that has waited for the longest. */
  unpark(): EndpointQueue | null {
    for (const queue of this.parked) {
      this.parked.delete(queue);
      return queue;
    }
    return null;
  }
}

/** One host and port, with all endpoints there. Attempts that take long have a lane of their own, so quick ones pass them by. */
export class Host {
  readonly prompt = new Lane(HOST_ATTEMPTS_MAX);
  readonly late = new Lane(HOST_LATE_ATTEMPTS_MAX);

  get inFlight(): number {
    return this.prompt.inFlight + this.late.inFlight;
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
    return this.standing === 'slow' ? this.host.late : this.host.prompt;
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

  learn(pace: AttemptPace): void {
    this.allowance = allowanceAfter(this.allowance, pace);
    this.standing = standingAfter(pace);
  }
}
