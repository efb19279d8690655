import { TRUTH_SOURCES } from './learning-rows.ts';
import { type ScoredSession, shareOfSessions, thresholdFor } from './session-scores.ts';

/** Rules and model on one kind of sessions. Shares are 0 to 1, null of no session. */
export interface OperatingRow {
  readonly group: string;
  readonly frauds: number;
  /** Frauds that the rules stop, that the model reaches its threshold for, and either. */
  readonly rulesCatch: number | null;
  readonly modelCatch: number | null;
  readonly bothCatch: number | null;
  readonly honest: number;
  readonly rulesAlarms: number | null;
  /** Honest sessions that the model stops and the rules let pass. */
  readonly addedAlarms: number | null;
}

/** What another budget would give. */
export interface BudgetRow {
  readonly budget: number;
  readonly threshold: number;
  readonly addedAlarms: number | null;
  readonly addedCatch: number | null;
}

export interface RocCurve {
  /** Share of honest sessions, and of frauds, from 0, 0 to 1, 1. */
  readonly points: readonly (readonly [number, number])[];
  readonly rules: readonly [number, number] | null;
  readonly area: number | null;
}

/** Choice: around what operators accept. */
const BUDGETS = [0.0005, 0.001, 0.002, 0.005, 0.01] as const;
/** Choice: a curve of this many points is smooth on a screen. */
const ROC_POINTS = 100;

/** A BLOCK without a label is the rules' own opinion, by which they cannot be judged. */
export function knownSessions(sessions: readonly ScoredSession[]): readonly ScoredSession[] {
  return sessions.filter(({ source }) => source !== 'block');
}

export function operatingRow(group: string, sessions: readonly ScoredSession[], threshold: number): OperatingRow {
  const frauds = sessions.filter(({ isFraud }) => isFraud);
  const honest = sessions.filter(({ isFraud }) => !isFraud);
  return {
    group,
    frauds: frauds.length,
    rulesCatch: shareOfSessions(frauds, ({ isStopped }) => isStopped),
    modelCatch: shareOfSessions(frauds, ({ top }) => top >= threshold),
    bothCatch: shareOfSessions(frauds, ({ top, isStopped }) => isStopped || top >= threshold),
    honest: honest.length,
    rulesAlarms: shareOfSessions(honest, ({ isStopped }) => isStopped),
    addedAlarms: shareOfSessions(honest, ({ top, isStopped }) => !isStopped && top >= threshold),
  };
}

/** Returns a row for each source of labels that has sessions. */
export function rowsBySource(sessions: readonly ScoredSession[], threshold: number): readonly OperatingRow[] {
  return TRUTH_SOURCES.flatMap((name) => {
    const own = sessions.filter(({ source }) => source === name);
    return own.length === 0 ? [] : [operatingRow(name, own, threshold)];
  });
}

export function budgetRows(sessions: readonly ScoredSession[]): readonly BudgetRow[] {
  const known = knownSessions(sessions);
  return BUDGETS.map((budget) => {
    const threshold = thresholdFor(sessions, budget);
    const added = ({ top, isStopped }: ScoredSession): boolean => !isStopped && top >= threshold;
    return {
      budget,
      threshold,
      addedAlarms: shareOfSessions(
        known.filter(({ isFraud }) => !isFraud),
        added,
      ),
      addedCatch: shareOfSessions(
        known.filter(({ isFraud }) => isFraud),
        added,
      ),
    };
  });
}

/** Returns the model's curve over all thresholds, and the point of the rules. */
export function rocCurve(sessions: readonly ScoredSession[]): RocCurve {
  const known = knownSessions(sessions);
  const weights = { fraud: 0, honest: 0 };
  for (const { isFraud, weight } of known) weights[isFraud ? 'fraud' : 'honest'] += weight;
  if (weights.fraud === 0 || weights.honest === 0) return { points: [], rules: null, area: null };
  const sorted = known.toSorted((a, b) => b.top - a.top);
  const points: [number, number][] = [[0, 0]];
  let [alarms, caught, area, shown] = [0, 0, 0, 0];
  for (let at = 0; at < sorted.length;) {
    const { top } = sorted[at] as ScoredSession;
    const [beforeAlarms, beforeCaught] = [alarms, caught];
    for (; sorted[at]?.top === top; at++) {
      const { isFraud, weight } = sorted[at] as ScoredSession;
      if (isFraud) caught += weight / weights.fraud;
      else alarms += weight / weights.honest;
    }
    area += ((alarms - beforeAlarms) * (caught + beforeCaught)) / 2;
    if (alarms + caught - shown < 2 / ROC_POINTS && at < sorted.length) continue;
    shown = alarms + caught;
    points.push([rounded(alarms), rounded(caught)]);
  }
  const honestStopped =
    shareOfSessions(
      known.filter(({ isFraud }) => !isFraud),
      stopped,
    ) ?? 0;
  const fraudStopped =
    shareOfSessions(
      known.filter(({ isFraud }) => isFraud),
      stopped,
    ) ?? 0;
  return { points, rules: [honestStopped, fraudStopped], area: rounded(area) };
}

function stopped({ isStopped }: ScoredSession): boolean {
  return isStopped;
}

function rounded(share: number): number {
  return Math.round(Math.min(1, share) * 10_000) / 10_000;
}
