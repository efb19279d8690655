import { Forest } from '../risk/forest.ts';
import type { ForestFile } from '../risk/forest.ts';
import { type JudgedRow, judgeRows, type LearningRow, splitRows } from './learning-rows.ts';
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
  /** Writes the row's values at `at` of `target`, which holds zeros. */
  readonly fill: (row: number, target: Float32Array, at: number) => void;
  readonly onTree?: (trees: number) => void;
}

export interface Candidate {
  readonly forest: ForestFile;
  readonly threshold: number;
  readonly rows: { readonly training: number; readonly stopping: number; readonly latest: number };
  /** On the latest rows: honest sessions, and those that only the model stops at the threshold. */
  readonly honestSessions: number;
  readonly addedSessions: number;
  /** Columns by gain, largest first, without those that no tree uses. */
  readonly gain: readonly (readonly [string, number])[];
  /** Test rows of the manifest. */
  readonly golden: readonly { readonly features: readonly number[]; readonly probability: number }[];
}

/** Choice: enough to recognise a wrong file. */
const GOLDEN_ROWS = 32;
const THRESHOLD = 0.5;

/** Trains a forest on the rows, and chooses its threshold on the latest of them. Throws a RangeError if a part lacks a kind of rows. */
export function makeCandidate(rows: readonly LearningRow[], options: CandidateOptions): Candidate {
  const { nowMs, prior, budget, unknownRate, columns, onTree } = options;
  const parts = splitRows(rows, judgeRows(rows, nowMs, unknownRate));
  const training = matrixOf(parts.training, options);
  const trained = trainForest(training, matrixOf(parts.stopping, options), TRAINING_DEFAULTS, onTree);
  const forest = atPrior(trained.forest, trained.prior, prior);
  const latest = matrixOf(parts.latest, options);
  const evaluator = new Forest(forest);
  const width = columns.length;
  const scores = parts.latest.map((_, at) => evaluator.probability(latest.values, at * width));
  const tops = honestTops(rows, parts.latest, scores);
  const threshold = budget === null ? THRESHOLD : thresholdOf(tops.added, Math.floor(budget * tops.sessions));
  return {
    forest,
    threshold,
    rows: { training: parts.training.length, stopping: parts.stopping.length, latest: parts.latest.length },
    honestSessions: tops.sessions,
    addedSessions: tops.added.filter((top) => top >= threshold).length,
    gain: columns
      .map((name, column) => [name, trained.gain[column] ?? 0] as const)
      .filter(([, gain]) => gain > 0)
      .sort((a, b) => b[1] - a[1]),
    golden: scores.slice(0, GOLDEN_ROWS).map((probability, at) => {
      return { features: [...latest.values.subarray(at * width, (at + 1) * width)], probability };
    }),
  };
}

/** Returns the number of honest sessions, and the highest probability of each that the rules let pass, largest first. */
function honestTops(
  rows: readonly LearningRow[],
  judged: readonly JudgedRow[],
  scores: readonly number[],
): { readonly sessions: number; readonly added: readonly number[] } {
  const sessions = new Map<string, { top: number; isHonest: boolean; isAllowed: boolean }>();
  for (const [at, { row, isFraud }] of judged.entries()) {
    const key = rows[row]?.session ?? `row ${row}`;
    const session = sessions.get(key) ?? { top: 0, isHonest: true, isAllowed: true };
    session.top = Math.max(session.top, scores[at] ?? 0);
    session.isHonest &&= !isFraud;
    session.isAllowed &&= rows[row]?.isAllowed === true;
    sessions.set(key, session);
  }
  const honest = [...sessions.values()].filter(({ isHonest }) => isHonest);
  const added = honest.filter(({ isAllowed }) => isAllowed).map(({ top }) => top);
  return { sessions: honest.length, added: added.sort((a, b) => b - a) };
}

/** Returns the lowest threshold that at most `most` of the probabilities, which are sorted, reach. */
function thresholdOf(sorted: readonly number[], most: number): number {
  const last = sorted[most];
  // Too few sessions to choose by.
  if (last === undefined) return THRESHOLD;
  // Between the last that may be stopped and the first that may not; equal ones pass together.
  const above = sorted.slice(0, most).findLast((top) => top > last) ?? 1;
  return last + (above - last) / 2;
}

function matrixOf(part: readonly JudgedRow[], { columns, fill }: CandidateOptions): TrainingRows {
  const width = columns.length;
  const values = new Float32Array(part.length * width);
  for (const [at, { row }] of part.entries()) fill(row, values, at * width);
  return {
    width,
    values,
    isFraud: Uint8Array.from(part, ({ isFraud }) => Number(isFraud)),
    weights: Float32Array.from(part, ({ weight }) => weight),
  };
}
