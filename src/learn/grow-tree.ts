import type { BinnedRows } from './bins.ts';
import { type Histograms, SUMS } from './histograms.ts';

export interface TreeOptions {
  readonly leavesMax: number;
  readonly depthMax: number;
  /** Rows of a leaf. */
  readonly leafRowsMin: number;
  /** Added to a leaf's hessian, so that leaves of few rows stay small. */
  readonly l2: number;
}

/** A node of a grown tree; a leaf has no split. `step` is its Newton step, before the learning rate. */
export interface GrownNode {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  split: { readonly column: number; readonly bin: number; readonly gain: number } | null;
  left: GrownNode | null;
  right: GrownNode | null;
}

interface NodeSums {
  readonly gradient: number;
  readonly hessian: number;
  readonly rows: number;
}

interface Candidate {
  readonly column: number;
  readonly bin: number;
  readonly gain: number;
  readonly left: NodeSums;
}

interface OpenNode {
  readonly node: GrownNode;
  readonly depth: number;
  readonly sums: NodeSums;
  readonly histogram: Float64Array;
  readonly best: Candidate | null;
}

const HESSIAN_MIN = 1e-3;
const GAIN_MIN = 1e-6;

/** Grows trees leaf by leaf, each time at the split of the largest gain. */
export class TreeGrower {
  /** Rows in the order of the last tree's leaves: `from` and `to` of a node are positions here. */
  readonly ids: Int32Array;
  readonly #binned: BinnedRows;
  readonly #histograms: Histograms;
  readonly #options: TreeOptions;
  readonly #spare: Int32Array;

  constructor(binned: BinnedRows, histograms: Histograms, options: TreeOptions) {
    this.#binned = binned;
    this.#histograms = histograms;
    this.#options = options;
    this.ids = new Int32Array(binned.rows);
    this.#spare = new Int32Array(binned.rows);
  }

  /** Returns the root and the leaves. */
  grow(gradients: Float32Array, hessians: Float32Array): { root: GrownNode; leaves: readonly GrownNode[] } {
    let gradient = 0;
    let hessian = 0;
    const { rows } = this.#binned;
    for (let row = 0; row < rows; row++) {
      this.ids[row] = row;
      gradient += gradients[row] as number;
      hessian += hessians[row] as number;
    }
    const fill = (from: number, to: number): Float64Array =>
      this.#histograms.fill(this.ids, from, to, gradients, hessians);
    const first = this.#open(0, rows, 1, { gradient, hessian, rows }, fill(0, rows));
    const open = [first];
    while (open.length < this.#options.leavesMax) {
      let top = -1;
      for (const [at, { best }] of open.entries())
        if (best !== null && best.gain > (open[top]?.best?.gain ?? 0)) top = at;
      const parent = open[top];
      if (parent === undefined) break;
      open.splice(top, 1, ...this.#divide(parent, fill));
    }
    for (const { histogram } of open) this.#histograms.release(histogram);
    return { root: first.node, leaves: open.map(({ node }) => node) };
  }

  #open(from: number, to: number, depth: number, sums: NodeSums, histogram: Float64Array): OpenNode {
    const step = -sums.gradient / (sums.hessian + this.#options.l2);
    const node: GrownNode = { from, to, step, split: null, left: null, right: null };
    const best = depth < this.#options.depthMax ? this.#findSplit(histogram, sums) : null;
    return { node, depth, sums, histogram, best };
  }

  #divide(
    { node, depth, sums, histogram, best }: OpenNode,
    fill: (from: number, to: number) => Float64Array,
  ): OpenNode[] {
    if (best === null) throw new Error('the node has no split');
    const middle = this.#partition(node, best);
    const { left } = best;
    const right = {
      gradient: sums.gradient - left.gradient,
      hessian: sums.hessian - left.hessian,
      rows: sums.rows - left.rows,
    };
    const isLeftSmall = left.rows <= right.rows;
    // The larger child's sums are what the smaller one leaves of the parent's.
    const small = isLeftSmall ? fill(node.from, middle) : fill(middle, node.to);
    const large = histogram;
    for (let at = 0; at < large.length; at++) large[at] = (large[at] as number) - (small[at] as number);
    const ofLeft = this.#open(node.from, middle, depth + 1, left, isLeftSmall ? small : large);
    const ofRight = this.#open(middle, node.to, depth + 1, right, isLeftSmall ? large : small);
    node.split = { column: best.column, bin: best.bin, gain: best.gain };
    node.left = ofLeft.node;
    node.right = ofRight.node;
    return [ofLeft, ofRight];
  }

  /** Moves the rows of the left child before the others, in their order; returns where the others begin. */
  #partition({ from, to }: GrownNode, { column, bin }: Candidate): number {
    const bins = this.#binned.bins[column] as Uint8Array;
    const { ids } = this;
    let left = from;
    let others = 0;
    for (let at = from; at < to; at++) {
      const row = ids[at] as number;
      if ((bins[row] as number) <= bin) ids[left++] = row;
      else this.#spare[others++] = row;
    }
    ids.set(this.#spare.subarray(0, others), left);
    return left;
  }

  #findSplit(histogram: Float64Array, sums: NodeSums): Candidate | null {
    let best: Candidate | null = null;
    const columns = this.#binned.edges.length;
    for (let column = 0; column < columns; column++) {
      const found = this.#splitColumn(column, histogram, sums, best?.gain ?? GAIN_MIN);
      if (found !== null) best = found;
    }
    return best;
  }

  /** Returns the column's best split if it gains more than `gainMin`. */
  #splitColumn(column: number, histogram: Float64Array, sums: NodeSums, gainMin: number): Candidate | null {
    const offset = this.#histograms.offsets[column] as number;
    const bins = (this.#histograms.offsets[column + 1] as number) - offset;
    const common = this.#histograms.common[column] as number;
    let { gradient: commonGradient, hessian: commonHessian, rows: commonRows } = sums;
    for (let bin = 0, at = offset * SUMS; bin < bins; bin++, at += SUMS) {
      if (bin === common || histogram[at + 2] === 0) continue;
      commonGradient -= histogram[at] as number;
      commonHessian -= histogram[at + 1] as number;
      commonRows -= histogram[at + 2] as number;
    }
    if (commonRows === sums.rows) return null;
    const { leafRowsMin, l2 } = this.#options;
    const own = (sums.gradient * sums.gradient) / (sums.hessian + l2);
    let found: Candidate | null = null;
    let gainTop = gainMin;
    let gradient = 0;
    let hessian = 0;
    let rows = 0;
    for (let bin = 0, at = offset * SUMS; bin < bins - 1; bin++, at += SUMS) {
      const isCommon = bin === common;
      gradient += isCommon ? commonGradient : (histogram[at] as number);
      hessian += isCommon ? commonHessian : (histogram[at + 1] as number);
      rows += isCommon ? commonRows : (histogram[at + 2] as number);
      if (rows < leafRowsMin) continue;
      if (sums.rows - rows < leafRowsMin) break;
      const rest = sums.hessian - hessian;
      if (hessian < HESSIAN_MIN || rest < HESSIAN_MIN) continue;
      const other = sums.gradient - gradient;
      const gain = (gradient * gradient) / (hessian + l2) + (other * other) / (rest + l2) - own;
      if (gain <= gainTop) continue;
      gainTop = gain;
      found = { column, bin, gain, left: { gradient, hessian, rows } };
    }
    return found;
  }
}
