import type { Forest } from '../risk/forest.ts';
import type { JudgedRow, LearningRow, SplitRows, TruthSource } from './learning-rows.ts';
import { TRUTH_SOURCES } from './learning-rows.ts';
import {
  type BudgetRow,
  budgetRows,
  knownSessions,
  operatingRow,
  type OperatingRow,
  type RocCurve,
  rocCurve,
  rowsBySource,
} from './operating-table.ts';
import { type ScoredSession, scoreSessions } from './session-scores.ts';

/** How often rows of one range of probabilities were fraud, both at the prior. */
export interface ReliabilityBin {
  readonly from: number;
  readonly to: number;
  readonly rows: number;
  readonly predicted: number;
  readonly observed: number;
}

/** An honest session that the rules let pass and the model finds likely fraud. */
export interface MovedSession {
  readonly requestId: string;
  readonly atMs: number;
  readonly eventType: string;
  readonly source: TruthSource;
  readonly probability: number;
  /** Columns with their share of the logit, largest first. */
  readonly reasons: readonly (readonly [string, number])[];
}

/** Honest sessions within 24 hours of a customer's first login, in all parts: the model knows many of them from training. */
export interface FirstDay {
  readonly honest: number;
  readonly rulesStop: number;
  /** Stopped by the model alone, if it were not silent. */
  readonly modelStops: number;
}

export interface LabelCount {
  readonly source: TruthSource;
  readonly fraudRows: number;
  readonly honestRows: number;
  readonly weight: number;
}

/** How rules and model do on the latest rows, which had no part in the training. */
export interface CandidateReport {
  readonly labels: readonly LabelCount[];
  readonly roc: RocCurve;
  readonly all: OperatingRow;
  readonly byEventType: readonly OperatingRow[];
  readonly bySource: readonly OperatingRow[];
  readonly budgets: readonly BudgetRow[];
  readonly reliability: readonly ReliabilityBin[];
  readonly firstDay: FirstDay;
  readonly moved: readonly MovedSession[];
}

export interface ReportParts {
  readonly rows: readonly LearningRow[];
  readonly parts: SplitRows;
  readonly forest: Forest;
  readonly threshold: number;
  readonly prior: number;
  readonly unknownRate: number;
  readonly columns: readonly string[];
  /** Those that chose the threshold: of all rows after the training. */
  readonly sessions: readonly ScoredSession[];
  /** Probabilities of the latest rows. */
  readonly scores: Float64Array;
  /** Returns the values of a row; the array is used again. */
  readonly valuesOf: (row: number) => Float32Array;
}

const MOVED_MAX = 20;
const REASONS_MAX = 3;
const EDGES = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 1] as const;
const AGE_COLUMN = 'customer:age_hours';
const FIRST_DAY_HOURS = 24;

export function candidateReport(given: ReportParts): CandidateReport {
  const { rows, parts, threshold, scores, unknownRate } = given;
  const sessions = scoreSessions(rows, parts.latest, scores, unknownRate);
  return {
    labels: labelCounts([...parts.training, ...parts.stopping, ...parts.latest]),
    roc: rocCurve(sessions),
    all: operatingRow('all', knownSessions(sessions), threshold),
    byEventType: rowsByEventType(given),
    bySource: rowsBySource(sessions, threshold),
    budgets: budgetRows(given.sessions),
    reliability: reliabilityBins(given),
    firstDay: firstDayOf(given),
    moved: movedSessions(given, sessions),
  };
}

function labelCounts(judged: readonly JudgedRow[]): readonly LabelCount[] {
  return TRUTH_SOURCES.flatMap((source) => {
    const own = judged.filter((one) => one.source === source);
    if (own.length === 0) return [];
    const fraudRows = own.filter(({ isFraud }) => isFraud).length;
    const weight = own.reduce((sum, one) => sum + one.weight, 0);
    return [{ source, fraudRows, honestRows: own.length - fraudRows, weight: Math.round(weight * 10) / 10 }];
  });
}

/** Only the rows of one event type count for its line. */
function rowsByEventType({ rows, parts, scores, unknownRate, threshold }: ReportParts): readonly OperatingRow[] {
  const byType = new Map<string, { judged: JudgedRow[]; scores: number[] }>();
  for (const [at, one] of parts.latest.entries()) {
    const name = rows[one.row]?.eventType ?? '';
    const own = byType.get(name) ?? { judged: [], scores: [] };
    own.judged.push(one);
    own.scores.push(scores[at] ?? 0);
    byType.set(name, own);
  }
  return [...byType]
    .sort((a, b) => b[1].judged.length - a[1].judged.length)
    .map(([name, own]) =>
      operatingRow(name, knownSessions(scoreSessions(rows, own.judged, own.scores, unknownRate)), threshold),
    );
}

function reliabilityBins({ parts, scores, prior }: ReportParts): readonly ReliabilityBin[] {
  let [fraud, honest] = [0, 0];
  for (const { isFraud, weight } of parts.latest) {
    if (isFraud) fraud += weight;
    else honest += weight;
  }
  // The rows have another share of fraud than the customer's decisions.
  const byClass = [honest === 0 ? 0 : (1 - prior) / honest, fraud === 0 ? 0 : prior / fraud] as const;
  return EDGES.slice(0, -1).flatMap((from, bin) => {
    const to = EDGES[bin + 1] ?? 1;
    const sums = { rows: 0, weight: 0, predicted: 0, observed: 0 };
    for (const [at, one] of parts.latest.entries()) {
      const score = scores[at] ?? 0;
      if (score < from || (score >= to && to < 1)) continue;
      const weight = one.weight * byClass[one.isFraud ? 1 : 0];
      sums.rows++;
      sums.weight += weight;
      sums.predicted += weight * score;
      if (one.isFraud) sums.observed += weight;
    }
    if (sums.weight === 0) return [];
    const { rows, weight, predicted, observed } = sums;
    return [{ from, to, rows, predicted: rounded(predicted / weight), observed: rounded(observed / weight) }];
  });
}

function firstDayOf({ rows, parts, forest, threshold, columns, unknownRate, valuesOf }: ReportParts): FirstDay {
  const age = columns.indexOf(AGE_COLUMN);
  const judged: JudgedRow[] = [];
  const scores: number[] = [];
  for (const one of age === -1 ? [] : [...parts.training, ...parts.stopping, ...parts.latest]) {
    const values = valuesOf(one.row);
    const hours = values[age] ?? 0;
    // 0 is also what a row of an older set has.
    if (!(hours > 0 && hours < FIRST_DAY_HOURS)) continue;
    judged.push(one);
    scores.push(forest.probability(values, 0));
  }
  const honest = scoreSessions(rows, judged, scores, unknownRate).filter(({ isFraud }) => !isFraud);
  return {
    honest: honest.length,
    rulesStop: honest.filter(({ isStopped }) => isStopped).length,
    modelStops: honest.filter(({ isStopped, top }) => !isStopped && top >= threshold).length,
  };
}

function movedSessions(
  { rows, forest, columns, valuesOf }: ReportParts,
  sessions: readonly ScoredSession[],
): readonly MovedSession[] {
  return sessions
    .filter(({ isFraud, isStopped }) => !isFraud && !isStopped)
    .sort((a, b) => b.top - a.top)
    .slice(0, MOVED_MAX)
    .flatMap(({ top, topRow, source }) => {
      const row = rows[topRow];
      if (row === undefined) return [];
      const { requestId, atMs, eventType } = row;
      const reasons = forest
        .shares(valuesOf(topRow), 0)
        .slice(0, REASONS_MAX)
        .map(({ column, share }) => [columns[column] ?? '', rounded(share)] as const);
      return [{ requestId, atMs, eventType, source, probability: rounded(top), reasons }];
    });
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
