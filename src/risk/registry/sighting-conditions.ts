import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import type { FingerprintReader } from '../fingerprint-history.ts';

/**
 * Selects which of a customer's evidence against a fingerprint the shared registry accepts, according to the velocity store: none against a
 * common fingerprint, and a block by a list only if the fingerprint came with the customer's own traffic within 30 days. Labels and BLOCKs
 * belong to a decision, so their fingerprints were seen. Direction of failure: a fingerprint that the velocity store has lost is not
 * reported.
 */
export function sightingsTaken(fingerprints: FingerprintReader) {
  return (customer: CustomerNumber, fingerprintHash: FingerprintHash, kind: string, nowSeconds: number): boolean => {
    const { isSeen, isBrowser, isCommon } = fingerprints.find(customer, fingerprintHash, nowSeconds * 1_000);
    return !isCommon && !isBrowser && (isSeen || kind !== 'list');
  };
}
