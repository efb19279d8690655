import type { Database, RootDatabase } from 'lmdb';
import { table } from './environment.ts';
import { COUNTERS, TALLIES, type TableName } from './table-names.ts';

/** The rows of `state` that changes own, for copies of them to other nodes. Deliveries belong to their node. */

type Owns = (key: Uint8Array) => boolean;

const all: Owns = () => true;
const OWN_COUNTERS: ReadonlySet<number> = new Set([
  COUNTERS.customers,
  COUNTERS.keyNumbers,
  COUNTERS.keysVersion,
  COUNTERS.auditEntries,
  COUNTERS.namedLists,
]);
const OWN_TALLIES: ReadonlySet<number> = new Set([
  TALLIES.sightings,
  TALLIES.labels,
  TALLIES.shadowReviews,
  TALLIES.lists,
  TALLIES.audit,
  TALLIES.namedListItems,
  TALLIES.namedListVersions,
]);

const OWNED: readonly (readonly [TableName, Owns])[] = [
  ['meta', (key) => OWN_COUNTERS.has(key[0] ?? 0)],
  ['tallies', (key) => OWN_TALLIES.has(key[0] ?? 0)],
  ['customers', all],
  ['customer-ids', all],
  ['api-keys', all],
  ['lists', all],
  ['list-kinds', all],
  ['registry', all],
  ['sightings', all],
  ['labels', all],
  ['shadow-reviews', all],
  ['webhooks', all],
  ['rules', all],
  ['named-lists', all],
  ['named-list-items', all],
  ['named-list-versions', all],
  ['named-list-replaced', all],
  ['audit', all],
  ['erasures', all],
  ['watches', all],
  ['watch-seen', all],
  ['watch-changes', all],
];

export interface ChangeTable {
  readonly name: TableName;
  readonly database: Database<Buffer, Buffer>;
  readonly owns: Owns;
}

/** Opens the tables with rows that only `apply` writes, always in the same order. */
export function openChangeTables(root: RootDatabase<Buffer, Buffer>): readonly ChangeTable[] {
  return OWNED.map(([name, owns]) => ({ name, owns, database: table(root, name) }));
}

/** Returns whether customers have data here, so that it must not be replaced without the operator's word. */
export function holdsCustomers(root: RootDatabase<Buffer, Buffer>): boolean {
  return openChangeTables(root)
    .filter(({ name }) => name !== 'meta' && name !== 'tallies')
    .some(({ database }) => database.getKeysCount({ limit: 1 }) > 0);
}
