import type { EndpointMessage } from '../pools/deliver-messages.ts';
import { EndpointQueue, Host, type Held, type Lane } from './endpoint-queue.ts';
import { FairRing } from './fair-ring.ts';
import { Slots, STANDINGS, type AttemptCourse, type Standing } from './slots.ts';

/** What an attempt holds until it is given back. */
export interface Place {
  readonly queue: EndpointQueue;
  /** Where it takes a place, whatever becomes of its endpoint. */
  readonly host: Host;
  /** What it holds of the slots and of its host. */
  standing: Standing;
}

/**
 * Whose turn it is, among all endpoints that the worker knows.
 *
 * An endpoint gets its turn when it has something due, its allowance and its host's have room, its standing has slots, and it
 * holds no more than its share of either. A delivery that waits for its retry holds none of them. An endpoint whose attempt takes
 * long is slow from then on, not only when that attempt has ended, and until its attempts are quick as a rule: what takes long,
 * and be it a success, must not hold for seconds what those that answer at once need.
 */
export class Turns {
  readonly #slots: Slots;
  readonly #queues = new Map<string, EndpointQueue>();
  readonly #hosts = new Map<string, Host>();
  readonly #rings: Readonly<Record<Standing, FairRing<EndpointQueue>>> = {
    proven: new FairRing(),
    unproven: new FairRing(),
    slow: new FairRing(),
  };
  #turn = 0;

  constructor(attemptsInFlightMax: number) {
    this.#slots = new Slots(attemptsInFlightMax);
  }

  /** An endpoint is new, or has changed. */
  meet(endpoint: EndpointMessage): void {
    const host = this.#hostOf(endpoint.url);
    const queue = this.#queues.get(endpoint.endpointId);
    if (queue === undefined) {
      this.#queues.set(endpoint.endpointId, new EndpointQueue(endpoint, host));
      return;
    }
    queue.url = endpoint.url;
    queue.secrets = endpoint.secrets;
    queue.host = host;
  }

  find(endpointId: string): EndpointQueue | undefined {
    return this.#queues.get(endpointId);
  }

  forget(queue: EndpointQueue): void {
    this.#queues.delete(queue.id);
    this.#rings[queue.standing].delete(queue);
    queue.lane.parked.delete(queue);
    this.#forgetHosts();
  }

  /** Puts the queue in line where it has something to begin. */
  line(queue: EndpointQueue): void {
    if (queue.mayBegin && !queue.lane.parked.has(queue)) this.#rings[queue.standing].add(queue);
  }

  /** The next delivery, with what its attempt holds; null where nothing may begin. */
  next(): { readonly held: Held; readonly place: Place } | null {
    for (let queue = this.#nextQueue(); queue !== null; queue = this.#nextQueue()) {
      const { lane } = queue;
      if (queue.mayBegin && !lane.hasRoom) {
        lane.parked.add(queue);
        continue;
      }
      // One that has its share has something in flight, and is in line again when that is late or over.
      const held = queue.mayBegin && this.#hasShare(queue) ? queue.take() : null;
      const place = held === null ? null : this.#take(queue);
      if (place !== null) this.line(queue);
      this.#unpark(lane);
      if (held !== null && place !== null) return { held, place };
    }
    return null;
  }

  /** The attempt is over, or did not begin: lines up who waited for its place. */
  give({ queue, host, standing }: Place): void {
    this.#slots.give(standing);
    queue.inFlight--;
    host.laneOf(standing).inFlight--;
    // Room in one lane may be what the whole host lacked.
    this.#unpark(host.prompt);
    this.#unpark(host.late);
  }

  /** Moves an attempt over to the slow ones. Its endpoint is one of them, whatever others of its attempts show meanwhile. */
  slowDown(place: Place): void {
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

  /** What came of an attempt says something of its endpoint. */
  learn(queue: EndpointQueue, course: AttemptCourse, durationMs: number): void {
    const { standing, lane } = queue;
    queue.learn(course, durationMs);
    this.#restand(queue, standing, lane);
  }

  /** The queue whose turn it is: standings take turns, and in each of them its queues. */
  #nextQueue(): EndpointQueue | null {
    for (let tried = 0; tried < STANDINGS.length; tried++) {
      const standing = STANDINGS[this.#turn++ % STANDINGS.length] ?? 'proven';
      if (this.#rings[standing].size > 0 && this.#slots.hasRoom(standing)) return this.#rings[standing].take();
    }
    return null;
  }

  /** Tests and probes pass by their endpoint's share as by its allowance. */
  #hasShare({ standing, inFlight, urgent, host, lane }: EndpointQueue): boolean {
    if (urgent.length > 0) return true;
    return this.#slots.hasShare(standing, inFlight) && host.hasShare(lane, inFlight);
  }

  #take(queue: EndpointQueue): Place {
    const { standing, host } = queue;
    this.#slots.take(standing);
    queue.inFlight++;
    host.laneOf(standing).inFlight++;
    return { queue, host, standing };
  }

  /** Lines up the longest waiting queue that has something to send; each that begins an attempt calls the next. */
  #unpark(lane: Lane): void {
    while (lane.hasRoom) {
      const queue = lane.unpark();
      if (queue === null) return;
      if (!queue.mayBegin) continue;
      this.line(queue);
      return;
    }
  }

  /** After a change of its standing the queue leaves the line that it stood in; where it has something to begin it is in line. */
  #restand(queue: EndpointQueue, standingBefore: Standing, laneBefore: Lane): void {
    if (queue.standing !== standingBefore) {
      this.#rings[standingBefore].delete(queue);
      if (queue.lane !== laneBefore) laneBefore.parked.delete(queue);
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

  /** Hosts without an endpoint go. */
  #forgetHosts(): void {
    if (this.#hosts.size <= 2 * this.#queues.size) return;
    const used = new Set([...this.#queues.values()].map(({ host }) => host));
    for (const [origin, host] of this.#hosts) if (!used.has(host) && host.inFlight === 0) this.#hosts.delete(origin);
  }
}
