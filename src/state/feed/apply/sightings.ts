import type { CustomerNumber, FingerprintHash } from '../../../kernel/brand.ts';
import { isTestCustomer } from '../../../kernel/test-customers.ts';
import { SIGHTING_REFRESH_SECONDS } from '../../../kernel/limits.ts';
import { afterSighting, consensusOf, isLive } from '../../../risk/registry/consensus.ts';
import type { Noted } from '../changes.ts';
import { isNews, lastSeenOf, livingRow, type SightingKind, withTime } from '../../tables/sighting-row.ts';
import type { NewSighting } from '../../tables/sighting-table.ts';
import { NO_CUSTOMER } from '../../tables/audit-table.ts';
import type { Applying, Apply } from './applying.ts';
import { record } from './audit-record.ts';

/** Customers' evidence against fingerprints, and the registry that follows from it. */

export const importEntries: Apply<'registry.imported'> = (at, { entries, total }) => {
  for (const entry of entries) at.tables.registry.putImported(entry);
  if (total !== null) record(at, NO_CUSTOMER, { kind: 'registry.imported', target: null, after: { entries: total } });
  return null;
};

export const forgetFingerprint: Apply<'registry.removed'> = (at, { fingerprintHash }) => {
  const { tables } = at;
  const customers = [...tables.sightings.of(fingerprintHash, 0)].map((sighting) => sighting.customer as CustomerNumber);
  for (const customer of customers) {
    tables.sightings.remove(customer, fingerprintHash);
    tables.rowCounters.add('sightings', customer, -1);
  }
  const entry = tables.registry.remove(fingerprintHash);
  if (entry || customers.length > 0) {
    const before = { entry, customers: customers.length };
    record(at, NO_CUSTOMER, { kind: 'registry.removed', target: fingerprintHash, before });
  }
  return { entry, customers: customers.length };
};

export const noteModel: Apply<'model.chosen'> = (at, { how, id, previous, overruled }) => {
  const after = { id, ...(overruled.length > 0 && { overruled }) };
  record(at, NO_CUSTOMER, { kind: `model.${how}`, target: id, before: { id: previous }, after });
  return null;
};

export const noteSightings: Apply<'sightings.noted'> = (at, { customer, evidence, seen }) =>
  note(at, customer, evidence, seen);

/** What test keys find counts for nobody. */
export function note(
  { tables, bounds, nowSeconds }: Applying,
  customer: CustomerNumber,
  kind: SightingKind,
  seen: readonly NewSighting[],
): Noted {
  if (isTestCustomer(customer)) return { written: 0, refused: 0 };
  const { sightings, registry, rowCounters } = tables;
  const isDecision = kind === 'decision';
  const room = (isDecision ? bounds.sightingsAutomatic : bounds.sightings) - rowCounters.get('sightings', customer);
  const touched = new Set<FingerprintHash>();
  let added = 0;
  let refused = 0;
  for (const { fingerprintHash, atSeconds, network = 0, isFamiliar = false } of seen) {
    const stored = sightings.row(customer, fingerprintHash);
    if (stored === null && added >= room) {
      refused++;
      continue;
    }
    const row = stored === null ? null : livingRow(stored, nowSeconds);
    // Choice: a customer's good history of a fingerprint outweighs the first BLOCK by traffic, but not the customer's own list or label.
    if (row === null && isFamiliar) continue;
    // A time that is not newer adds nothing. BLOCKs arrive by the thousand, so their time is updated only after a minimum interval.
    const since = atSeconds - (row?.times[kind] ?? 0);
    const isOld = since <= (isDecision ? SIGHTING_REFRESH_SECONDS : -1);
    if (row !== null && isOld && !(isDecision && isNews(row, atSeconds, network))) continue;
    if (stored === null) added++;
    sightings.put(customer, fingerprintHash, withTime(row, kind, atSeconds, network));
    touched.add(fingerprintHash);
  }
  if (added > 0) rowCounters.add('sightings', customer, added);
  for (const hash of touched) {
    const fresh = consensusOf(sightings.of(hash, nowSeconds), nowSeconds);
    if (fresh === null) continue;
    const before = registry.get(hash)?.publishedConsensus ?? null;
    registry.setConsensus(hash, afterSighting(before, fresh), nowSeconds);
  }
  return { written: touched.size, refused };
}

/** Without enough other customers the consensus ends at once. An imported part stays. */
export function withdraw(
  { tables: { sightings, registry, rowCounters }, nowSeconds }: Applying,
  customer: CustomerNumber,
  fingerprintHash: FingerprintHash,
  kinds: readonly SightingKind[],
): void {
  const stored = sightings.row(customer, fingerprintHash);
  const row = stored === null ? null : livingRow(stored, nowSeconds);
  if (row === null || !kinds.some((kind) => row.times[kind] > 0 && isLive(row.times[kind], nowSeconds))) return;
  for (const kind of kinds) row.times[kind] = 0;
  const rest = lastSeenOf(row);
  if (rest > 0 && isLive(rest, nowSeconds)) sightings.put(customer, fingerprintHash, row);
  else {
    sightings.remove(customer, fingerprintHash);
    rowCounters.add('sightings', customer, -1);
  }
  registry.setConsensus(
    fingerprintHash,
    consensusOf(sightings.of(fingerprintHash, nowSeconds), nowSeconds),
    nowSeconds,
  );
}
