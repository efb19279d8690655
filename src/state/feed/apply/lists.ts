import type { CustomerNumber, FingerprintHash } from '../../../kernel/brand.ts';
import { LIST_ACTIONS, type ListAction } from '../../../risk/decision.ts';
import type { AuditFacts } from '../../../work/audit.ts';
import type { CommitSlices } from '../../../ports/change-feed.ts';
import type { ChangeOf, OutcomeOf } from '../changes.ts';
import { entryOf, type ListEntry, listKey, type ListPut } from '../../tables/list-table.ts';
import type { StoredRow } from '../../tables/typed-table.ts';
import type { Applying, Apply } from './applying.ts';
import { record, type Recorded } from './audit-record.ts';

/** A customer's block, allow and watch entries. */

export const putEntry: Apply<'list.put'> = (at, { customer, entry: change }) => {
  const { tables, nowSeconds } = at;
  const before = tables.lists.get(customer, change.fingerprintHash, nowSeconds);
  const entry = entryOf(change, before, nowSeconds);
  const row = tables.lists.row(customer, entry);
  if (countNew(at, customer, before === null ? [row.key] : []) === null) return 'limit_reached';
  void tables.lists.putRow(row);
  const target = change.fingerprintHash;
  record(at, customer, { kind: 'list.put', target, before: before && factsOf(before), after: factsOf(entry) });
  return { created: before === null, entry };
};

export const removeListEntry: Apply<'list.removed'> = (at, { customer, fingerprintHash: target }) => {
  const { tables, nowSeconds } = at;
  const before = tables.lists.get(customer, target, nowSeconds);
  if (tables.lists.removeRow(listKey(customer, target))) countRemoved(at, customer, 1);
  if (before === null) return false;
  record(at, customer, { kind: 'list.removed', target, before: factsOf(before) });
  return true;
};

/** Counts rows that were removed. */
export function countRemoved({ tables }: Pick<Applying, 'tables'>, customer: CustomerNumber, rows: number): void {
  if (tables.rowCounters.add('lists', customer, -rows) <= 0) tables.listKinds.clear(customer);
}

/** In one transaction; `prepareBatch` and `countNew` are the same in steps. */
export const putEntries: Apply<'list.batch'> = (at, change) => {
  const preparing = prepareBatch(at, change);
  for (;;) {
    const step = preparing.next();
    if (step.done !== true) continue;
    const { rows, unseen, puts } = step.value;
    if (countNew(at, change.customer, unseen) === null) return 'limit_reached';
    for (const row of rows) void at.tables.lists.putRow(row);
    const entry = batchEntry(puts);
    if (entry !== null) record(at, change.customer, entry);
    return puts;
  }
};

export interface PreparedBatch {
  readonly rows: readonly StoredRow[];
  /** Keys without an unexpired entry; the row of an expired one may still exist. */
  readonly unseen: readonly Buffer[];
  readonly puts: readonly ListPut[];
}

/** Encodes the rows of a batch, one entry a step. Needs no transaction. */
export function* prepareBatch(
  { tables: { lists }, nowSeconds }: Pick<Applying, 'tables' | 'nowSeconds'>,
  { customer, entries }: ChangeOf<'list.batch'>,
): Generator<null, PreparedBatch> {
  const puts: ListPut[] = [];
  const rows: StoredRow[] = [];
  const own = new Map<FingerprintHash, ListEntry>();
  const unseen: Buffer[] = [];
  for (const change of entries) {
    const { fingerprintHash } = change;
    const before = own.get(fingerprintHash) ?? lists.get(customer, fingerprintHash, nowSeconds);
    const entry = entryOf(change, before, nowSeconds);
    const row = lists.row(customer, entry);
    if (before === null) unseen.push(row.key);
    own.set(fingerprintHash, entry);
    rows.push(row);
    puts.push({ created: before === null, entry });
    yield null;
  }
  return { rows, unseen, puts };
}

/** Runs `prepareBatch` in slices. */
export async function prepareBatchInSlices(
  at: Pick<Applying, 'tables' | 'nowSeconds'>,
  change: ChangeOf<'list.batch'>,
  slices: CommitSlices | undefined,
): Promise<PreparedBatch> {
  const preparing = prepareBatch(at, change);
  for (;;) {
    const step = preparing.next();
    if (step.done === true) return step.value;
    if (slices?.isOver === true) await slices.begin();
  }
}

/** Counts those of the keys that have no row and notes their kinds; returns their number. Null if there is no room; then does neither. */
export function countNew(
  { tables, bounds }: Applying,
  customer: CustomerNumber,
  keys: readonly Buffer[],
): number | null {
  const added = keys.filter((key) => !tables.lists.hasRow(key));
  if (added.length === 0) return 0;
  if (added.length > bounds.listEntries - tables.rowCounters.get('lists', customer)) return null;
  tables.rowCounters.add('lists', customer, added.length);
  tables.listKinds.note(customer, added);
  return added.length;
}

/** Returns the one audit entry of a whole batch; null for an empty one, which changes nothing. */
export function batchEntry(puts: readonly ListPut[]): Recorded | null {
  if (puts.length === 0) return null;
  const count = (action: ListAction): number => puts.filter(({ entry }) => entry.action === action).length;
  const created = puts.filter((put) => put.created).length;
  const actions = Object.fromEntries(LIST_ACTIONS.map((action) => [action, count(action)]));
  return { kind: 'list.batch', target: null, after: { entries: puts.length, created, ...actions } };
}

/** Notes are left out: they are free text. */
function factsOf({ action, expiresAtSeconds }: ListEntry): AuditFacts {
  return { action, expires_at: expiresAtSeconds };
}

export type BatchOutcome = OutcomeOf<'list.batch'>;
