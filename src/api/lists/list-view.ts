import type { FingerprintReader } from '../../risk/fingerprint-history.ts';
import type { Registry } from '../../state/tables/registry-table.ts';
import type { FingerprintHash } from '../../kernel/brand.ts';
import { isTestCustomer } from '../../kernel/test-customers.ts';
import { codeOfListKind, shownListValue } from '../../risk/lists/list-key.ts';
import type { ListEntry } from '../../state/tables/list-table.ts';
import type { AnyRequest } from '../kit/endpoint-types.ts';

/** Dependencies of what an entry shows beside its own fields. */
export interface ListViewParts {
  readonly registry: Registry;
  readonly fingerprints: FingerprintReader;
}

/** Returns an entry as answers have it. Includes `shared_registry` only if `sharedRegistry` shows it. It names no customer. */
export function showEntry(parts: ListViewParts, entry: ListEntry, request: AnyRequest): Record<string, unknown> {
  const isFingerprint = codeOfListKind(entry.kind) === 0;
  return {
    ...(isFingerprint && { fingerprint_hash: entry.fingerprintHash }),
    kind: entry.kind,
    value: shownListValue(entry),
    action: entry.action,
    note: entry.note,
    ...(entry.eventTypes.length > 0 && { event_types: entry.eventTypes }),
    created_at: entry.createdAtSeconds,
    updated_at: entry.updatedAtSeconds,
    expires_at: entry.expiresAtSeconds,
    ...(isFingerprint && sharedRegistry(parts, entry.fingerprintHash, request)),
  };
}

/**
 * Returns `shared_registry` for a row about a fingerprint. The key is absent if the registry does not know the fingerprint, if the
 * fingerprint is common in the caller's traffic, and for test keys.
 */
export function sharedRegistry(
  { registry, fingerprints }: ListViewParts,
  fingerprintHash: FingerprintHash,
  { caller, nowMs, nowSeconds }: Pick<AnyRequest, 'caller' | 'nowMs' | 'nowSeconds'>,
): { readonly shared_registry?: { readonly risk_score: number; readonly customers_seen: number } } {
  const known = isTestCustomer(caller.customer) ? null : registry.findShown(fingerprintHash, nowSeconds);
  if (known === null || fingerprints.find(caller.customer, fingerprintHash, nowMs).isCommon) return {};
  return { shared_registry: { risk_score: Math.round(known.risk), customers_seen: known.customers } };
}
