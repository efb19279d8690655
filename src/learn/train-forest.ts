import { FOREST_FORMAT, type ForestFile } from '../risk/forest.ts';
import { type BinnedRows, binRows, type RowValues } from './bins.ts';
import { type GrownNode, type TreeOptions, TreeGrower } from './grow-tree.ts';
import { Histograms } from './histograms.ts';

/** Rows to learn from. The arrays have one element a row. */
export interface TrainingRows extends RowValues {
  /** 1 for fraud, 0 for honest. */
  readonly isFraud: Uint8Array;
  /** Above 0. */
  readonly weights: Float32Array;
}

export interface TrainingOptions extends TreeOptions {
  readonly treesMax: number;
  readonly rate: number;
  /** Trees without a better result on the rows that stop the training, after which it ends. */
  readonly patience: number;
}

/** Choice: usual values; the depth keeps a forest within the bound of its format. */
export const TRAINING_DEFAULTS: TrainingOptions = {
  treesMax: 300,
  rate: 0.08,
  patience: 25,
  leavesMax: 31,
  depthMax: 24,
  leafRowsMin: 40,
  l2: 1,
};

export interface TrainedForest {
  /** Its probabilities are at the share of fraud, by weight, in the training rows; `scale` is 1 and `shift` 0. */
  readonly forest: ForestFile;
  /** By column: sum of the gains of its splits. */
  readonly gain: Float64Array;
  /** Mean loss of the rows that stopped the training. */
  readonly loss: number;
  /** Share of fraud by weight, 0 to 1. */
  readonly prior: number;
}

/** A loss must fall by this to count as better. */
const LOSS_STEP = 1e-7;

/**
 * Trains a forest by histogram gradient boosting of the logistic loss. `stopping` are later rows: the forest keeps as many trees as are
 * best on them. The same rows give the same forest: nothing is drawn at random. Throws a RangeError without both kinds of rows.
 *
 * @param onTree called after each tree with their number and the loss of the stopping rows
 */
export function trainForest(
  rows: TrainingRows,
  stopping: TrainingRows,
  options: TrainingOptions = TRAINING_DEFAULTS,
  onTree: (trees: number, loss: number) => void = () => {},
): TrainedForest {
  const prior = fraudShare(rows);
  if (!(prior > 0 && prior < 1)) throw new RangeError('training needs fraud and honest rows');
  const base = Math.fround(logitOf(prior));
  const binned = binRows(rows);
  const grower = new TreeGrower(binned, new Histograms(binned), options);
  const later = new LaterRows(stopping, binned.edges, base);
  const logits = new Float64Array(binned.rows).fill(base);
  const gradients = new Float32Array(binned.rows);
  const hessians = new Float32Array(binned.rows);
  const gainOf: Float64Array[] = [];
  const trees: GrownNode[] = [];
  let best = { trees: 0, loss: Infinity };
  while (trees.length < options.treesMax) {
    derive(rows, logits, gradients, hessians);
    const { root, leaves } = grower.grow(gradients, hessians);
    if (root.split === null) break;
    for (const { from, to, step } of leaves)
      for (let at = from; at < to; at++) {
        const row = grower.ids[at] as number;
        logits[row] = (logits[row] as number) + options.rate * step;
      }
    trees.push(root);
    gainOf.push(gainsOf(root, rows.width));
    const loss = later.add(root, options.rate);
    onTree(trees.length, loss);
    if (loss < best.loss - LOSS_STEP) best = { trees: trees.length, loss };
    else if (trees.length - best.trees >= options.patience) break;
  }
  if (best.trees === 0) throw new RangeError('no column tells fraud from honest rows');
  const forest = toForestFile(trees.slice(0, best.trees), base, options.rate, binned.edges);
  const gain = new Float64Array(rows.width);
  for (const own of gainOf.slice(0, best.trees))
    for (const [column, one] of own.entries()) (gain[column] as number) += one;
  return { forest, gain, loss: best.loss, prior };
}

/** Moves the forest's probabilities from one share of fraud to another. */
export function atPrior(forest: ForestFile, from: number, to: number): ForestFile {
  return { ...forest, shift: forest.shift + logitOf(to) - logitOf(from) };
}

function logitOf(share: number): number {
  return Math.log(share / (1 - share));
}

function fraudShare({ isFraud, weights }: TrainingRows): number {
  let fraud = 0;
  let all = 0;
  for (const [row, weight] of weights.entries()) {
    all += weight;
    if (isFraud[row] === 1) fraud += weight;
  }
  return fraud / all;
}

function derive(
  { isFraud, weights }: TrainingRows,
  logits: Float64Array,
  gradients: Float32Array,
  hessians: Float32Array,
): void {
  for (let row = 0; row < logits.length; row++) {
    const p = 1 / (1 + Math.exp(-(logits[row] as number)));
    const weight = weights[row] as number;
    gradients[row] = weight * (p - (isFraud[row] as number));
    hessians[row] = weight * p * (1 - p);
  }
}

function gainsOf(root: GrownNode, width: number): Float64Array {
  const gains = new Float64Array(width);
  const visit = ({ split, left, right }: GrownNode): void => {
    if (split === null || left === null || right === null) return;
    (gains[split.column] as number) += split.gain;
    visit(left);
    visit(right);
  };
  visit(root);
  return gains;
}

/** Rows that only measure the loss. */
class LaterRows {
  readonly #rows: TrainingRows;
  readonly #binned: BinnedRows;
  readonly #logits: Float64Array;

  constructor(rows: TrainingRows, edges: readonly Float32Array[], base: number) {
    this.#rows = rows;
    this.#binned = binRows(rows, edges);
    this.#logits = new Float64Array(this.#binned.rows).fill(base);
  }

  /** Adds a tree, and returns the weighted mean of the loss. */
  add(root: GrownNode, rate: number): number {
    const { bins } = this.#binned;
    const { isFraud, weights } = this.#rows;
    let sum = 0;
    let all = 0;
    for (let row = 0; row < this.#logits.length; row++) {
      let node = root;
      while (node.split !== null) {
        const bin = (bins[node.split.column] as Uint8Array)[row] as number;
        node = (bin <= node.split.bin ? node.left : node.right) as GrownNode;
      }
      const logit = (this.#logits[row] as number) + rate * node.step;
      this.#logits[row] = logit;
      const weight = weights[row] as number;
      const towards = isFraud[row] === 1 ? logit : 0;
      sum += weight * (Math.max(logit, 0) - towards + Math.log1p(Math.exp(-Math.abs(logit))));
      all += weight;
    }
    return sum / all;
  }
}

function toForestFile(
  trees: readonly GrownNode[],
  base: number,
  rate: number,
  edges: readonly Float32Array[],
): ForestFile {
  const starts: number[] = [];
  const column: number[] = [];
  const threshold: number[] = [];
  const left: number[] = [];
  const right: number[] = [];
  const value: number[] = [];
  /** Returns the node's number. */
  const write = (node: GrownNode): number => {
    const at = column.push(node.split?.column ?? -1) - 1;
    threshold.push(node.split === null ? 0 : (edges[node.split.column]?.[node.split.bin] ?? 0));
    left.push(0);
    right.push(0);
    // Rounded as the graph of ONNX holds it.
    value.push(Math.fround(rate * node.step));
    if (node.left === null || node.right === null) return at;
    const first = write(node.left);
    const second = write(node.right);
    left[at] = first;
    right[at] = second;
    const share = (node.left.to - node.left.from) / (node.to - node.from);
    value[at] = share * (value[first] ?? 0) + (1 - share) * (value[second] ?? 0);
    return at;
  };
  for (const tree of trees) starts.push(write(tree));
  return { format: FOREST_FORMAT, base, scale: 1, shift: 0, starts, column, threshold, left, right, value };
}
