import type { CustomerNumber, FingerprintHash } from '../base/brand.ts';
import type { FingerprintReader } from './fingerprint-history.ts';

/**
 * What of a customer's evidence against a fingerprint the shared registry takes, by what memory knows of it: nothing against a
 * common one, and a list's block only of one that came with the customer's own traffic within 30 days. A label and a BLOCK are
 * of a decision, so these were seen. Direction of failure: what memory has lost is not reported.
 */
export function sightingsTaken(fingerprints: FingerprintReader) {
  return (customer: CustomerNumber, fingerprintHash: FingerprintHash, kind: string, nowSeconds: number): boolean => {
    const { isSeen, isCommon } = fingerprints.find(customer, fingerprintHash, nowSeconds * 1_000);
    return !isCommon && (isSeen || kind !== 'list');
  };
}
