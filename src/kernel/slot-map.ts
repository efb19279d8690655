/**
 * A map keyed by numbers, for entries that come and go constantly. A `Map` reallocates its table every few entries, and V8 links each old
 * table to the next: once one of them is in the old generation, all later ones are kept until the next major collection, and with them
 * every value that was ever in the map. Here such tables contain only numbers.
 * Measured: 300,000 entries of 2 KB, eight at a time, take 27 major collections in a `Map` and one in this. See docs/decisions.
 */
export class SlotMap<V extends object> {
  readonly #places = new Map<number, number>();
  readonly #values: (V | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  get(key: number): V | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  set(key: number, value: V): void {
    const known = this.#places.get(key);
    const place = known ?? this.#free.pop() ?? this.#values.length;
    if (known === undefined) this.#places.set(key, place);
    this.#values[place] = value;
  }

  /** Returns whether it existed. */
  delete(key: number): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#values[place] = undefined;
    this.#free.push(place);
    return true;
  }

  clear(): void {
    this.#places.clear();
    this.#values.length = 0;
    this.#free.length = 0;
  }

  /** Yields the values in no particular order. Entries may be deleted meanwhile. */
  *values(): Generator<V> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }
}
