/** Choice: a bin number is one byte; finer bins gained nothing measurable on columns of this kind. */
const BINS_MAX = 255;
/** Choice: quantiles of this many rows differ from those of all by less than a bin. */
const SAMPLE_ROWS_MAX = 100_000;

/** Values of all columns as the numbers of their bins: bin b holds values up to `edges[b]`, the last one all above. */
export interface BinnedRows {
  readonly rows: number;
  /** By column, ascending. A column without edges has one value. */
  readonly edges: readonly Float32Array[];
  /** By column, `Uint8Array[rows]`. */
  readonly bins: readonly Uint8Array[];
}

/**
 * Bins `values`, `Float32Array[rows × width]`, all finite. `edges` are those of the training rows for rows that are only scored; by default
 * they are found in the rows themselves.
 */
export function binRows(values: Float32Array, width: number, edges = findEdges(values, width)): BinnedRows {
  const rows = values.length / width;
  const bins = edges.map(() => new Uint8Array(rows));
  for (let column = 0; column < width; column++) {
    const own = edges[column] as Float32Array;
    const target = bins[column] as Uint8Array;
    if (own.length === 0) continue;
    for (let row = 0, at = column; row < rows; row++, at += width) target[row] = binOf(own, values[at] as number);
  }
  return { rows, edges, bins };
}

function findEdges(values: Float32Array, width: number): Float32Array[] {
  const rows = values.length / width;
  const step = Math.max(1, Math.ceil(rows / SAMPLE_ROWS_MAX));
  return Array.from({ length: width }, (_, column) => {
    const sample = new Float32Array(Math.ceil(rows / step));
    for (let row = 0, n = 0; row < rows; row += step) sample[n++] = values[row * width + column] as number;
    return edgesOf(sample.sort());
  });
}

/** Midpoints between all values while there are few, else between quantiles. */
function edgesOf(sorted: Float32Array): Float32Array {
  const distinct: number[] = [];
  const counts: number[] = [];
  for (const value of sorted) {
    if (value === distinct.at(-1)) counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
    else {
      distinct.push(value);
      counts.push(1);
    }
  }
  const edges: number[] = [];
  const isFew = distinct.length <= BINS_MAX;
  const perBin = sorted.length / BINS_MAX;
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
