import type { CustomerNumber } from '../kernel/brand.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';

/**
 * Enqueues the webhook deliveries of decisions. Called on the hot path: for a customer without webhooks an implementation does one look-up
 * and returns.
 */
export interface DueDeliveries {
  /**
   * Called for a decision that is about to be answered, before its batch's journal is written: its outbox entry is staged into that write.
   * `at` is its index among the answers, whose status is 200; `occurredAtMs` is the decision's time, Unix ms.
   */
  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void;
  /**
   * Called after the batch's journal was written, or the write failed. After a failed write its decisions are not answered and nothing is
   * enqueued for them.
   */
  committed(isWritten: boolean): void;
}
