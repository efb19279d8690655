import type { CustomerNumber, FingerprintHash } from '../../../kernel/brand.ts';
import { listKey } from '../../tables/list-table.ts';
import { partKeyOf } from '../../tables/named-list-versions-table.ts';
import { ERASURES_PER_CUSTOMER_MAX } from '../../tables/erasure-table.ts';
import type { Applying, Apply } from './applying.ts';
import { record } from './audit-record.ts';
import { countRemoved } from './lists.ts';
import { removeUnneededParts } from './named-list-history.ts';
import { removeErasedItem } from './named-lists.ts';

/** Erasures of people, and what they remove from the tables that changes own. */

export const recordErasure: Apply<'erasure.requested'> = (at, { customer, erasure }) => {
  const { erasures } = at.tables;
  if (erasures.find(customer, erasure.id) !== null) return 'known';
  if (erasures.count(customer) >= ERASURES_PER_CUSTOMER_MAX) return 'limit_reached';
  erasures.put(customer, { ...erasure, finish: null });
  const after = { subject: erasure.subject, keep_blocks: erasure.keepBlocks };
  record(at, customer, { kind: 'privacy.erase', target: erasure.id, after });
  return 'recorded';
};

export const noteExport: Apply<'person.exported'> = (at, { customer, id, subject }) => {
  record(at, customer, { kind: 'privacy.export', target: id, after: { subject } });
  return null;
};

export const finishErasure: Apply<'erasure.finished'> = ({ tables: { erasures } }, { customer, id, finish }) => {
  const found = erasures.find(customer, id);
  if (found === null) return false;
  erasures.put(customer, { ...found, encrypted: null, finish: found.finish ?? finish });
  return true;
};

export const eraseRows: Apply<'erasure.rows'> = (at, { customer, rows }) => {
  const { lists, audit } = at.tables;
  let changed = 0;
  let entries = 0;
  for (const key of rows.lists) if (lists.removeRow(listKey(customer, key as FingerprintHash))) entries++;
  if (entries > 0) countRemoved(at, customer, entries);
  for (const { list, key } of rows.namedItems) if (removeErasedItem(at, customer, list, key)) changed++;
  for (const list of rows.versions) changed += dropVersions(at, customer, list);
  for (const requestId of rows.notes) changed += dropNotes(at, customer, requestId);
  for (const key of rows.audit) if (audit.dropTarget(key)) changed++;
  return changed + entries;
};

/** Returns how many rows there were. */
function dropVersions(at: Applying, customer: CustomerNumber, list: number): number {
  const { namedListVersions } = at.tables;
  const { next, versions } = namedListVersions.of(customer, list);
  const keys = versions.flatMap(({ version, parts }) =>
    Array.from({ length: parts }, (_, part) => partKeyOf({ customer, list, version, part })),
  );
  if (keys.length === 0) return 0;
  namedListVersions.put(customer, list, { next, versions: [] });
  return removeUnneededParts(at, keys);
}

/** The label and the verdict stay. */
function dropNotes({ tables: { labels, shadowReviews } }: Applying, customer: CustomerNumber, id: string): number {
  let changed = 0;
  const label = labels.find(customer, id);
  if (label !== null && label.note !== null) {
    labels.put(customer, { ...label, note: null });
    changed++;
  }
  const review = shadowReviews.stored(customer, id);
  if (review !== null && review.work.note !== null) {
    shadowReviews.put(customer, { ...review, work: { ...review.work, note: null } });
    changed++;
  }
  return changed;
}
