import type { RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Label, ReviewVerdict } from '../risk/judgement.ts';
import { durably, type StoreWrite } from './durable.ts';
import type { JudgedDecision, Labels, StoredLabel } from './label-table.ts';
import type { ShadowReview, ShadowReviews } from './review-table.ts';
import type { SightingQueue } from './sighting-queue.ts';
import { SIGHTING_KINDS } from './sighting-row.ts';
import type { Sightings } from './sighting-table.ts';

export interface FeedbackTables {
  readonly labels: Labels;
  readonly shadowReviews: ShadowReviews;
  readonly sightings: Sightings;
  readonly sightingQueue: SightingQueue;
}

/**
 * Customers' feedback on their decisions. Each call writes in one transaction: the label, the verdict of the queued copy, and the effect on
 * the registry. A verdict `fraud` or `legitimate` is a label, and a label is the verdict of a queued decision.
 */
export class Feedback {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables: FeedbackTables;

  constructor(root: RootDatabase<Buffer, Buffer>, tables: FeedbackTables) {
    this.#root = root;
    this.#tables = tables;
  }

  /** `decision` must belong to the customer. */
  label(
    customer: CustomerNumber,
    decision: JudgedDecision,
    label: Label,
    note: string | null,
    nowSeconds: number,
  ): Promise<StoreWrite<StoredLabel>> {
    const { requestId, fingerprintHash, publicKey } = decision;
    const stored: StoredLabel = { requestId, fingerprintHash, publicKey, label, note, createdAtSeconds: nowSeconds };
    this.#forgetWaiting(customer, decision, label);
    return durably(this.#root, () => {
      this.#tables.shadowReviews.judgeInside(customer, requestId, label);
      this.#putInside(customer, stored);
      return stored;
    });
  }

  /** Returns the row with its verdict; null if the customer's queue does not contain it. `unsure` leaves a label unchanged. */
  judge(
    customer: CustomerNumber,
    requestId: string,
    verdict: ReviewVerdict,
    nowSeconds: number,
  ): Promise<StoreWrite<ShadowReview | null>> {
    const queued = this.#tables.shadowReviews.find(customer, requestId);
    if (queued !== null) this.#forgetWaiting(customer, queued, verdict);
    return durably(this.#root, () => {
      const row = this.#tables.shadowReviews.judgeInside(customer, requestId, verdict);
      if (row === null || verdict === 'unsure') return row;
      const { fingerprintHash, publicKey } = row;
      // A verdict carries no note, so an existing note is kept.
      const note = this.#tables.labels.find(customer, requestId)?.note ?? null;
      this.#putInside(customer, {
        requestId,
        fingerprintHash,
        publicKey,
        label: verdict,
        note,
        createdAtSeconds: nowSeconds,
      });
      return row;
    });
  }

  /**
   * `legitimate` means that the service was wrong: it revokes all of the customer's evidence against that fingerprint, from its list, its
   * labels and the BLOCKs of its traffic.
   */
  #putInside(customer: CustomerNumber, label: StoredLabel): void {
    const { labels, sightings } = this.#tables;
    labels.putInside(customer, label);
    const { fingerprintHash, createdAtSeconds: atSeconds } = label;
    if (label.publicKey || fingerprintHash === null) return;
    if (label.label === 'fraud') sightings.noteInside(customer, 'label', [{ fingerprintHash, atSeconds }], atSeconds);
    else sightings.takeBackInside(customer, fingerprintHash, SIGHTING_KINDS, atSeconds);
  }

  /** Called before the transaction is requested: an earlier BLOCK that still waits for its own write must not be written afterwards. */
  #forgetWaiting(customer: CustomerNumber, decision: JudgedDecision, verdict: ReviewVerdict): void {
    if (verdict !== 'legitimate' || decision.publicKey || decision.fingerprintHash === null) return;
    this.#tables.sightingQueue.forget(customer, decision.fingerprintHash);
  }
}
