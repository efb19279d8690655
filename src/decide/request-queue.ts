import { hasShare } from '../kernel/capacity-share.ts';
import { QUEUE_PLACE_BYTES, QUEUE_REQUESTS_MAX } from '../kernel/limits.ts';
import { type BatchWriter, REQUEST_PUBLIC_KEY } from '../frames/batch-buffer.ts';

const NONE = -1;
/** Choice: some 100 bytes each. */
const LANES_KEPT = 1_024;

/**
 * Requests that wait for their admission, and then for a batch. One that waits for its admission has reserved its slots, so that neither
 * the bound of the queue nor a share of it is exceeded; its admission puts it into its queue, a refusal frees its slots.
 *
 * There is one queue per customer, and a second one for the customer's public keys, which anyone may use. Batches take from the queues in
 * turn, so a customer with one request waits for at most one request of each other customer, however many those have sent. A body takes one
 * slot per `QUEUE_PLACE_BYTES`; the more slots are taken, the fewer a single queue may hold.
 * Choice: rows in fixed arrays, linked by index, so that a request of usual size allocates nothing but a view of its body.
 * Measured: a queue of `src/kernel/fair-queue.ts` with reused entries takes 1.06 to 1.15 times the processor time of this one (144 ns for
 * adding and moving a body of 408 bytes, 2026-11-23), so this one remains.
 */
export class FairQueue<T> {
  /** Bodies of at most one slot. Allocated when a request is first queued. */
  #bodies: Uint8Array | null = null;
  readonly #largeBodies = new Map<number, Uint8Array>();
  readonly #bytes = new Uint32Array(QUEUE_REQUESTS_MAX);
  readonly #customers = new Uint32Array(QUEUE_REQUESTS_MAX);
  readonly #flags = new Uint32Array(QUEUE_REQUESTS_MAX);
  readonly #nowMs = new Float64Array(QUEUE_REQUESTS_MAX);
  readonly #originHash = new Float64Array(QUEUE_REQUESTS_MAX);
  readonly #pending: (T | undefined)[] = Array.from({ length: QUEUE_REQUESTS_MAX }, () => undefined);
  /** Index of the next row, in its queue or in the free list. */
  readonly #next = Int16Array.from({ length: QUEUE_REQUESTS_MAX }, (_, row) =>
    row + 1 < QUEUE_REQUESTS_MAX ? row + 1 : NONE,
  );
  #freeRow = 0;
  /** Keeps up to `LANES_KEPT` lanes without rows, so that a customer with one request at a time does not create one for each. */
  readonly #lanes = new Map<number, Lane>();
  readonly #laneOf: (Lane | undefined)[] = Array.from({ length: QUEUE_REQUESTS_MAX }, () => undefined);
  /** The lane served last; its successor is served next. */
  #last: Lane | null = null;
  #count = 0;
  #places = 0;

  /** Number of rows, reserved ones included. */
  get count(): number {
    return this.#count;
  }

  /** Taken slots, reserved ones included. */
  get places(): number {
    return this.#places;
  }

  hasShare(customerNumber: number, flags: number, bodyBytes: number): boolean {
    const places = placesOf(bodyBytes);
    // At this fill level even a customer that holds all taken slots is within its share, so no look-up is needed.
    if (2 * this.#places + places <= QUEUE_REQUESTS_MAX) return true;
    const held = this.#lanes.get(laneOf(customerNumber, flags))?.places ?? 0;
    return hasShare(held + places - 1, this.#places, QUEUE_REQUESTS_MAX);
  }

  /** Copies the body. Requires a free slot. Returns the row, which the caller must `enter` or `cancel`. */
  reserve(body: Uint8Array, customerNumber: number, flags: number, nowMs: number, originHash = 0): number {
    const row = this.#freeRow;
    if (row === NONE) throw new Error('a request was added to a full queue');
    this.#freeRow = this.#next[row] ?? NONE;
    if (body.length <= QUEUE_PLACE_BYTES) {
      this.#bodies ??= new Uint8Array(QUEUE_REQUESTS_MAX * QUEUE_PLACE_BYTES);
      this.#bodies.set(body, row * QUEUE_PLACE_BYTES);
    } else this.#largeBodies.set(row, body.slice());
    this.#bytes[row] = body.length;
    this.#customers[row] = customerNumber;
    this.#flags[row] = flags;
    this.#nowMs[row] = nowMs;
    this.#originHash[row] = originHash;
    const places = placesOf(body.length);
    const lane = this.#laneFor(laneOf(customerNumber, flags));
    lane.places += places;
    this.#laneOf[row] = lane;
    this.#places += places;
    this.#count++;
    return row;
  }

  /** Queues a reserved row behind the others of its customer. Adds `flags` to those of its reservation. */
  enter(row: number, pending: T, flags = 0): void {
    const lane = this.#reservedIn(row);
    this.#pending[row] = pending;
    if (flags !== 0) this.#flags[row] = (this.#flags[row] ?? 0) | flags;
    this.#next[row] = NONE;
    if (lane.head === NONE) {
      lane.head = row;
      this.#joinRing(lane);
    } else this.#next[lane.tail] = row;
    lane.tail = row;
  }

  /** Frees a reserved row. */
  cancel(row: number): void {
    const lane = this.#reservedIn(row);
    this.#free(row, lane);
    this.#forget(lane);
  }

  /** Moves the next request to the batch. Returns false if no admitted request waits or the batch has no room for it. */
  moveTo(writer: BatchWriter, pending: T[]): boolean {
    const last = this.#last;
    if (last === null) return false;
    const lane = last.next;
    const row = lane.head;
    const bytes = this.#bytes[row] ?? 0;
    if (!writer.hasRoom(bytes)) return false;
    writer.add(
      this.#bodyOf(row, bytes),
      this.#customers[row] ?? 0,
      this.#flags[row] ?? 0,
      this.#nowMs[row] ?? 0,
      this.#originHash[row] ?? 0,
    );
    pending.push(this.#pending[row] as T);
    this.#pending[row] = undefined;
    lane.head = this.#next[row] ?? NONE;
    this.#free(row, lane);
    if (lane.head === NONE) this.#leaveRing(lane, last);
    else this.#last = lane;
    this.#forget(lane);
    return true;
  }

  #free(row: number, lane: Lane): void {
    const bytes = this.#bytes[row] ?? 0;
    if (bytes > QUEUE_PLACE_BYTES) this.#largeBodies.delete(row);
    const places = placesOf(bytes);
    lane.places -= places;
    this.#places -= places;
    this.#count--;
    this.#next[row] = this.#freeRow;
    this.#freeRow = row;
  }

  #bodyOf(row: number, bytes: number): Uint8Array {
    const from = row * QUEUE_PLACE_BYTES;
    const body = bytes > QUEUE_PLACE_BYTES ? this.#largeBodies.get(row) : this.#bodies?.subarray(from, from + bytes);
    if (body === undefined) throw new Error('a request that waits has no body');
    return body;
  }

  #reservedIn(row: number): Lane {
    const lane = this.#laneOf[row];
    if (lane === undefined) throw new Error('a row was used that no request has reserved');
    return lane;
  }

  #laneFor(key: number): Lane {
    const found = this.#lanes.get(key);
    if (found !== undefined) return found;
    const lane = new Lane(key);
    this.#lanes.set(key, lane);
    return lane;
  }

  /** A lane that gets its first row is served after those that already wait. */
  #joinRing(lane: Lane): void {
    if (this.#last !== null) {
      lane.next = this.#last.next;
      this.#last.next = lane;
    }
    this.#last = lane;
  }

  #leaveRing(lane: Lane, before: Lane): void {
    before.next = lane.next;
    if (lane === before) this.#last = null;
    lane.next = lane;
    lane.tail = NONE;
  }

  /** Releases a lane without rows, reserved ones included, if many are kept. */
  #forget(lane: Lane): void {
    if (lane.places === 0 && this.#lanes.size > LANES_KEPT) this.#lanes.delete(lane.key);
  }
}

/** The queue of one customer, or of its public keys. */
class Lane {
  readonly key: number;
  head = NONE;
  tail = NONE;
  /** Those of reserved rows included. */
  places = 0;
  next: Lane = this;

  constructor(key: number) {
    this.key = key;
  }
}

function laneOf(customerNumber: number, flags: number): number {
  return 2 * customerNumber + ((flags & REQUEST_PUBLIC_KEY) === 0 ? 0 : 1);
}

function placesOf(bodyBytes: number): number {
  return Math.max(1, Math.ceil(bodyBytes / QUEUE_PLACE_BYTES));
}
