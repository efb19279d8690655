import type { CustomerNumber } from '../base/brand.ts';
import type { AnswerReader } from '../pools/frame.ts';

/**
 * Takes what decisions owe to webhooks. Called on the hot path: for a customer without webhooks an implementation makes one
 * look-up and returns.
 */
export interface DueDeliveries {
  /**
   * A decision that is about to be answered, before its batch's journal is written: what it owes is staged into that write.
   * `at` is its place among the answers, whose status is 200; `occurredAtMs` is the decision's time, Unix ms.
   */
  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void;
  /** The batch's journal was written, or not: then its decisions are not answered, and nothing is owed for them. */
  committed(isWritten: boolean): void;
}
