/**
 * First in, first out queue of values that each wait at most once. All calls take constant time and allocate nothing, which `FairQueue`
 * cannot offer: it keeps a lane for each key, and a value that is the only one of its key creates and drops a lane each time it waits.
 * Measured: 0.01 to 0.02 µs for a put and a take, 0.13 µs with `FairQueue` and one value per key (100 values).
 */
export class TurnQueue<V> {
  #first: Turn<V> | null = null;
  #last: Turn<V> | null = null;
  #size = 0;

  /** Number of values. */
  get size(): number {
    return this.#size;
  }

  /** Puts the value last. Returns false, and changes nothing, if it already waits in a queue. */
  put(turn: Turn<V>): boolean {
    if (turn.queue !== null) return false;
    turn.queue = this;
    turn.previous = this.#last;
    if (this.#last === null) this.#first = turn;
    else this.#last.next = turn;
    this.#last = turn;
    this.#size++;
    return true;
  }

  /** Removes and returns the value that has waited longest. */
  take(): V | null {
    const turn = this.#first;
    if (turn === null) return null;
    this.remove(turn);
    return turn.value;
  }

  /** Removes the value. Returns whether it waited in this queue. */
  remove(turn: Turn<V>): boolean {
    if (turn.queue !== this) return false;
    const { previous, next } = turn;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    turn.queue = null;
    turn.previous = null;
    turn.next = null;
    this.#size--;
    return true;
  }
}

/** A value's position in a queue. The value keeps it for as long as it lives. Only the queue changes the other fields. */
export class Turn<V> {
  readonly value: V;
  /** Null while it does not wait. */
  queue: TurnQueue<V> | null = null;
  previous: Turn<V> | null = null;
  next: Turn<V> | null = null;

  constructor(value: V) {
    this.value = value;
  }
}
