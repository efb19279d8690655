import { Forest } from '../risk/forest.ts';
import type { ForestFile } from '../risk/forest.ts';
import { type CandidateReport, candidateReport } from './candidate-report.ts';
import { type JudgedRow, judgeRows, type LearningRow, splitRows } from './learning-rows.ts';
import { type LeftOutRow, leftOutRows } from './left-out-sources.ts';
import { scoreSessions, THRESHOLD_DEFAULT, thresholdFor } from './session-scores.ts';
import { atPrior, trainForest, TRAINING_DEFAULTS, type TrainingRows } from './train-forest.ts';

export interface CandidateOptions {
  readonly nowMs: number;
  /** Share of fraud among the customer's decisions, between 0 and 1: the probabilities are at this prior. */
  readonly prior: number;
  /** Share of honest sessions that the model may stop beside those that the rules stop; null: the threshold is .5. */
  readonly budget: number | null;
  /** Share that is kept of the rows that do not say it, above 0 to 1. */
  readonly unknownRate: number;
  /** Names of the columns of `fill`, in its order. */
  readonly columns: readonly string[];
  /** Writes the row's values at the start of `target`, which holds zeros. */
  readonly fill: (row: number, target: Float32Array) => void;
  readonly onTree?: (trees: number) => void;
}

export interface Candidate {
  readonly forest: ForestFile;
  readonly threshold: number;
  readonly rows: { readonly training: number; readonly stopping: number; readonly latest: number };
  /** Among the rows after the training: honest sessions, and those that only the model stops at the threshold. */
  readonly honestSessions: number;
  readonly addedSessions: number;
  /** Columns by gain, largest first, without those that no tree uses. */
  readonly gain: readonly (readonly [string, number])[];
  /** Test rows of the manifest. */
  readonly golden: readonly { readonly features: readonly number[]; readonly probability: number }[];
  readonly report: CandidateReport;
  readonly leftOut: readonly LeftOutRow[];
}

/** Choice: enough to recognise a wrong file. */
const GOLDEN_ROWS = 32;
/** Choice: without a budget, sources of labels are compared at the one that the documentation recommends. */
const BUDGET_COMPARED = 0.002;

/**
 * Trains a forest on the rows, and chooses its threshold on those after the training. Throws a RangeError if a part lacks a kind of rows.
 * Choice: rows that stopped the training also choose the threshold, since they set nothing but the number of trees. Measured: in one of
 * three weeks, by the latest rows alone, a single unnoticed fraud moved the threshold to .56; by both it was .07.
 */
export function makeCandidate(rows: readonly LearningRow[], options: CandidateOptions): Candidate {
  const { nowMs, prior, budget, unknownRate, columns, onTree } = options;
  const parts = splitRows(rows, judgeRows(rows, nowMs, unknownRate));
  const trained = trainForest(
    trainingRows(parts.training, options),
    trainingRows(parts.stopping, options),
    TRAINING_DEFAULTS,
    onTree,
  );
  const file = atPrior(trained.forest, trained.prior, prior);
  const forest = new Forest(file);
  const valuesOf = rowReader(options);
  const scoresBy = (by: Forest, part: readonly JudgedRow[]): Float64Array =>
    Float64Array.from(part, ({ row }) => by.probability(valuesOf(row), 0));
  const later = [...parts.stopping, ...parts.latest];
  const laterScores = scoresBy(forest, later);
  const scores = laterScores.subarray(parts.stopping.length);
  const sessions = scoreSessions(rows, later, laterScores, unknownRate);
  const threshold = budget === null ? THRESHOLD_DEFAULT : thresholdFor(sessions, budget);
  const honest = sessions.filter(({ isFraud }) => !isFraud);
  const shared = { rows, parts, prior, unknownRate };
  return {
    forest: file,
    threshold,
    rows: { training: parts.training.length, stopping: parts.stopping.length, latest: parts.latest.length },
    honestSessions: honest.length,
    addedSessions: honest.filter(({ top, isStopped }) => !isStopped && top >= threshold).length,
    gain: columns
      .map((name, column) => [name, trained.gain[column] ?? 0] as const)
      .filter(([, gain]) => gain > 0)
      .sort((a, b) => b[1] - a[1]),
    golden: parts.latest.slice(0, GOLDEN_ROWS).map(({ row }, at) => {
      return { features: [...valuesOf(row)], probability: scores[at] ?? 0 };
    }),
    report: candidateReport({ ...shared, sessions, forest, threshold, columns, scores, valuesOf }),
    leftOut: leftOutRows({
      ...shared,
      budget: budget ?? BUDGET_COMPARED,
      rowsOf: (judged) => trainingRows(judged, options),
      scoresOf: (by) => scoresBy(by, parts.latest),
    }),
  };
}

/** Returns a function that reads the values of a row into an array that it uses again. */
function rowReader({ columns, fill }: CandidateOptions): (row: number) => Float32Array {
  const values = new Float32Array(columns.length);
  return (row) => {
    values.fill(0);
    fill(row, values);
    return values;
  };
}

function trainingRows(part: readonly JudgedRow[], { columns, fill }: CandidateOptions): TrainingRows {
  const numbers = Uint32Array.from(part, ({ row }) => row);
  return {
    count: part.length,
    width: columns.length,
    fill: (at, target) => fill(numbers[at] as number, target),
    isFraud: Uint8Array.from(part, ({ isFraud }) => Number(isFraud)),
    weights: Float32Array.from(part, ({ weight }) => weight),
  };
}
