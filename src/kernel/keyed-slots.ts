import { tally } from './tally.ts';

export interface SlotBounds {
  readonly all: number;
  readonly perKey: number;
}

/** Concurrency limiter, in total and per key. A key without taken slots takes no memory. */
export class KeyedSlots<K> {
  readonly #bounds: SlotBounds;
  readonly #takenBy = new Map<K, number>();
  #taken = 0;

  constructor(bounds: SlotBounds) {
    this.#bounds = bounds;
  }

  get taken(): number {
    return this.#taken;
  }

  /** Returns whether a slot is free, for a key that has not reached its own limit. */
  get isAnyFree(): boolean {
    return this.#taken < this.#bounds.all;
  }

  hasRoom(key: K): boolean {
    return this.isAnyFree && (this.#takenBy.get(key) ?? 0) < this.#bounds.perKey;
  }

  /** Takes a slot without checking the limits: work that already runs is counted even beyond them. */
  take(key: K): void {
    this.#taken++;
    tally(this.#takenBy, key, 1);
  }

  give(key: K): void {
    this.#taken--;
    tally(this.#takenBy, key, -1);
  }
}
