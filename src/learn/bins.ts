/** Choice: a bin number is one byte; finer bins gained nothing measurable on columns of this kind. */
const BINS_MAX = 255;
/** Choice: quantiles of this many rows differ from those of all by less than a bin. */
const SAMPLE_ROWS_MAX = 100_000;

/** Rows of which most values are 0. They are read one at a time, since all of them as a matrix would be the largest part of the memory. */
export interface RowValues {
  readonly count: number;
  readonly width: number;
  /** Writes the values of a row at the start of `target`, which holds zeros. All values are finite. */
  readonly fill: (row: number, target: Float32Array) => void;
}

/** Values of all columns as the numbers of their bins: bin b holds values up to `edges[b]`, the last one all above. */
export interface BinnedRows {
  readonly rows: number;
  /** By column, ascending. A column without edges has one value. */
  readonly edges: readonly Float32Array[];
  /** By column, `Uint8Array[rows]`; empty for a column without edges. */
  readonly bins: readonly Uint8Array[];
}

/** `edges` are those of the training rows for rows that are only scored; by default they are found in the rows themselves. */
export function binRows(rows: RowValues, edges: readonly Float32Array[] = findEdges(rows)): BinnedRows {
  const bins = edges.map((own) => new Uint8Array(own.length === 0 ? 0 : rows.count).fill(binOf(own, 0)));
  forEachValue(rows, 1, (row, column, value) => {
    const own = edges[column] as Float32Array;
    if (own.length > 0) (bins[column] as Uint8Array)[row] = binOf(own, value);
  });
  return { rows: rows.count, edges, bins };
}

/** Visits the values that are not 0 of every `step`-th row. */
function forEachValue(
  { count, width, fill }: RowValues,
  step: number,
  visit: (row: number, column: number, value: number) => void,
): void {
  const values = new Float32Array(width);
  for (let row = 0; row < count; row += step) {
    values.fill(0);
    fill(row, values);
    for (let column = 0; column < width; column++) {
      const value = values[column] as number;
      if (value !== 0) visit(row, column, value);
    }
  }
}

function findEdges(rows: RowValues): Float32Array[] {
  const step = Math.max(1, Math.ceil(rows.count / SAMPLE_ROWS_MAX));
  const ends = new Uint32Array(rows.width);
  forEachValue(rows, step, (_row, column) => (ends[column] as number)++);
  const samples = Array.from(ends, (count) => new Float32Array(count));
  forEachValue(rows, step, (_row, column, value) => {
    (samples[column] as Float32Array)[(ends[column] as number) - 1] = value;
    (ends[column] as number)--;
  });
  const sampled = Math.ceil(rows.count / step);
  return samples.map((sample) => edgesOf(sample.sort(), sampled - sample.length));
}

/** Midpoints between all values while there are few, else between quantiles. `zeros` is how many there are beside the `sorted` values. */
function edgesOf(sorted: Float32Array, zeros: number): Float32Array {
  const distinct: number[] = [];
  const counts: number[] = [];
  const add = (value: number, count: number): void => {
    if (value === distinct.at(-1)) counts[counts.length - 1] = (counts.at(-1) ?? 0) + count;
    else if (count > 0) {
      distinct.push(value);
      counts.push(count);
    }
  };
  const positive = sorted.findIndex((value) => value > 0);
  const zeroAt = positive === -1 ? sorted.length : positive;
  for (let at = 0; at < zeroAt; at++) add(sorted[at] as number, 1);
  add(0, zeros);
  for (let at = zeroAt; at < sorted.length; at++) add(sorted[at] as number, 1);
  const edges: number[] = [];
  const isFew = distinct.length <= BINS_MAX;
  const perBin = (sorted.length + zeros) / BINS_MAX;
  let seen = 0;
  let next = perBin;
  for (let at = 0; at + 1 < distinct.length && edges.length < BINS_MAX - 1; at++) {
    seen += counts[at] ?? 0;
    if (!isFew && seen < next) continue;
    edges.push(midpoint(distinct[at] ?? 0, distinct[at + 1] ?? 0));
    // A value with many rows fills its bin; the next one is at least half full.
    next = Math.max(next + perBin, seen + perBin / 2);
  }
  return Float32Array.from(edges);
}

/** A 32-bit number from `low` up to, and without, `high`. */
function midpoint(low: number, high: number): number {
  const middle = Math.fround(low / 2 + high / 2);
  return middle >= low && middle < high ? middle : low;
}

function binOf(edges: Float32Array, value: number): number {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value <= (edges[middle] as number)) high = middle;
    else low = middle + 1;
  }
  return low;
}
