import { candidateGates } from '../learn/candidate-gates.ts';
import { flaggedColumns } from '../learn/flagged-columns.ts';
import type { LearningRow } from '../learn/learning-rows.ts';
import type { LearningStock } from '../learn/learning-stock.ts';
import type { Candidate } from '../learn/make-candidate.ts';

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
