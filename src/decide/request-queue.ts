import { type BatchWriter, REQUEST_PUBLIC_KEY } from '../frames/batch-buffer.ts';
import { hasShare } from '../kernel/capacity-share.ts';
import { FairEntry, FairQueue } from '../kernel/fair-queue.ts';
import { QUEUE_PLACE_BYTES, QUEUE_REQUESTS_MAX } from '../kernel/limits.ts';

/** A request that waits. Fields do not change, except that its admission adds `pending` and flags. */
export interface WaitingRequest<T> {
  readonly body: Uint8Array;
  readonly customerNumber: number;
  flags: number;
  readonly nowMs: number;
  readonly originHash: number;
  /** Its queue. */
  readonly lane: number;
  readonly places: number;
  /** What the caller keeps of it; undefined before its admission. */
  pending?: T;
}

/**
 * Requests that wait for their admission, and then for a batch. One that waits for its admission has reserved its slots, so that neither
 * the bound of the queue nor a share of it is exceeded; its admission puts it into its queue, a refusal frees its slots.
 *
 * There is one queue per customer, and a second one for the customer's public keys, which anyone may use. Batches take from the queues in
 * turn, so a customer with one request waits for at most one request of each other customer, however many those have sent. A body takes one
 * slot per `QUEUE_PLACE_BYTES`; the more slots are taken, the fewer a single queue may hold.
 */
export class RequestQueue<T> {
  readonly #queue = new FairQueue<number, WaitingRequest<T>>();
  /** Queue → its taken slots, reserved ones included. */
  readonly #placesOfLane = new Map<number, number>();
  #count = 0;
  #places = 0;

  /** Number of requests, reserved ones included. */
  get count(): number {
    return this.#count;
  }

  /** Taken slots, reserved ones included. */
  get places(): number {
    return this.#places;
  }

  hasShare(customerNumber: number, flags: number, bodyBytes: number): boolean {
    const places = countPlaces(bodyBytes);
    // At this fill level even a customer that holds all taken slots is within its share, so no look-up is needed.
    if (2 * this.#places + places <= QUEUE_REQUESTS_MAX) return true;
    const held = this.#placesOfLane.get(toLane(customerNumber, flags)) ?? 0;
    return hasShare(held + places - 1, this.#places, QUEUE_REQUESTS_MAX);
  }

  /** Copies the body. Requires a free slot. The caller must `enter` or `cancel` the request. */
  reserve(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, originHash = 0): WaitingRequest<T> {
    if (this.#places >= QUEUE_REQUESTS_MAX) throw new Error('a request was added to a full queue');
    const lane = toLane(customerNumber, flags);
    const places = countPlaces(body.length);
    this.#count++;
    this.#addPlaces(lane, places);
    return { body: body.slice(), customerNumber, flags, nowMs, originHash, lane, places };
  }

  /** Queues a reserved request behind the others of its customer. Adds `flags` to those of its reservation. */
  enter(request: WaitingRequest<T>, pending: T, flags = 0): void {
    request.pending = pending;
    request.flags |= flags;
    this.#queue.put(request.lane, new FairEntry(request));
  }

  /** Frees the slots of a reserved request. */
  cancel({ lane, places }: WaitingRequest<T>): void {
    this.#count--;
    this.#addPlaces(lane, -places);
  }

  /** Moves the next request to the batch. Returns false if no admitted request waits or the batch has no room for it. */
  moveTo(writer: BatchWriter, pending: T[]): boolean {
    const request = this.#queue.peek();
    if (request === null || !writer.hasRoom(request.body.length)) return false;
    this.#queue.take();
    const { body, customerNumber, flags, nowMs, originHash } = request;
    writer.add(body, customerNumber, flags, nowMs, originHash);
    pending.push(request.pending as T);
    this.cancel(request);
    return true;
  }

  #addPlaces(lane: number, places: number): void {
    this.#places += places;
    const held = (this.#placesOfLane.get(lane) ?? 0) + places;
    if (held === 0) this.#placesOfLane.delete(lane);
    else this.#placesOfLane.set(lane, held);
  }
}

function toLane(customerNumber: number, flags: number): number {
  return 2 * customerNumber + ((flags & REQUEST_PUBLIC_KEY) === 0 ? 0 : 1);
}

function countPlaces(bodyBytes: number): number {
  return Math.max(1, Math.ceil(bodyBytes / QUEUE_PLACE_BYTES));
}
