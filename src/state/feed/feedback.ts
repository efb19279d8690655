import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Actor, Origin } from '../../ports/change-feed.ts';
import type { Label, ReviewVerdict } from '../../risk/judgement.ts';
import type { Change, Committer, Judging, ReviewChange } from './changes.ts';
import type { StoreWrite } from '../tables/durable.ts';
import type { JudgedDecision, StoredLabel } from '../tables/label-table.ts';
import type { ShadowReview } from '../tables/review-row.ts';
import type { ShadowReviews } from '../tables/review-table.ts';
import type { SightingQueue } from './sighting-queue.ts';
import type { SightingReports } from './sighting-reports.ts';

export interface FeedbackParts {
  readonly changes: Committer;
  readonly shadowReviews: ShadowReviews;
  readonly sightingQueue: SightingQueue;
  readonly sightingReports: SightingReports;
}

/**
 * Customers' feedback on their decisions. Each call is one change: the label, the verdict of the queued copy, and the effect on the
 * registry. A verdict `fraud` or `legitimate` is a label, and a label is the verdict of a queued decision.
 */
export class Feedback {
  readonly #parts: FeedbackParts;

  constructor(parts: FeedbackParts) {
    this.#parts = parts;
  }

  /** `decision` must belong to the customer. */
  label(
    customer: CustomerNumber,
    decision: JudgedDecision,
    label: Label,
    note: string | null,
    nowSeconds: number,
    by: Actor,
  ): Promise<StoreWrite<StoredLabel>> {
    const { requestId, fingerprintHash, publicKey } = decision;
    const judging = this.#judging(customer, decision, label, nowSeconds);
    return this.#parts.changes.commit(
      { kind: 'label.set', customer, decision: { requestId, fingerprintHash, publicKey }, label, note, judging },
      { by, nowMs: nowSeconds * 1000 },
    );
  }

  /** Returns the row with its verdict; null if the customer's queue does not contain it. `unsure` leaves a label unchanged. */
  async judge(
    customer: CustomerNumber,
    requestId: string,
    verdict: ReviewVerdict,
    nowSeconds: number,
    by: Actor,
  ): Promise<StoreWrite<ShadowReview | null>> {
    const queued = this.#parts.shadowReviews.find(customer, requestId);
    if (queued === null) return { kind: 'ok', value: null };
    const judging = this.#judging(customer, queued, verdict, nowSeconds);
    const origin = { by, nowMs: nowSeconds * 1000 };
    return this.#parts.changes.commit({ kind: 'review.judged', customer, requestId, verdict, judging }, origin);
  }

  /** Assigns, annotates, closes or opens a row; null if the customer's queue does not contain it. */
  async changeReview(
    customer: CustomerNumber,
    requestId: string,
    change: ReviewChange,
    origin: Origin,
  ): Promise<StoreWrite<ShadowReview | null>> {
    const { changes, shadowReviews } = this.#parts;
    if (shadowReviews.find(customer, requestId) === null) return { kind: 'ok', value: null };
    const waiting = shadowReviews.waitingRow(customer, requestId);
    return changes.commit({ kind: 'review.changed', customer, requestId, change, waiting }, origin);
  }

  /** Collects what is only in memory. Called before the change: an earlier BLOCK that waits for its write must not be written after it. */
  #judging(
    customer: CustomerNumber,
    { requestId, fingerprintHash, publicKey }: JudgedDecision,
    verdict: ReviewVerdict,
    nowSeconds: number,
  ): Judging {
    const { shadowReviews, sightingQueue, sightingReports } = this.#parts;
    const waiting = shadowReviews.waitingRow(customer, requestId);
    if (publicKey || fingerprintHash === null) return { waiting, isEvidence: false };
    if (verdict === 'legitimate') sightingQueue.forget(customer, fingerprintHash);
    return { waiting, isEvidence: sightingReports.takes(customer, fingerprintHash, 'label', nowSeconds) };
  }
}

/**
 * Removes what waits in this node's memory against a fingerprint that another node's change found legitimate: written later, it would bring
 * the evidence back.
 */
export function followJudgement(
  { sightingQueue, shadowReviews }: Pick<FeedbackParts, 'sightingQueue' | 'shadowReviews'>,
  change: Change,
): void {
  if (change.kind === 'label.set' && change.label === 'legitimate') {
    const { publicKey, fingerprintHash } = change.decision;
    if (!publicKey && fingerprintHash !== null) sightingQueue.forget(change.customer, fingerprintHash);
  } else if (change.kind === 'review.judged' && change.verdict === 'legitimate') {
    const row = shadowReviews.stored(change.customer, change.requestId);
    if (row !== null && !row.publicKey && row.fingerprintHash !== null) {
      sightingQueue.forget(change.customer, row.fingerprintHash);
    }
  }
}
