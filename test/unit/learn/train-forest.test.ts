import { beforeAll, describe, expect, it } from 'vitest';
import type { RowValues } from '../../../src/learn/bins.ts';
import { toOnnx } from '../../../src/learn/forest-onnx.ts';
import {
  atPrior,
  type TrainedForest,
  trainForest,
  TRAINING_DEFAULTS,
  type TrainingRows,
} from '../../../src/learn/train-forest.ts';
import { type ForestFile, parseForest } from '../../../src/risk/forest.ts';
import { loadRuntime } from '../../../src/score/model-session.ts';

const WIDTH = 12;

/** Rows as feature rows are: mostly 0, flags, counts and shares; the columns from 6 on mean nothing. */
interface Generated extends TrainingRows {
  /** `Float32Array[rows × WIDTH]`. */
  readonly values: Float32Array;
  /** What no model can beat. */
  readonly truth: Float64Array;
}

function generate(rows: number, seed: number): Generated {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const values = new Float32Array(rows * WIDTH);
  const isFraud = new Uint8Array(rows);
  const truth = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    const at = row * WIDTH;
    for (let column = 0; column < WIDTH; column++) {
      const kind = column % 3;
      if (random() < 0.6) continue;
      values[at + column] = kind === 0 ? 1 : kind === 1 ? Math.floor(random() * 8) : random();
    }
    const [flag = 0, count = 0, share = 0, other = 0, counted = 0] = values.subarray(at, at + WIDTH);
    const logit =
      -2 + 2.5 * flag + (count > 3 ? 1.5 : 0) - (share > 0.5 ? 1 : 0) + (other === 1 && counted > 2 ? 2 : 0);
    truth[row] = 1 / (1 + Math.exp(-logit));
    isFraud[row] = random() < (truth[row] ?? 0) ? 1 : 0;
  }
  return { ...rowsOf(values), values, isFraud, weights: new Float32Array(rows).fill(1), truth };
}

function rowsOf(values: Float32Array): RowValues {
  const fill = (row: number, target: Float32Array): void => target.set(values.subarray(row * WIDTH, (row + 1) * WIDTH));
  return { count: values.length / WIDTH, width: WIDTH, fill };
}

function scoresOf(forest: ForestFile, values: Float32Array): Float64Array {
  const parsed = parseForest(JSON.stringify(forest), WIDTH);
  if (parsed.kind === 'fault') throw new Error(parsed.detail);
  return Float64Array.from({ length: values.length / WIDTH }, (_, row) =>
    parsed.forest.probability(values, row * WIDTH),
  );
}

/** Area under the ROC curve: the share of pairs in the right order, half of the equal ones. */
function auc(scores: Float64Array, isFraud: Uint8Array): number {
  const order = [...scores.keys()].sort((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  let ranks = 0;
  let frauds = 0;
  for (let from = 0; from < order.length;) {
    let to = from;
    while (to < order.length && scores[order[to] ?? 0] === scores[order[from] ?? 0]) to++;
    const rank = (from + to + 1) / 2;
    for (const row of order.slice(from, to)) {
      if (isFraud[row] !== 1) continue;
      ranks += rank;
      frauds++;
    }
    from = to;
  }
  return (ranks - (frauds * (frauds + 1)) / 2) / (frauds * (order.length - frauds));
}

/** Returns the next 32-bit number above one from 0. */
function nextAbove(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer);
  return new Float32Array(Uint32Array.of((bits[0] ?? 0) + 1).buffer)[0] ?? 0;
}

const training = generate(40_000, 1);
const stopping = generate(10_000, 2);
const test = generate(40_000, 3);
let trained: TrainedForest;
beforeAll(() => {
  trained = trainForest(training, stopping);
});

describe('trainForest', () => {
  it('The AUC on other rows is within .002 of the optimum', () => {
    const optimum = auc(test.truth, test.isFraud);
    expect(optimum).toBeGreaterThan(0.75);
    expect(optimum - auc(scoresOf(trained.forest, test.values), test.isFraud)).toBeLessThan(0.002);
  });

  it('Columns that decide have gained the most', () => {
    const order = [...trained.gain.keys()].sort((a, b) => (trained.gain[b] ?? 0) - (trained.gain[a] ?? 0));
    expect(new Set(order.slice(0, 5))).toEqual(new Set([0, 1, 2, 3, 4]));
  });

  it('The mean probability is the share of fraud, at the prior of training and at another', () => {
    const mean = (forest: ForestFile): number => scoresOf(forest, test.values).reduce((sum, p) => sum + p, 0) / 40_000;
    expect(mean(trained.forest)).toBeCloseTo(trained.prior, 2);
    const odds = (p: number): number => p / (1 - p);
    const [at = 0] = scoresOf(trained.forest, test.values);
    const [moved = 0] = scoresOf(atPrior(trained.forest, trained.prior, 0.01), test.values);
    expect(odds(moved) / odds(at)).toBeCloseTo(odds(0.01) / odds(trained.prior), 6);
  });

  it('The same rows give the same forest', () => {
    const few = { ...TRAINING_DEFAULTS, treesMax: 5 };
    expect(trainForest(training, stopping, few).forest).toEqual(trainForest(training, stopping, few).forest);
  });

  it('A row of weight 3 counts as three rows', () => {
    const small = generate(2_000, 4);
    const options = { ...TRAINING_DEFAULTS, treesMax: 1, leavesMax: 2, leafRowsMin: 1 };
    const weights = Float32Array.from(small.isFraud, (fraud) => (fraud === 1 ? 3 : 1));
    const heavy = trainForest({ ...small, weights }, stopping, options);
    const frauds = small.isFraud.reduce((sum, one) => sum + one, 0);
    expect(heavy.prior).toBeCloseTo((3 * frauds) / (2_000 + 2 * frauds), 6);
  });

  it('Rows without fraud, and rows whose columns say nothing, are refused', () => {
    const honest = { ...training, isFraud: new Uint8Array(40_000) };
    expect(() => trainForest(honest, stopping)).toThrow('fraud and honest');
    const empty = { ...training, ...rowsOf(new Float32Array(40_000 * WIDTH)) };
    expect(() => trainForest(empty, stopping)).toThrow('no column');
  });
});

describe.skipIf(loadRuntime() === null)('toOnnx', () => {
  it('The graph returns what the forest does, to 1e-6 on 10,000 rows', async () => {
    const runtime = loadRuntime();
    if (runtime === null) return;
    const forest = atPrior(trained.forest, trained.prior, 0.01);
    const session = await runtime.InferenceSession.create(toOnnx(forest, WIDTH), { executionProviders: ['cpu'] });
    // Half of the rows lie on a threshold of the forest, or one 32-bit number above it.
    const inner = [...forest.column.keys()].filter((node) => forest.column[node] !== -1);
    const values = stopping.values.slice();
    for (let row = 0; row < 5_000; row++) {
      const node = inner[(row >> 1) % inner.length] ?? 0;
      const threshold = forest.threshold[node] ?? 0;
      values[row * WIDTH + (forest.column[node] ?? 0)] = row % 2 === 0 ? threshold : nextAbove(threshold);
    }
    const tensor = new runtime.Tensor('float32', values, [10_000, WIDTH]);
    const answer = (await session.run({ features: tensor }, ['probability']))['probability'];
    expect(answer?.dims).toEqual([10_000, 1]);
    const got = answer?.data as Float32Array;
    let largest = 0;
    for (const [row, p] of scoresOf(forest, values).entries())
      largest = Math.max(largest, Math.abs(p - (got[row] ?? NaN)));
    expect(largest).toBeLessThan(1e-6);
    await session.release();
  });
});
