import { REVIEW_SHARES, type ReviewKind, reviewKindOf, type ReviewReason } from '../../../../contract/vocabulary.ts';
import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Pages, usePages } from '../../use-pages.ts';
import { mixByShare } from './mix-by-share.ts';
import { QUEUE_PAGE_ROWS } from './queue-page.ts';

const OPTIONS = { idOf: ({ request_id: id }: ShadowReviewRow) => id };

function samplesUrl(why: ReviewReason): string {
  return v1('/shadow-reviews', { state: 'open', why, limit: QUEUE_PAGE_ROWS });
}

/**
 * Reads one list (`url`), or all open samples, each reason for itself and mixed by the shares of what their verdicts teach: a reason with
 * many rows hides no other. `only` leaves one reason.
 */
export function useMixedPages(url: string | null, only: ReviewReason | ''): Pages<ShadowReviewRow> {
  const urlOf = (why: ReviewReason): string | null =>
    url === null && (only === '' || only === why) ? samplesUrl(why) : null;
  const one = usePages<ShadowReviewRow>(url, OPTIONS);
  const challenger = usePages<ShadowReviewRow>(urlOf('challenger'), OPTIONS);
  const sample = usePages<ShadowReviewRow>(urlOf('sample'), OPTIONS);
  const near = usePages<ShadowReviewRow>(urlOf('near_block'), OPTIONS);
  if (url !== null) return one;
  if (only === 'challenger') return challenger;
  if (only === 'sample') return sample;
  if (only === 'near_block') return near;
  return mixed(challenger, sample, near);
}

function mixed(
  challenger: Pages<ShadowReviewRow>,
  sample: Pages<ShadowReviewRow>,
  near: Pages<ShadowReviewRow>,
): Pages<ShadowReviewRow> {
  const all = [challenger, sample, near];
  const differs = (kind: ReviewKind): readonly ShadowReviewRow[] =>
    challenger.rows.filter(({ why, decision, would_be: wouldBe }) => reviewKindOf(why, wouldBe ?? decision) === kind);
  const samples = mixByShare([
    { rows: sample.rows, share: 1, hasMore: sample.hasMore },
    { rows: near.rows, share: 1, hasMore: near.hasMore },
  ]);
  const rows = mixByShare([
    { rows: differs('passed'), share: REVIEW_SHARES.passed, hasMore: challenger.hasMore },
    // Part of the same list, and often rare: the rest goes on without it.
    { rows: differs('stopped'), share: REVIEW_SHARES.stopped, hasMore: false },
    { rows: samples, share: REVIEW_SHARES.sampled, hasMore: sample.hasMore || near.hasMore },
  ]);
  const first = all.find(({ fault }) => fault !== null) ?? challenger;
  return {
    rows,
    fault: first.fault,
    retryAtMs: first.retryAtMs,
    loading: all.some(({ loading }) => loading),
    loadingMore: all.some(({ loadingMore }) => loadingMore),
    hasMore: all.some(({ hasMore }) => hasMore),
    pagesRead: Math.max(...all.map(({ pagesRead }) => pagesRead)),
    asOfMs: all.reduce<number | null>(
      (at, { asOfMs }) => (at === null || asOfMs === null ? null : Math.min(at, asOfMs)),
      Infinity,
    ),
    loadMore: () => {
      for (const pages of all) if (pages.hasMore) pages.loadMore();
    },
    refresh: () => {
      for (const pages of all) pages.refresh();
    },
    replace: (id, change) => {
      for (const pages of all) pages.replace(id, change);
    },
  };
}
