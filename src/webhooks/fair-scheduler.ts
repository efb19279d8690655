import { TurnQueue } from '../kernel/turn-queue.ts';
import type { EndpointMessage } from './deliver-messages.ts';
import { EndpointQueue, Host, type Held, type Lane, extraIn } from './endpoint-queue.ts';
import { Slots, STANDINGS, type AttemptCourse, type Standing } from './slots.ts';

/** The slots that an attempt holds until it ends. */
export interface LanePlace {
  readonly queue: EndpointQueue;
  /** The host whose slot it holds, even if its endpoint moves. */
  readonly host: Host;
  /** The class of the slots it holds, in the worker and at its host. */
  standing: Standing;
}

/**
 * Fair scheduler over all endpoints that the worker knows.
 *
 * An endpoint is served when it has a delivery due, neither its own limit nor its host's is reached, its class has free slots, and it holds
 * no more than its share of the worker's slots and of its host's.
 * A delivery that waits for a retry holds no slot. An endpoint becomes slow as soon as one of its attempts is
 * slow, not only when that attempt ends, and stays slow until its attempts are fast on average: a slow attempt, even a successful one, must
 * not hold for seconds what fast endpoints need.
 */
export class LaneTurns {
  readonly #slots: Slots;
  readonly #queues = new Map<string, EndpointQueue>();
  readonly #hosts = new Map<string, Host>();
  readonly #waiting: Readonly<Record<Standing, TurnQueue<EndpointQueue>>> = {
    proven: new TurnQueue(),
    unproven: new TurnQueue(),
    slow: new TurnQueue(),
  };
  #turn = 0;

  constructor(attemptsInFlightMax: number) {
    this.#slots = new Slots(attemptsInFlightMax);
  }

  /** Adds an endpoint, or applies a change of it. */
  meet(endpoint: EndpointMessage): void {
    const host = this.#hostOf(endpoint.url);
    const queue = this.#queues.get(endpoint.endpointId);
    if (queue === undefined) {
      this.#queues.set(endpoint.endpointId, new EndpointQueue(endpoint, host));
      return;
    }
    queue.url = endpoint.url;
    queue.secrets = endpoint.secrets;
    queue.headers = extraIn(endpoint);
    queue.retry = endpoint.retry ?? 'fast';
    const wasParked = queue.host !== host && queue.lane.parked.remove(queue.turn);
    queue.host = host;
    if (wasParked) this.line(queue);
  }

  find(endpointId: string): EndpointQueue | undefined {
    return this.#queues.get(endpointId);
  }

  forget(queue: EndpointQueue): void {
    this.#queues.delete(queue.id);
    this.#waiting[queue.standing].remove(queue.turn);
    queue.lane.parked.remove(queue.turn);
    this.#forgetHosts();
  }

  /** Queues the endpoint if it has something to send. Keeps its position if it already waits, for its turn or for its lane. */
  line(queue: EndpointQueue): void {
    if (queue.mayBegin) this.#waiting[queue.standing].put(queue.turn);
  }

  /** Returns the next delivery with the slots of its attempt; null if no attempt may start. */
  next(): { readonly held: Held; readonly place: LanePlace } | null {
    for (let queue = this.#nextQueue(); queue !== null; queue = this.#nextQueue()) {
      const { lane } = queue;
      if (queue.mayBegin && !lane.hasRoom) {
        lane.parked.put(queue.turn);
        continue;
      }
      // An endpoint that has its full share has attempts in flight; it is queued again when one of them becomes slow or ends.
      const held = queue.mayBegin && this.#hasShare(queue) ? queue.take() : null;
      const place = held === null ? null : this.#take(queue);
      if (place !== null) this.line(queue);
      this.#unpark(lane);
      if (held !== null && place !== null) return { held, place };
    }
    return null;
  }

  /** Releases the slots of an attempt that ended or did not start, and queues endpoints that waited for them. */
  give({ queue, host, standing }: LanePlace): void {
    this.#slots.give(standing);
    queue.inFlight--;
    host.laneOf(standing).inFlight--;
    // Both lanes, because a limit of the host applies to both together: a slot freed in one may allow an attempt in the other.
    this.#unpark(host.prompt);
    this.#unpark(host.late);
  }

  /** Moves an attempt to the slow class. Its endpoint becomes slow as well, whatever its other attempts show meanwhile. */
  slowDown(place: LanePlace): void {
    const { queue, host } = place;
    if (queue.standing !== 'slow') {
      const { standing, lane } = queue;
      queue.standing = 'slow';
      this.#restand(queue, standing, lane);
    }
    if (place.standing === 'slow') return;
    this.#slots.slowDown(place.standing);
    place.standing = 'slow';
    host.prompt.inFlight--;
    host.late.inFlight++;
    this.#unpark(host.prompt);
  }

  /** Updates the endpoint's class with the result of an attempt. */
  learn(queue: EndpointQueue, course: AttemptCourse, durationMs: number): void {
    const { standing, lane } = queue;
    queue.learn(course, durationMs);
    this.#restand(queue, standing, lane);
  }

  /** Returns the next queue: classes are served round-robin, and within a class its queues. */
  #nextQueue(): EndpointQueue | null {
    for (let tried = 0; tried < STANDINGS.length; tried++) {
      const standing = STANDINGS[this.#turn++ % STANDINGS.length] ?? 'proven';
      const waiting = this.#waiting[standing];
      if (waiting.size > 0 && this.#slots.hasRoom(standing)) return waiting.take();
    }
    return null;
  }

  /** Tests and probes ignore their endpoint's share, as they ignore its allowance. */
  #hasShare({ standing, inFlight, urgent, host, lane }: EndpointQueue): boolean {
    if (urgent.length > 0) return true;
    return this.#slots.hasShare(standing, inFlight) && host.hasShare(lane, inFlight);
  }

  #take(queue: EndpointQueue): LanePlace {
    const { standing, host } = queue;
    this.#slots.take(standing);
    queue.inFlight++;
    host.laneOf(standing).inFlight++;
    return { queue, host, standing };
  }

  /** Queues the longest-waiting endpoint that has something to send; each one that starts an attempt wakes the next. */
  #unpark(lane: Lane): void {
    while (lane.hasRoom) {
      const queue = lane.parked.take();
      if (queue === null) return;
      if (!queue.mayBegin) continue;
      this.line(queue);
      return;
    }
  }

  /** Re-enqueues the endpoint under its new class; no-op if it has nothing to send. */
  #restand(queue: EndpointQueue, standingBefore: Standing, laneBefore: Lane): void {
    if (queue.standing !== standingBefore) {
      this.#waiting[standingBefore].remove(queue.turn);
      if (queue.lane !== laneBefore) laneBefore.parked.remove(queue.turn);
    }
    this.line(queue);
  }

  #hostOf(url: string): Host {
    const { origin } = new URL(url);
    let host = this.#hosts.get(origin);
    if (host === undefined) {
      host = new Host();
      this.#hosts.set(origin, host);
    }
    return host;
  }

  /** Removes hosts without endpoints. */
  #forgetHosts(): void {
    if (this.#hosts.size <= 2 * this.#queues.size) return;
    const used = new Set([...this.#queues.values()].map(({ host }) => host));
    for (const [origin, host] of this.#hosts) if (!used.has(host) && host.inFlight === 0) this.#hosts.delete(origin);
  }
}
