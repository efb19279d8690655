const BLOCK_ROWS = 4_096;
/** Choice: a row has some 30 values that are not 0. */
const BLOCK_VALUES = 32 * BLOCK_ROWS;

/** `starts` has one element more, for the end of the last row. */
interface Block {
  readonly starts: Uint32Array;
  readonly columns: Uint16Array;
  readonly values: Float32Array;
}

/** Rows of which most values are 0: 6 bytes for each of the others. Full blocks have just their size, and are never copied again. */
export class SparseRows {
  readonly #blocks: Block[] = [];
  /** The last block, with room for more values. */
  #open: Block = {
    starts: new Uint32Array(BLOCK_ROWS + 1),
    columns: new Uint16Array(BLOCK_VALUES),
    values: new Float32Array(BLOCK_VALUES),
  };
  #openRows = 0;

  get count(): number {
    return this.#blocks.length * BLOCK_ROWS + this.#openRows;
  }

  /** Adds a row; `values` are by column, all finite. */
  add(values: Iterable<readonly [number, number]>): void {
    const { starts } = this.#open;
    let end = starts[this.#openRows] ?? 0;
    for (const [column, value] of values) {
      if (end === this.#open.columns.length) this.#open = copyOf(this.#open, 2 * end, end);
      this.#open.columns[end] = column;
      this.#open.values[end++] = value;
    }
    starts[++this.#openRows] = end;
    if (this.#openRows < BLOCK_ROWS) return;
    this.#blocks.push({ ...copyOf(this.#open, end, end), starts: starts.slice() });
    this.#openRows = 0;
  }

  /** Writes the row's values to `target`, which holds zeros. `positions` has the place of each column, -1 for one left out. */
  fill(row: number, positions: Int32Array, target: Float32Array): void {
    const { starts, columns, values } = this.#blocks[Math.floor(row / BLOCK_ROWS)] ?? this.#open;
    const at = row % BLOCK_ROWS;
    const end = starts[at + 1] as number;
    for (let n = starts[at] as number; n < end; n++) {
      const position = positions[columns[n] as number] ?? -1;
      if (position !== -1) target[position] = values[n] as number;
    }
  }
}

/** Returns the block with room for `length` values and the first `end` of them. */
function copyOf({ starts, columns, values }: Block, length: number, end: number): Block {
  const copy = { starts, columns: new Uint16Array(length), values: new Float32Array(length) };
  copy.columns.set(columns.subarray(0, end));
  copy.values.set(values.subarray(0, end));
  return copy;
}
