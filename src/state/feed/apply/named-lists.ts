import type { CustomerNumber } from '../../../kernel/brand.ts';
import { readListKey } from '../../../risk/lists/list-key.ts';
import type { NamedListKind } from '../../../risk/lists/named-list.ts';
import {
  type NamedItem,
  type NamedItemChange,
  type NamedItemState,
  type NamedList,
  ownerOfNamedItem,
} from '../../tables/named-list-table.ts';
import type { ReplacedItem } from '../../tables/named-list-versions-table.ts';
import type { Apply, Applying } from './applying.ts';
import { record } from './audit-record.ts';
import { noteVersion } from './named-list-history.ts';

/** Named lists and their items. */

export const putNamedList: Apply<'named_list.put'> = (at, { customer, name, listKind: kind, note }) => {
  const { tables, bounds, nowMs } = at;
  const before = tables.namedLists.find(customer, name);
  if (before !== null && before.kind !== kind) return { kind: 'other_kind', list: before };
  if (before === null && tables.namedLists.count(customer) >= bounds.namedLists) return { kind: 'limit_reached' };
  const list: NamedList =
    before === null
      ? {
          name,
          kind,
          note,
          number: tables.counters.rise('namedLists'),
          items: 0,
          details: [],
          createdAtMs: nowMs,
          updatedAtMs: nowMs,
        }
      : { ...before, note, updatedAtMs: nowMs };
  tables.namedLists.put(customer, list);
  // The note is free text and is left out.
  record(at, customer, { kind: 'named_list.put', target: name, after: { kind, created: before === null } });
  return { kind: before === null ? 'created' : 'replaced', list };
};

/** The rows of its items are removed later, and count until then. */
export const removeNamedList: Apply<'named_list.removed'> = (at, { customer, name }) => {
  const before = at.tables.namedLists.find(customer, name);
  if (before === null || !at.tables.namedLists.remove(customer, name)) return false;
  at.tables.namedListVersions.remove(customer, before.number);
  const facts = { kind: before.kind, items: before.items };
  record(at, customer, { kind: 'named_list.removed', target: name, before: facts });
  return true;
};

export const changeNamedItems: Apply<'named_list.items'> = (at, change) => {
  const { customer, name, number, items, restores } = change;
  const { tables, bounds, nowMs, nowSeconds } = at;
  const list = tables.namedLists.find(customer, name);
  if (list?.number !== number) return 'unknown';
  const last = new Map(items.map((item) => [item.key, item]));
  const planned = [...last.values()].map((item) => ({
    item,
    state: tables.namedLists.stateOf(customer, number, item.key, nowSeconds),
  }));
  const of = (isRemoved: boolean, states: readonly NamedItemState[]): number =>
    planned.filter(({ item, state }) => item.isRemoved === isRemoved && states.includes(state)).length;
  const rows = of(false, ['none']) - of(true, ['live', 'expired']);
  if (rows > 0 && tables.rowCounters.get('namedListItems', customer) + rows > bounds.namedListItems)
    return 'limit_reached';
  const replaced: ReplacedItem[] = [];
  for (const { item, state } of planned) {
    const { key } = item;
    const before = state === 'live' ? tables.namedLists.item(customer, number, key, nowSeconds) : null;
    if (isAnother(before, item)) replaced.push({ key, before });
    if (!item.isRemoved) tables.namedLists.putItem(customer, number, { createdAtSeconds: nowSeconds, ...item });
    else if (state !== 'none') tables.namedLists.removeItem(customer, number, item.key);
  }
  tables.rowCounters.add('namedListItems', customer, rows);
  const added = of(false, ['none', 'expired']);
  const removed = of(true, ['live']);
  const left = list.items + rows;
  const details = left === 0 ? [] : detailsWith(list, items);
  tables.namedLists.put(customer, { ...list, items: left, details, updatedAtMs: nowMs });
  noteVersion(at, change, { added, removed, replaced });
  const after = { added, removed, items: left, ...(restores !== undefined && { restored_version: restores }) };
  record(at, customer, { kind: 'named_list.items', target: name, after });
  return { added, removed };
};

/** Returns whether the change leaves the list with another item of its key than before. */
function isAnother(before: NamedItem | null, { isRemoved, expiresAtSeconds, value }: NamedItemChange): boolean {
  if (before === null) return !isRemoved;
  return isRemoved || before.expiresAtSeconds !== expiresAtSeconds || before.value !== value;
}

/** Removes an item about an erased person; returns whether there was one. Makes no version, which would hold the item. */
export function removeErasedItem({ tables }: Applying, customer: CustomerNumber, number: number, key: string): boolean {
  if (!tables.namedLists.removeItem(customer, number, key)) return false;
  tables.rowCounters.add('namedListItems', customer, -1);
  const list = tables.namedLists.of(customer).find((one) => one.number === number);
  if (list === undefined) return true;
  const left = list.items - 1;
  tables.namedLists.put(customer, { ...list, items: left, details: left === 0 ? [] : list.details });
  return true;
}

/** Removes those of the rows that are expired, or of which the list was deleted. Returns their number. */
export function removeNamedItems({ tables, nowSeconds }: Applying, keys: readonly Buffer[]): number {
  const lists = new Map<string, { readonly customer: CustomerNumber; readonly list: NamedList; removed: number }>();
  const counts = new Map<CustomerNumber, number>();
  const found = new Map<CustomerNumber, readonly NamedList[]>();
  for (const key of keys) {
    const { customer, list: number } = ownerOfNamedItem(key);
    const ofCustomer = found.get(customer) ?? tables.namedLists.of(customer);
    found.set(customer, ofCustomer);
    const list = ofCustomer.find((one) => one.number === number);
    if (list !== undefined && !tables.namedLists.isExpired(key, nowSeconds)) continue;
    if (!tables.namedLists.removeRow(key)) continue;
    counts.set(customer, (counts.get(customer) ?? 0) + 1);
    if (list === undefined) continue;
    const place = `${customer} ${number}`;
    const counted = lists.get(place) ?? { customer, list, removed: 0 };
    counted.removed++;
    lists.set(place, counted);
  }
  for (const { customer, list, removed } of lists.values()) {
    const left = list.items - removed;
    tables.namedLists.put(customer, { ...list, items: left, details: left === 0 ? [] : list.details });
  }
  let all = 0;
  for (const [customer, rows] of counts) {
    tables.rowCounters.add('namedListItems', customer, -rows);
    all += rows;
  }
  return all;
}

/** They are cleared only when the list becomes empty: one that stays costs a look-up. */
function detailsWith({ kind, details }: NamedList, items: readonly NamedItemChange[]): readonly number[] {
  const known = new Set(details);
  for (const item of items) if (!item.isRemoved) known.add(detailOf(kind, item));
  return known.size === details.length ? details : [...known].sort((a, b) => b - a);
}

function detailOf(kind: NamedListKind, { key, value }: NamedItemChange): number {
  if (kind === 'email_domain') return (value ?? '').split('.').length;
  if (kind !== 'network' && kind !== 'user_agent') return 0;
  return readListKey(Buffer.from(key, 'hex'))?.detail ?? 0;
}
