/** Seeded random numbers. Generators created from the same parts return the same numbers, independent of other generators. */
export class Random {
  readonly #next: () => number;

  constructor(...parts: readonly (string | number)[]) {
    this.#next = randomOf(hashText(parts.join('/')));
    // Skips the first numbers, which are similar for neighbouring seeds.
    for (let n = 0; n < 3; n++) this.#next();
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  unit(): number {
    return this.#next();
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  /** Returns an integer from 0 (inclusive) to `count` (exclusive). */
  below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  /** Returns an integer, both ends inclusive. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  weighted<T>(choices: readonly (readonly [item: T, weight: number])[]): T {
    let left = this.#next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of choices) {
      left -= weight;
      if (left < 0) return item;
    }
    const last = choices.at(-1);
    if (last === undefined) throw new Error('nothing to choose from');
    return last[0];
  }

  exponential(mean: number): number {
    return -mean * Math.log(1 - this.#next());
  }

  /** `spread` is the standard deviation of the logarithm. */
  logNormal(median: number, spread: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.#next())) * Math.cos(2 * Math.PI * this.#next());
    return median * Math.exp(spread * normal);
  }

  /** Draws from a Pareto distribution truncated at `most`: few values are large, and those are very large. */
  heavyTail(least: number, shape: number, most: number): number {
    return Math.min(most, least * (1 - this.#next()) ** (-1 / shape));
  }

  hex(digits: number): string {
    let text = '';
    while (text.length < digits)
      text += this.below(2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return text.slice(0, digits);
  }
}

/** FNV-1a, 32 bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** A small random number generator (mulberry32): the same seed gives the same numbers everywhere. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
