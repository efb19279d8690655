/** Re-exported: all words of the wire are in `contract/vocabulary.ts`. */
export {
  type Label,
  LABELS,
  REVIEW_REASONS,
  REVIEW_SHARES,
  type ReviewKind,
  reviewKindOf,
  type ReviewOrder,
  type ReviewQueue,
  type ReviewReason,
  type ReviewState,
  type ReviewVerdict,
  VERDICTS,
} from '../contract/vocabulary.ts';
