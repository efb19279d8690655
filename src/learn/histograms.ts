import type { BinnedRows } from './bins.ts';

/** Sums of each bin stand side by side: the gradient, the hessian, and the number of rows. */
export const SUMS = 3;

/**
 * Histograms of gradients over the bins of all columns. Most values are 0, so a row is a list of the bins in which it differs from the most
 * common one of the column, and the common bin is what the others leave of the node's total.
 */
export class Histograms {
  /** First bin of each column among all bins; one more element for the end. */
  readonly offsets: Int32Array;
  /** By column: the most common bin. */
  readonly common: Int32Array;
  readonly #starts: Uint32Array;
  readonly #entries: Uint32Array;
  readonly #free: Float64Array[] = [];

  constructor({ rows, edges, bins }: BinnedRows) {
    const columns = edges.length;
    this.offsets = new Int32Array(columns + 1);
    for (const [column, own] of edges.entries())
      this.offsets[column + 1] = (this.offsets[column] ?? 0) + own.length + 1;
    this.common = Int32Array.from(bins, (own, column) => mostCommon(own, (edges[column]?.length ?? 0) + 1));
    this.#starts = new Uint32Array(rows + 1);
    for (const [column, own] of bins.entries()) {
      const common = this.common[column];
      for (let row = 0; row < own.length; row++) if (own[row] !== common) (this.#starts[row + 1] as number)++;
    }
    for (let row = 0; row < rows; row++)
      this.#starts[row + 1] = (this.#starts[row + 1] ?? 0) + (this.#starts[row] ?? 0);
    this.#entries = new Uint32Array(this.#starts[rows] ?? 0);
    const next = this.#starts.slice();
    for (const [column, own] of bins.entries()) {
      const common = this.common[column];
      const offset = this.offsets[column] ?? 0;
      for (let row = 0; row < own.length; row++) {
        const bin = own[row] as number;
        if (bin === common) continue;
        const at = next[row] as number;
        this.#entries[at] = (offset + bin) * SUMS;
        next[row] = at + 1;
      }
    }
  }

  /** Returns the sums of the rows `ids[from…to - 1]`. The sums of common bins are 0. Give it back by `release`. */
  fill(ids: Int32Array, from: number, to: number, gradients: Float32Array, hessians: Float32Array): Float64Array {
    const sums = this.#free.pop() ?? new Float64Array((this.offsets.at(-1) ?? 0) * SUMS);
    sums.fill(0);
    const starts = this.#starts;
    const entries = this.#entries;
    for (let n = from; n < to; n++) {
      const row = ids[n] as number;
      const gradient = gradients[row] as number;
      const hessian = hessians[row] as number;
      const end = starts[row + 1] as number;
      for (let at = starts[row] as number; at < end; at++) {
        const entry = entries[at] as number;
        sums[entry] = (sums[entry] as number) + gradient;
        sums[entry + 1] = (sums[entry + 1] as number) + hessian;
        sums[entry + 2] = (sums[entry + 2] as number) + 1;
      }
    }
    return sums;
  }

  release(sums: Float64Array): void {
    this.#free.push(sums);
  }
}

function mostCommon(bins: Uint8Array, count: number): number {
  const rows = new Uint32Array(count);
  for (let row = 0; row < bins.length; row++) (rows[bins[row] as number] as number)++;
  let best = 0;
  for (let bin = 1; bin < count; bin++) if ((rows[bin] ?? 0) > (rows[best] ?? 0)) best = bin;
  return best;
}
