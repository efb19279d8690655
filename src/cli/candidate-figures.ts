import { candidateGates } from '../learn/candidate-gates.ts';
import { flaggedColumns } from '../learn/flagged-columns.ts';
import type { LearningRow } from '../learn/learning-rows.ts';
import type { LearningStock } from '../learn/learning-stock.ts';
import type { Candidate } from '../learn/make-candidate.ts';
import { shareWithInterval } from '../kernel/wilson.ts';

export interface CandidateFiles {
  readonly id: string;
  readonly nowMs: number;
  readonly prior: number;
  readonly budget: number | null;
  readonly columns: readonly string[];
  readonly stock: LearningStock;
  readonly rows: readonly LearningRow[];
  readonly candidate: Candidate;
}

/** The content of `report.json`, before its names are those of the file. */
export type CandidateReportFile = ReturnType<typeof reportOnCandidate>;

/** Returns the figures of a candidate as its report shows them. */
export function reportOnCandidate({ id, nowMs, prior, budget, columns, stock, rows, candidate }: CandidateFiles) {
  const { threshold, report, leftOut, gain, honestSessions, addedSessions } = candidate;
  const flagged = flaggedColumns(columns);
  return {
    id,
    trainedAt: new Date(nowMs).toISOString(),
    prior,
    budget,
    threshold,
    policyHash: newestPolicy(rows),
    rows: candidate.rows,
    honestSessions,
    addedSessions,
    addedShareHigh: shareWithInterval(addedSessions, honestSessions).high,
    fraudSessions: stock.fraudSessions,
    ...report,
    leftOut,
    gates: candidateGates(report.all, { budget, isShadowOnly: stock.isShadowOnly }),
    gain: Object.fromEntries(gain.map(([name, one]) => [name, Math.round(one * 1000) / 1000])),
    flaggedColumns: flagged,
  };
}

/** Returns the version of the policy that the newest row was decided under: columns of rules mean what they meant under it. */
function newestPolicy(rows: readonly LearningRow[]): string | null {
  let newest: LearningRow | null = null;
  for (const row of rows) if (row.policyVersion !== null && row.atMs > (newest?.atMs ?? 0)) newest = row;
  return newest?.policyVersion ?? null;
}

/** Choice: sessions of which none is stopped show a share below 1 / n at about this many times n. */
const SESSIONS_TO_SHOW = 4;

/**
 * Returns what the number of sessions says of the model's alarms: few cannot show that a budget is kept. `budget` is a share of honest
 * sessions, null without one.
 */
export function alarmsText(
  { addedSessions, honestSessions }: Pick<Candidate, 'addedSessions' | 'honestSessions'>,
  budget: number | null,
): string {
  const { high } = shareWithInterval(addedSessions, honestSessions);
  const counted = `on the rows after the training the model alone stops ${addedSessions} of ${honestSessions} honest sessions`;
  const most = high === null ? '' : `: in operation up to ${percentText(high)} (95 % interval)`;
  if (budget === null || budget === 0 || addedSessions > 0) return counted + most;
  const needed = Math.ceil(SESSIONS_TO_SHOW / budget);
  const few = `the budget of ${percentText(budget)} allows none of so few, and ${needed} would show that it is kept`;
  return `${counted}${most}; ${few}`;
}

export function percentText(share: number): string {
  return `${Math.round(share * 1e4) / 100} %`;
}
