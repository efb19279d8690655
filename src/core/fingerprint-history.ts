import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';

/** What a customer's own traffic of the last 30 days tells of a fingerprint, as far as memory still has it. */
export interface FingerprintHistory {
  /** It came with a request of the customer's. A fingerprint that was derived from a token counts too. */
  readonly isSeen: boolean;
  /** Distinct networks (/24, /48) that it came from in 24 h. */
  readonly networks24h: number;
  /** So many networks that it cannot be one device: a phone model's fingerprint, for example. */
  readonly isCommon: boolean;
}

/** Reads memory beside the decide path; changes no count. */
export interface FingerprintReader {
  find(customer: CustomerNumber, fingerprintHash: FingerprintHash, nowMs: number): FingerprintHistory;
}
