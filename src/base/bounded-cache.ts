/**
 * A cache that never holds more than `2 * generationMax` entries: two generations, the older dropped whole when the newer is
 * full. A hit in the older generation moves the entry to the newer one, so what is used stays.
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

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
