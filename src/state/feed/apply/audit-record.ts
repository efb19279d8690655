import type { CustomerNumber } from '../../../kernel/brand.ts';
import { AUDIT_FACTS_BYTES_MAX } from '../../../kernel/limits.ts';
import type { AuditEntry, AuditFacts, AuditKind } from '../../../work/audit.ts';
import type { StoredRow } from '../../tables/typed-table.ts';
import type { Applying } from './applying.ts';

/**
 * Entries about content are written by the thousand and are evicted before the others, so that a flood of them cannot push out what
 * happened to keys and webhooks.
 */
const CONTENT: ReadonlySet<AuditKind> = new Set([
  'list.put',
  'list.batch',
  'list.removed',
  'named_list.items',
  'label.set',
  'review.judged',
  'review.changed',
  'webhook.health',
]);

export type Recorded = Pick<AuditEntry, 'kind' | 'target'> & Partial<Pick<AuditEntry, 'before' | 'after'>>;

/** Writes an entry to the customer's audit log, in the transaction of the change that it describes. */
export function record(at: Applying, customer: CustomerNumber, recorded: Recorded): void {
  void at.tables.audit.putRow(reserveRecord(at, customer, recorded));
}

/** Makes room for an entry and counts it, inside a transaction. The row is to be written together with the change. */
export function reserveRecord(at: Applying, customer: CustomerNumber, recorded: Recorded): StoredRow {
  makeRoomForRecord(at, customer);
  return countRecord(at, customer, recorded);
}

/** Removes an entry if the customer has as many as are kept. */
export function makeRoomForRecord({ tables: { audit }, bounds }: Applying, customer: CustomerNumber): void {
  const oldest = audit.rowsOf(customer) < bounds.auditEntries ? null : audit.evictable(customer);
  if (oldest !== null) audit.removeRow(oldest);
}

/** Counts an entry for which there is room. Changes each counter once, so that it also works inside a batch, which reads no own writes. */
export function countRecord(
  { tables: { audit, counters }, by, nowMs }: Applying,
  customer: CustomerNumber,
  { kind, target, before = null, after = null }: Recorded,
): StoredRow {
  const number = counters.rise('auditEntries');
  return audit.reserve(
    { customer, atMs: nowMs, number, isAccount: !CONTENT.has(kind) },
    { by, kind, target, before: boundedFacts(before), after: boundedFacts(after) },
  );
}

/** Lengths to which texts are cut, one after the other, until the facts are short enough. */
const CUTS = [200, 40, 8];
const ITEMS_MAX = 20;

/** Returns the facts in at most `AUDIT_FACTS_BYTES_MAX` bytes of JSON. */
export function boundedFacts(facts: AuditFacts | null): AuditFacts | null {
  if (facts === null) return null;
  for (const characters of CUTS) {
    const cut = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, shortened(value, characters)]));
    if (Buffer.byteLength(JSON.stringify(cut)) <= AUDIT_FACTS_BYTES_MAX) return cut;
  }
  return { truncated: true };
}

function shortened(value: unknown, characters: number): unknown {
  if (typeof value === 'string') return value.length <= characters ? value : `${value.slice(0, characters)}…`;
  return Array.isArray(value) ? value.slice(0, ITEMS_MAX).map((item) => shortened(item, characters)) : value;
}
