import type { CustomerNumber } from '../../../kernel/brand.ts';
import type { ExpiringTable } from '../changes.ts';
import { customerOf } from '../../tables/sighting-row.ts';
import type { RowCounterName } from '../../tables/table-names.ts';
import { WATCH_CHANGE_KEEP_MS } from '../../../work/watch.ts';
import type { Applying, Apply } from './applying.ts';
import { countRemoved } from './lists.ts';
import { removeUnneededParts } from './named-list-history.ts';
import { removeNamedItems } from './named-lists.ts';

interface Expiry {
  /** Removes the row if it is still expired; returns whether it did. */
  readonly remove: (at: Applying, key: Buffer) => boolean;
  /** Counter of the rows of each customer, and the customer of a row. */
  readonly counted?: { readonly as: RowCounterName; readonly ownerOf: (key: Buffer) => CustomerNumber };
}

const EXPIRIES: Readonly<Record<Exclude<ExpiringTable, 'namedListItems' | 'namedListVersions'>, Expiry>> = {
  lists: {
    remove: ({ tables, nowSeconds }, key) => tables.lists.isExpired(key, nowSeconds) && tables.lists.removeRow(key),
    counted: { as: 'lists', ownerOf: (key) => key.readUInt32BE(0) as CustomerNumber },
  },
  // These tables count their rows themselves. The age of their rows is in the keys, so that it cannot have changed.
  audit: { remove: ({ tables }, key) => tables.audit.removeRow(key) },
  labels: { remove: ({ tables }, key) => tables.labels.removeRow(key) },
  shadowReviews: { remove: ({ tables }, key) => tables.shadowReviews.removeRow(key) },
  sightings: {
    remove: ({ tables, nowSeconds }, key) => tables.sightings.removeExpired(key, nowSeconds),
    counted: { as: 'sightings', ownerOf: customerOf },
  },
  watchSeen: { remove: ({ tables }, key) => tables.watches.removeUnneeded(key) },
  watchChanges: {
    remove: ({ tables, nowMs }, key) => tables.watches.removeExpired(key, nowMs - WATCH_CHANGE_KEEP_MS),
  },
  registry: {
    remove: ({ tables, nowSeconds }, key) => tables.registry.removeFaded(key, nowSeconds),
  },
};

export const removeExpired: Apply<'rows.expired'> = (at, { table, keys }) => {
  if (table === 'namedListItems') return removeNamedItems(at, keys);
  if (table === 'namedListVersions') return removeUnneededParts(at, keys);
  const { remove, counted } = EXPIRIES[table];
  const removed = new Map<CustomerNumber, number>();
  let all = 0;
  for (const key of keys) {
    if (!remove(at, key)) continue;
    all++;
    const owner = counted?.ownerOf(key);
    if (owner !== undefined) removed.set(owner, (removed.get(owner) ?? 0) + 1);
  }
  for (const [owner, rows] of removed) {
    if (counted?.as === 'lists') countRemoved(at, owner, rows);
    else if (counted !== undefined) at.tables.rowCounters.add(counted.as, owner, -rows);
  }
  return all;
};
