/** Choice: a row has some 30 values that are not 0. */
const VALUES_AT_FIRST = 65_536;

/** Rows of which most values are 0: 6 bytes for each of the others. */
export class SparseRows {
  readonly #starts: number[] = [0];
  #columns = new Uint16Array(VALUES_AT_FIRST);
  #values = new Float32Array(VALUES_AT_FIRST);

  get count(): number {
    return this.#starts.length - 1;
  }

  /** Adds a row; `values` are by column, all finite. */
  add(values: Iterable<readonly [number, number]>): void {
    let end = this.#starts.at(-1) ?? 0;
    for (const [column, value] of values) {
      if (end === this.#columns.length) this.#grow();
      this.#columns[end] = column;
      this.#values[end++] = value;
    }
    this.#starts.push(end);
  }

  /** Writes the row's values at `at` of `target`, which holds zeros. `positions` has the place of each column, -1 for one left out. */
  fill(row: number, positions: Int32Array, target: Float32Array, at: number): void {
    const end = this.#starts[row + 1] ?? 0;
    for (let n = this.#starts[row] ?? 0; n < end; n++) {
      const position = positions[this.#columns[n] as number] ?? -1;
      if (position !== -1) target[at + position] = this.#values[n] as number;
    }
  }

  #grow(): void {
    const columns = new Uint16Array(2 * this.#columns.length);
    columns.set(this.#columns);
    this.#columns = columns;
    const values = new Float32Array(2 * this.#values.length);
    values.set(this.#values);
    this.#values = values;
  }
}
