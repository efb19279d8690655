import type { CustomerNumber } from '../kernel/brand.ts';
import type { Label } from '../risk/judgement.ts';
import type { Store } from '../state/feed/open-store.ts';

/** A decision's label, and whether it was given as a label or as the verdict of a review. */
export interface KnownLabel {
  readonly label: Label;
  readonly source: 'label' | 'review';
  readonly createdAtSeconds: number;
}

/** Returns the label of a decision; null without one. */
export function knownLabel(
  { labels, shadowReviews }: Pick<Store, 'labels' | 'shadowReviews'>,
  customer: CustomerNumber,
  requestId: string,
): KnownLabel | null {
  const found = labels.find(customer, requestId);
  if (found === null) return null;
  const { label, createdAtSeconds } = found;
  const isReviewed = shadowReviews.find(customer, requestId)?.verdict === label;
  return { label, source: isReviewed ? 'review' : 'label', createdAtSeconds };
}
