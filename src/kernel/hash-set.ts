/** Choice: at 1,300,000 keys a part has some 5,000, which take 0.1 ms when it grows. */
const PARTS = 256;
/** Powers of two, so that a slot is found without a division. */
const SLOTS_MIN = 128;
const GROWTH = 4;
const FULL_SHARE = 0.75;
const EMPTY = new Uint32Array(0);

/**
 * A set of well-mixed hashes of 40 bits, 32 of which are stored: of 1,300,000 hashes one is taken for another on average. It grows part by
 * part, so that no call is long, and outside of the heap, so that the garbage collector copies nothing.
 */
export class HashSet40 {
  readonly #parts: Uint32Array[] = Array.from({ length: PARTS }, () => EMPTY);
  readonly #used = new Uint32Array(PARTS);
  /** The use for which a part was last cleared: parts of an earlier one are cleared when they are needed. */
  readonly #cleared = new Uint32Array(PARTS);
  #use = 0;

  /** Empties the set and keeps its memory: allocating it again would make the garbage collector run. */
  reset(): void {
    this.#use++;
  }

  /** Adds the hash of which `high` has 8 bits and `low` 32; returns whether it is new. */
  add(high: number, low: number): boolean {
    const part = high & (PARTS - 1);
    // 0 marks an empty slot.
    const key = low >>> 0 || 1;
    let slots = this.#parts[part] ?? EMPTY;
    if (this.#cleared[part] !== this.#use) {
      this.#cleared[part] = this.#use;
      this.#used[part] = 0;
      slots.fill(0);
    }
    const used = this.#used[part] ?? 0;
    if (used >= slots.length * FULL_SHARE) {
      slots = grown(slots);
      this.#parts[part] = slots;
    }
    const at = find(slots, key);
    if (slots[at] === key) return false;
    slots[at] = key;
    this.#used[part] = used + 1;
    return true;
  }
}

/** Returns where the key is, or the empty slot where it belongs. */
function find(slots: Uint32Array, key: number): number {
  const mask = slots.length - 1;
  let at = key & mask;
  while (slots[at] !== 0 && slots[at] !== key) at = (at + 1) & mask;
  return at;
}

function grown(slots: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.max(SLOTS_MIN, slots.length * GROWTH));
  for (const key of slots) if (key !== 0) larger[find(larger, key)] = key;
  return larger;
}
