import type { ReviewVerdict } from '../../../../contract/vocabulary.ts';
import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';
import type { EnteredVerdict } from './verdict-queue.ts';

export interface ReasonPrecision extends Readonly<Record<ReviewVerdict, number>> {
  readonly reason: string;
}

/** Counts verdicts by reason, the most judged first. A verdict of this sitting counts instead of the one that was read. */
export function toPrecision(
  rows: readonly ShadowReviewRow[],
  entered: ReadonlyMap<string, Pick<EnteredVerdict, 'row' | 'verdict'>>,
): ReasonPrecision[] {
  const counts = new Map<string, Record<ReviewVerdict, number>>();
  const add = (reasons: readonly string[], verdict: ReviewVerdict): void => {
    for (const reason of new Set(reasons)) {
      const one = counts.get(reason) ?? { fraud: 0, legitimate: 0, unsure: 0 };
      one[verdict]++;
      counts.set(reason, one);
    }
  };
  for (const { request_id: id, reasons, verdict } of rows)
    if (verdict !== null && !entered.has(id)) add(reasons, verdict);
  for (const { row, verdict } of entered.values()) if (verdict !== 'closed') add(row.reasons, verdict);
  const judged = ({ fraud, legitimate, unsure }: ReasonPrecision): number => fraud + legitimate + unsure;
  return [...counts]
    .map(([reason, one]) => ({ reason, ...one }))
    .sort((a, b) => judged(b) - judged(a) || a.reason.localeCompare(b.reason));
}
