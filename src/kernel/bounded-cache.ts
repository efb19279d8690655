/**
 * A cache of at most `2 * generationMax` entries in two generations: when the younger one is full, the older one is dropped as a whole. A
 * hit in the older generation moves the entry to the younger one, so entries in use stay.
 * Choice: two maps instead of a linked list; a get is one or two map look-ups and nothing is relinked.
 */
export class BoundedCache<K, V> {
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  readonly #generationMax: number;

  constructor(generationMax: number) {
    this.#generationMax = generationMax;
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#generationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  delete(key: K): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
