import type { CustomerNumber } from '../base/brand.ts';

/**
 * Takes what every decision leaves behind, before its answer leaves, so that whoever was answered finds it. Called on the hot
 * path: an implementation copies the bytes and returns, and what it does with them comes later.
 */
export interface DecisionLedger {
  /** `record` is borrowed until the call returns; empty where a record outgrew its place. `flags` are the answer's. */
  decided(customer: CustomerNumber, record: Buffer, flags: number, latencyMs: number): void;
}
