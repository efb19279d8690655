import type { CustomerNumber } from '../kernel/brand.ts';

/**
 * Decision sink: records every decision before its response is sent, so that a client that has its response finds the record. Called on the
 * hot path: an implementation copies the bytes and returns, and processes them later.
 */
export interface DecisionSink {
  /** `record` is valid only until the call returns; it is empty if a record outgrew its slot. `flags` are the answer's. */
  decided(customer: CustomerNumber, record: Buffer, flags: number, latencyMs: number): void;
}
