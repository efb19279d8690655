import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { ReviewVerdict } from '../../../risk/judgement.ts';
import type { StoredLabel } from '../../tables/label-table.ts';
import type { ShadowReview } from '../../tables/review-row.ts';
import { SIGHTING_KINDS } from '../../tables/sighting-row.ts';
import type { Applying, Apply } from './applying.ts';
import { record } from './audit-record.ts';
import { note, withdraw } from './sightings.ts';

/** Labels, the review queue, and the effect of verdicts on the registry. */

export const setLabel: Apply<'label.set'> = (at, { customer, decision, label, note: text, judging }) => {
  const { requestId, fingerprintHash, publicKey } = decision;
  const stored = { requestId, fingerprintHash, publicKey, label, note: text, createdAtSeconds: at.nowSeconds };
  const before = at.tables.labels.find(customer, requestId);
  judge(at, customer, requestId, label, judging.waiting);
  putLabel(at, customer, stored, judging.isEvidence);
  // Notes are left out: they are free text.
  const facts = { before: before && { label: before.label }, after: { label } };
  record(at, customer, { kind: 'label.set', target: requestId, ...facts });
  return stored;
};

export const judgeReview: Apply<'review.judged'> = (at, { customer, requestId, verdict, judging }) => {
  const before = at.tables.shadowReviews.stored(customer, requestId)?.verdict ?? null;
  const row = judge(at, customer, requestId, verdict, judging.waiting);
  if (row === null) return null;
  const facts = { before: before && { verdict: before }, after: { verdict } };
  record(at, customer, { kind: 'review.judged', target: requestId, ...facts });
  if (verdict === 'unsure') return row;
  const { fingerprintHash, publicKey } = row;
  // A verdict carries no note, so an existing note is kept.
  const text = at.tables.labels.find(customer, requestId)?.note ?? null;
  const label = { requestId, fingerprintHash, publicKey, label: verdict, note: text, createdAtSeconds: at.nowSeconds };
  putLabel(at, customer, label, judging.isEvidence);
  return row;
};

export const changeReview: Apply<'review.changed'> = (at, { customer, requestId, change, waiting }) => {
  const row = at.tables.shadowReviews.stored(customer, requestId) ?? waiting;
  if (row === null) return null;
  const { closed, ...texts } = change;
  const { closedAtSeconds } = row.work;
  const closedAt = closed === undefined ? closedAtSeconds : closed ? (closedAtSeconds ?? at.nowSeconds) : null;
  const changed = { ...row, work: { ...row.work, ...texts, closedAtSeconds: closedAt } };
  if (at.tables.shadowReviews.put(customer, changed)) makeRoom(at, customer);
  const facts = { before: factsOf(row), after: factsOf(changed) };
  record(at, customer, { kind: 'review.changed', target: requestId, ...facts });
  return changed;
};

/** Notes are left out: they are free text. */
function factsOf({ work: { assignee, note, closedAtSeconds } }: ShadowReview): Readonly<Record<string, unknown>> {
  return { assignee, has_note: note !== null, closed_at: closedAtSeconds };
}

export const queueReviews: Apply<'reviews.queued'> = (at, { customer, rows }) => {
  const { shadowReviews } = at.tables;
  // A row judged while it waited is stored already.
  for (const row of rows) if (shadowReviews.stored(customer, row.requestId) === null) shadowReviews.put(customer, row);
  return makeRoom(at, customer);
};

/** A row that still waits for its write is written with its verdict. */
function judge(
  at: Applying,
  customer: CustomerNumber,
  requestId: string,
  verdict: ReviewVerdict,
  waiting: ShadowReview | null,
): ShadowReview | null {
  const row = at.tables.shadowReviews.stored(customer, requestId) ?? waiting;
  if (row === null) return null;
  const judged = { ...row, verdict };
  if (at.tables.shadowReviews.put(customer, judged)) makeRoom(at, customer);
  return judged;
}

/** Evicts as many rows as exceed the limit; returns their number. */
function makeRoom({ tables: { shadowReviews }, bounds }: Applying, customer: CustomerNumber): number {
  const over = shadowReviews.rowsOf(customer) - bounds.shadowReviews;
  if (over <= 0) return 0;
  const keys = shadowReviews.evictable(customer, over, bounds.shadowReviewsScanned);
  shadowReviews.evict(keys);
  return keys.length;
}

/**
 * Replaces the decision's label; if there is no room, the label of the oldest decision is removed. `legitimate` means that the service was
 * wrong: it revokes all of the customer's evidence against that fingerprint, from its list, its labels and the BLOCKs of its traffic.
 */
function putLabel(at: Applying, customer: CustomerNumber, label: StoredLabel, isEvidence: boolean): void {
  const { labels } = at.tables;
  labels.put(customer, label);
  if (labels.rowsOf(customer) > at.bounds.labels) labels.removeOldest(customer);
  const { fingerprintHash, createdAtSeconds: atSeconds } = label;
  if (label.publicKey || fingerprintHash === null) return;
  if (label.label === 'legitimate') withdraw(at, customer, fingerprintHash, SIGHTING_KINDS);
  else if (isEvidence) note(at, customer, 'label', [{ fingerprintHash, atSeconds }]);
}
