import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ExpiringTable } from '../changes.ts';
import { customerOf } from '../sighting-row.ts';
import type { RowCounterName } from '../table-names.ts';
import type { Applying, Apply } from './applying.ts';

interface Expiry {
  /** Removes the row if it is still expired; returns whether it did. */
  readonly remove: (at: Applying, key: Buffer) => boolean;
  /** Null for a table whose rows are not counted. */
  readonly counter: RowCounterName | null;
  readonly ownerOf: (key: Buffer) => CustomerNumber;
}

const firstInKey = (key: Buffer): CustomerNumber => key.readUInt32BE(0) as CustomerNumber;

const EXPIRIES: Readonly<Record<ExpiringTable, Expiry>> = {
  lists: {
    remove: ({ tables, nowSeconds }, key) => tables.lists.isExpired(key, nowSeconds) && tables.lists.removeRow(key),
    counter: 'lists',
    ownerOf: firstInKey,
  },
  // The table of audit entries counts its rows itself.
  audit: { remove: ({ tables }, key) => tables.audit.removeRow(key), counter: null, ownerOf: firstInKey },
  // The age of these rows is in their keys, so that it cannot have changed.
  labels: { remove: ({ tables }, key) => tables.labels.removeRow(key), counter: 'labels', ownerOf: firstInKey },
  shadowReviews: {
    remove: ({ tables }, key) => tables.shadowReviews.removeRow(key),
    counter: 'shadowReviews',
    ownerOf: firstInKey,
  },
  sightings: {
    remove: ({ tables, nowSeconds }, key) => tables.sightings.removeExpired(key, nowSeconds),
    counter: 'sightings',
    ownerOf: customerOf,
  },
  registry: {
    remove: ({ tables, nowSeconds }, key) => tables.registry.removeFaded(key, nowSeconds),
    counter: null,
    ownerOf: firstInKey,
  },
};

export const removeExpired: Apply<'rows.expired'> = (at, { table, keys }) => {
  const { remove, counter, ownerOf } = EXPIRIES[table];
  const removed = new Map<CustomerNumber, number>();
  let all = 0;
  for (const key of keys) {
    if (!remove(at, key)) continue;
    all++;
    removed.set(ownerOf(key), (removed.get(ownerOf(key)) ?? 0) + 1);
  }
  if (counter !== null) for (const [customer, rows] of removed) at.tables.rowCounters.add(counter, customer, -rows);
  return all;
};
