import { Forest } from '../risk/forest.ts';
import type { JudgedRow, LearningRow, SplitRows, TruthSource } from './learning-rows.ts';
import { TRUTH_SOURCES } from './learning-rows.ts';
import { scoreSessions, shareOfSessions, thresholdFor } from './session-scores.ts';
import { atPrior, trainForest, TRAINING_DEFAULTS, type TrainingRows } from './train-forest.ts';

/** What a model finds of frauds whose source of labels was not in its training, at the same budget. Shares are 0 to 1. */
export interface LeftOutRow {
  readonly source: TruthSource;
  readonly frauds: number;
  readonly rulesCatch: number | null;
  readonly withCatch: number | null;
  readonly withoutCatch: number | null;
}

export interface LeftOutParts {
  readonly rows: readonly LearningRow[];
  readonly parts: SplitRows;
  readonly prior: number;
  readonly unknownRate: number;
  /** Share of honest sessions that the model alone may stop. */
  readonly budget: number;
  readonly rowsOf: (judged: readonly JudgedRow[]) => TrainingRows;
  /** Scores of the latest rows by a forest. */
  readonly scoresOf: (forest: Forest) => Float64Array;
}

/** Choice: fewer frauds say nothing of a source. */
const FRAUDS_MIN = 10;
/** Choice: these forests are only compared, so a tenth of the rows and a third of the trees are enough. */
const ROWS_MAX = 30_000;
const TREES_MAX = 100;

/** Trains a small forest with all sources, and one without the frauds of each. A source that alone has frauds cannot be left out. */
export function leftOutRows(given: LeftOutParts): readonly LeftOutRow[] {
  const { rows, parts, unknownRate } = given;
  const sessionsBy = (scores: ArrayLike<number>) => scoreSessions(rows, parts.latest, scores, unknownRate);
  const bySource = (source: TruthSource, scores: ArrayLike<number>) =>
    sessionsBy(scores).filter((one) => one.isFraud && one.source === source);
  const none = new Float64Array(parts.latest.length);
  const sources = TRUTH_SOURCES.filter(
    (source) =>
      bySource(source, none).length >= FRAUDS_MIN &&
      parts.training.filter((one) => one.isFraud && one.source === source).length >= FRAUDS_MIN,
  );
  if (sources.length < 2) return [];
  const withAll = scoresWithout(given, null);
  return sources.flatMap((source) => {
    const without = scoresWithout(given, source);
    if (withAll === null || without === null) return [];
    const catchBy = (scores: Float64Array): number | null => {
      const threshold = thresholdFor(sessionsBy(scores), given.budget);
      return shareOfSessions(bySource(source, scores), ({ top }) => top >= threshold);
    };
    const own = bySource(source, withAll);
    return [
      {
        source,
        frauds: own.length,
        rulesCatch: shareOfSessions(own, ({ isStopped }) => isStopped),
        withCatch: catchBy(withAll),
        withoutCatch: catchBy(without),
      },
    ];
  });
}

function scoresWithout(
  { parts, prior, rowsOf, scoresOf }: LeftOutParts,
  source: TruthSource | null,
): Float64Array | null {
  const keeps = (one: JudgedRow): boolean => source === null || !one.isFraud || one.source !== source;
  try {
    const options = { ...TRAINING_DEFAULTS, treesMax: TREES_MAX };
    const training = rowsOf(thinned(parts.training.filter(keeps)));
    const trained = trainForest(training, rowsOf(thinned(parts.stopping.filter(keeps))), options);
    return scoresOf(new Forest(atPrior(trained.forest, trained.prior, prior)));
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Keeps all frauds and every n-th honest row, which then counts n times. */
function thinned(judged: readonly JudgedRow[]): readonly JudgedRow[] {
  const every = Math.max(1, Math.ceil(judged.length / ROWS_MAX));
  let honest = 0;
  return judged.flatMap((one) => {
    if (one.isFraud) return [one];
    return honest++ % every === 0 ? [{ ...one, weight: one.weight * every }] : [];
  });
}
