/** Choice: at 160,000 keys a part has some 600. */
const PARTS = 256;
/** Powers of two, so that a slot is found without a division. */
const SLOTS_MIN = 64;
const GROWTH = 4;
/** A slot has the two halves of the key, and its number plus 1; 0 marks an empty slot. */
const SLOT_WORDS = 3;
const FULL_SHARE = 0.75;

/**
 * Numbers 64-bit hashes from 0 in the order of their first appearance. The hashes must be spread evenly. It grows part by part, so that no
 * call is long, and outside of the heap, so that the garbage collector copies nothing: a million keys in `Map`s of texts cost pauses of
 * several milliseconds.
 */
export class HashIndex {
  readonly #parts: Uint32Array[] = Array.from({ length: PARTS }, () => EMPTY);
  readonly #used = new Uint32Array(PARTS);
  /** The use for which a part was last cleared: parts of an earlier one are cleared when they are needed. */
  readonly #cleared = new Uint32Array(PARTS);
  #use = 0;
  #size = 0;

  /** Number of different hashes so far. */
  get size(): number {
    return this.#size;
  }

  /** Empties the index and keeps its memory: allocating it again would make the garbage collector run. */
  reset(): void {
    this.#use++;
    this.#size = 0;
  }

  /** Returns the number of the hash whose halves, unsigned 32-bit integers, are given. A new one is that of `size` before the call. */
  add(high: number, low: number): number {
    const part = high & (PARTS - 1);
    let slots = this.#parts[part] ?? EMPTY;
    if (this.#cleared[part] !== this.#use) {
      this.#cleared[part] = this.#use;
      this.#used[part] = 0;
      slots.fill(0);
    }
    let at = find(slots, high, low);
    const known = slots[at + 2] ?? 0;
    if (known !== 0) return known - 1;
    const used = (this.#used[part] ?? 0) + 1;
    if (used > (slots.length / SLOT_WORDS) * FULL_SHARE) {
      slots = grown(slots);
      this.#parts[part] = slots;
      at = find(slots, high, low);
    }
    this.#used[part] = used;
    slots[at] = high;
    slots[at + 1] = low;
    slots[at + 2] = ++this.#size;
    return this.#size - 1;
  }
}

/** Every part begins with this one, which has no room for a key: it grows with the first. */
const EMPTY = new Uint32Array(SLOT_WORDS);

/** Returns where the key is, or the empty slot where it belongs. */
function find(slots: Uint32Array, high: number, low: number): number {
  let at = ((low & (slots.length / SLOT_WORDS - 1)) >>> 0) * SLOT_WORDS;
  while (slots[at + 2] !== 0 && (slots[at] !== high || slots[at + 1] !== low)) {
    at += SLOT_WORDS;
    if (at === slots.length) at = 0;
  }
  return at;
}

function grown(slots: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.max(SLOTS_MIN * SLOT_WORDS, slots.length * GROWTH));
  for (let from = 0; from < slots.length; from += SLOT_WORDS) {
    if (slots[from + 2] === 0) continue;
    const to = find(larger, slots[from] ?? 0, slots[from + 1] ?? 0);
    larger.set(slots.subarray(from, from + SLOT_WORDS), to);
  }
  return larger;
}
