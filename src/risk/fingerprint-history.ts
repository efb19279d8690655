import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';

/** What a customer's own traffic of the last 30 days shows about a fingerprint, as far as the velocity store still has it. */
export interface FingerprintHistory {
  /** It came with one of the customer's requests. A fingerprint that was derived from a token counts too. */
  readonly isSeen: boolean;
  /** It is not a fingerprint but the hash of a browser's own id, which means nothing to other customers. */
  readonly isBrowser: boolean;
  /** Distinct networks (/24, /48) that it came from in 24 h. */
  readonly networks24h: number;
  /** Too many networks for one device: a phone model's fingerprint, for example. */
  readonly isCommon: boolean;
}

/** Reads the velocity store outside the decide path; changes no count. */
export interface FingerprintReader {
  find(customer: CustomerNumber, fingerprintHash: FingerprintHash, nowMs: number): FingerprintHistory;
}
