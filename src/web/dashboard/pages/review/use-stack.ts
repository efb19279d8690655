import { useEffect, useState } from 'preact/hooks';
import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { useUrlState } from '../../url-state.ts';
import type { Pages } from '../../use-pages.ts';
import { QUEUE_PAGE_ROWS } from './queue-page.ts';
import { NOBODY, type ReviewFilter } from './review-filters.tsx';
import { findPlace, type StackPlace } from './review-stack.ts';
import { useMixedPages } from './mixed-pages.ts';
import { type Decisions, useDecisions } from './use-decisions.ts';
import type { EnteredVerdict } from './verdict-queue.ts';

/** Choice: the next page is loaded when fewer rows are left. */
const FEW_LEFT = 20;
/** Choice: decisions that one search by event type examines before it asks whether to continue. */
const EXAMINED_STEP = 200;

export interface Stack {
  readonly pages: Pages<ShadowReviewRow>;
  /** Rows that match the filter and have no verdict of this sitting. */
  readonly left: readonly ShadowReviewRow[];
  /** Names in the loaded rows, sorted. */
  readonly assignees: readonly string[];
  readonly place: StackPlace;
  readonly decisions: Decisions;
  readonly examinedMax: number;
  readonly examineMore: () => void;
}

/** Reads the rows of a stack, finds the one to show, and loads its decision and those that come next. */
export function useStack(isWork: boolean, filter: ReviewFilter, entered: ReadonlyMap<string, EnteredVerdict>): Stack {
  const url = useUrlState();
  const pages = useMixedPages(isWork ? workList(url.get('order')) : null, filter.why);
  const [examinedMax, setExaminedMax] = useState(EXAMINED_STEP);
  const left = pages.rows.filter((row) => !entered.has(row.request_id) && matches(row, isWork, filter));
  const [wanted, setWanted] = useState<readonly string[]>([]);
  const decisions = useDecisions(wanted);
  const place = findPlace(left, url.get('at'), filter.event, examinedMax, (id) => {
    const one = decisions.get(id);
    return one === undefined ? undefined : (one.data?.event_type ?? null);
  });
  useEffect(() => setWanted(place.load), [place.load.join()]);
  useEffect(() => setExaminedMax(EXAMINED_STEP), [filter.event, filter.why]);
  useEffect(() => {
    if (left.length < FEW_LEFT && pages.hasMore && !pages.loadingMore && pages.fault === null) pages.loadMore();
  }, [left.length, pages.hasMore, pages.loadingMore, pages.fault]);
  return {
    pages,
    left,
    assignees: [...new Set(pages.rows.flatMap(({ assignee }) => assignee ?? []))].sort(),
    place,
    decisions,
    examinedMax,
    examineMore: () => setExaminedMax(examinedMax + EXAMINED_STEP),
  };
}

/** Open work: every REVIEW. */
function workList(order: string): string {
  const sorted = order === 'score' ? 'score' : 'oldest';
  return v1('/shadow-reviews', { queue: 'review', state: 'open', order: sorted, limit: QUEUE_PAGE_ROWS });
}

function matches(row: ShadowReviewRow, isWork: boolean, { scoreMin, scoreMax, who }: ReviewFilter): boolean {
  if (row.score < scoreMin || row.score > scoreMax) return false;
  return isWork ? who === '' || who === (row.assignee ?? NOBODY) : row.decision !== 'REVIEW';
}
