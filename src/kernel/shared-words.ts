/** Choice: some 10 µs, longer than the sections that these locks guard, unless their thread was interrupted. */
const SPINS = 1_000;
/** Choice: a shorter wait of a thread that was interrupted would cost more than it saves. */
const WAIT_MS = 1;

/**
 * Locks one word of memory that the threads of a process share: 0 free, 1 taken. For sections of a few µs that throw nothing. Blocks the
 * thread until the word is free; not reentrant.
 */
export function lockWord(words: Int32Array, at: number): void {
  for (let n = 0; Atomics.compareExchange(words, at, 0, 1) !== 0; n++) {
    if (n >= SPINS) Atomics.wait(words, at, 1, WAIT_MS);
  }
}

export function unlockWord(words: Int32Array, at: number): void {
  Atomics.store(words, at, 0);
}

/** Raises a word that other threads raise too. */
export function raiseWord(words: Uint32Array, at: number, to: number): void {
  for (let was = Atomics.load(words, at); was < to;) {
    const found = Atomics.compareExchange(words, at, was, to);
    if (found === was) return;
    was = found;
  }
}

/** Choice: the C library takes smaller pieces from its heap, and fills them with zeros. */
const LAZY_BYTES_MIN = 2 ** 25 + 2 ** 16;

/** Returns shared memory of zeros, of which the system provides only the pages that are used. */
export function lazyMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(Math.max(bytes, LAZY_BYTES_MIN));
}
