/** Counts by name, in the order in which the names first appeared. A Map of each row costs more to fill than the rest of it to read. */
export class NamedCounts {
  #names: string[] = [];
  #counts: number[] = [];
  /** Made by the first call of `add` or `get` that needs it: a row that is only shown needs none. */
  #positions: Map<string, number> | null = null;

  get names(): readonly string[] {
    return this.#names;
  }

  /** By the position in `names`. */
  get counts(): readonly number[] {
    return this.#counts;
  }

  get size(): number {
    return this.#names.length;
  }

  get(name: string): number | undefined {
    const at = this.#positionOf(name);
    return at === undefined ? undefined : this.counts[at];
  }

  add(name: string, count: number): void {
    const at = this.#positionOf(name);
    if (at !== undefined) this.#counts[at] = (this.#counts[at] ?? 0) + count;
    else {
      this.#positions?.set(name, this.#names.length);
      this.#names.push(name);
      this.#counts.push(count);
    }
  }

  /** Fills empty counts; no name is there twice. Both arrays belong to this object from now on. */
  fill(names: string[], counts: number[]): void {
    this.#names = names;
    this.#counts = counts;
    this.#positions = null;
  }

  /** Returns the pairs of a name and its count, sorted by name. */
  sorted(): (readonly [string, number])[] {
    return [...this].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  addAll({ names, counts }: NamedCounts): void {
    for (let at = 0; at < names.length; at++) this.add(names[at] ?? '', counts[at] ?? 0);
  }

  *[Symbol.iterator](): Generator<readonly [string, number]> {
    for (let at = 0; at < this.names.length; at++) yield [this.names[at] ?? '', this.counts[at] ?? 0];
  }

  #positionOf(name: string): number | undefined {
    this.#positions ??= new Map(this.#names.map((known, at) => [known, at]));
    return this.#positions.get(name);
  }
}
