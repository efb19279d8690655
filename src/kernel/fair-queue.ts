/** Limits on what waits. A missing one is no limit. `weight` is in the caller's unit, for example bytes. */
export interface FairBounds {
  readonly sizeMax?: number;
  readonly sizePerKeyMax?: number;
  readonly weightMax?: number;
  readonly weightPerKeyMax?: number;
}

/** Values that are being prepared and will be put in: those of the key, and those of all keys. */
export interface Coming {
  readonly own: number;
  readonly all: number;
}

const NOTHING_COMING: Coming = { own: 0, all: 0 };

/**
 * Round-robin queue over keys, first in first out within a key: a value waits for at most one value of each other key, however many those
 * have. All calls take constant time, except that `take` and `rotate` also step over each key or value that their filter rejects. A key
 * without values takes no memory.
 *
 * Choice: linked entries. A `Set` or `Map` that is used as a queue keeps a hole for each deleted entry, and every search for the first
 * entry passes the holes.
 */
export class FairQueue<K, V> {
  readonly #bounds: FairBounds;
  readonly #lanes = new Map<K, Lane<K, V>>();
  /** Lanes in the order in which they are served. None is empty. */
  readonly #round = new Chain<Lane<K, V>>();
  #size = 0;
  #weight = 0;

  constructor(bounds: FairBounds = {}) {
    this.#bounds = bounds;
  }

  /** Number of values. */
  get size(): number {
    return this.#size;
  }

  get weight(): number {
    return this.#weight;
  }

  /** Number of keys with values. */
  get keys(): number {
    return this.#lanes.size;
  }

  sizeOf(key: K): number {
    return this.#lanes.get(key)?.size ?? 0;
  }

  weightOf(key: K): number {
    return this.#lanes.get(key)?.weight ?? 0;
  }

  /** Returns whether the bounds allow one more value. `put` does not check them, so that a value that returns is never refused. */
  hasRoom(key: K, weight = 0, coming = NOTHING_COMING): boolean {
    const {
      sizeMax = Infinity,
      sizePerKeyMax = Infinity,
      weightMax = Infinity,
      weightPerKeyMax = Infinity,
    } = this.#bounds;
    if (this.#size + coming.all >= sizeMax || this.#weight + weight > weightMax) return false;
    return this.sizeOf(key) + coming.own < sizePerKeyMax && this.weightOf(key) + weight <= weightPerKeyMax;
  }

  /** Puts the entry behind the others of its key. Returns false, and changes nothing, if it already waits in a queue. */
  put(key: K, entry: FairEntry<K, V>, weight = 0): boolean {
    if (entry.lane !== null) return false;
    const lane = this.#laneOf(key);
    lane.append(entry);
    this.#count(lane, entry, weight);
    return true;
  }

  /** Does the same, but puts the entry before the others of its key. The turn of the key stays the same. */
  putFirst(key: K, entry: FairEntry<K, V>, weight = 0): boolean {
    if (entry.lane !== null) return false;
    const lane = this.#laneOf(key);
    lane.prepend(entry);
    this.#count(lane, entry, weight);
    return true;
  }

  /** Returns what `take` would return, and leaves it in the queue. */
  peek(): V | null {
    return this.#round.first?.first?.value ?? null;
  }

  /** Removes and returns the next value of the first key that `mayServe` accepts, which then waits behind the other keys. */
  take(mayServe?: (key: K) => boolean): V | null {
    for (let lane = this.#round.first; lane !== null; lane = lane.next) {
      const entry = lane.first;
      if (entry === null || (mayServe !== undefined && !mayServe(lane.key))) continue;
      this.#removeFrom(lane, entry);
      if (lane.size > 0) this.#round.moveLast(lane);
      return entry.value;
    }
    return null;
  }

  /** Returns the next value that `mayServe` accepts. It stays in the queue, last of its key, and its key is served last. */
  rotate(mayServe: (value: V) => boolean): V | null {
    for (let lane = this.#round.first; lane !== null; lane = lane.next) {
      for (let entry = lane.first; entry !== null; entry = entry.next) {
        if (!mayServe(entry.value)) continue;
        lane.moveLast(entry);
        this.#round.moveLast(lane);
        return entry.value;
      }
    }
    return null;
  }

  has(entry: FairEntry<K, V>): boolean {
    return entry.lane?.queue === this;
  }

  /** Removes the entry. Returns whether it waited in this queue. */
  remove(entry: FairEntry<K, V>): boolean {
    const { lane } = entry;
    if (lane === null || lane.queue !== this) return false;
    this.#removeFrom(lane, entry);
    return true;
  }

  #laneOf(key: K): Lane<K, V> {
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane = new Lane<K, V>(this, key);
    this.#lanes.set(key, lane);
    this.#round.append(lane);
    return lane;
  }

  #count(lane: Lane<K, V>, entry: FairEntry<K, V>, weight: number): void {
    entry.lane = lane;
    entry.weight = weight;
    lane.size++;
    lane.weight += weight;
    this.#size++;
    this.#weight += weight;
  }

  #removeFrom(lane: Lane<K, V>, entry: FairEntry<K, V>): void {
    lane.remove(entry);
    entry.lane = null;
    lane.size--;
    lane.weight -= entry.weight;
    this.#size--;
    this.#weight -= entry.weight;
    if (lane.size > 0) return;
    this.#lanes.delete(lane.key);
    this.#round.remove(lane);
  }
}

interface Linked<T> {
  previous: T | null;
  next: T | null;
}

/** Doubly linked list whose nodes carry the links. A removed node links to nothing, so that it keeps no other node in memory. */
class Chain<T extends Linked<T>> {
  first: T | null = null;
  last: T | null = null;

  append(node: T): void {
    node.previous = this.last;
    if (this.last === null) this.first = node;
    else this.last.next = node;
    this.last = node;
  }

  prepend(node: T): void {
    node.next = this.first;
    if (this.first === null) this.last = node;
    else this.first.previous = node;
    this.first = node;
  }

  remove(node: T): void {
    const { previous, next } = node;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.last = previous;
    else next.previous = previous;
    node.previous = null;
    node.next = null;
  }

  moveLast(node: T): void {
    if (this.last === node) return;
    this.remove(node);
    this.append(node);
  }
}

/** The values of one key. */
class Lane<K, V> extends Chain<FairEntry<K, V>> implements Linked<Lane<K, V>> {
  readonly queue: FairQueue<K, V>;
  readonly key: K;
  size = 0;
  weight = 0;
  previous: Lane<K, V> | null = null;
  next: Lane<K, V> | null = null;

  constructor(queue: FairQueue<K, V>, key: K) {
    super();
    this.queue = queue;
    this.key = key;
  }
}

/**
 * A value's position in a queue. The caller keeps it to remove the value, and may put it in again after it has left. Only the queue
 * accesses the other fields.
 */
export class FairEntry<K, V> implements Linked<FairEntry<K, V>> {
  readonly value: V;
  /** Null while it does not wait. */
  lane: Lane<K, V> | null = null;
  weight = 0;
  previous: FairEntry<K, V> | null = null;
  next: FairEntry<K, V> | null = null;

  constructor(value: V) {
    this.value = value;
  }
}
