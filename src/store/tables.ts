/**
 * Every sub-database, its key layout and its value: the one place to look. Integers are big-endian, so that keys sort by number.
 *
 * Two environments, each its own file and lock: `state/` is durable, `hot/` can be rebuilt, and trouble in one does not stop the
 * other. The server's main thread is the one writer of `state`, beside the command line, which is another process; LMDB's own
 * write lock orders the two. Score workers only read.
 *
 * | environment | name           | key (bytes)                              | value before its check sum                              | writes       | reads                  |
 * |-------------|----------------|------------------------------------------|---------------------------------------------------------|--------------|------------------------|
 * | state       | `meta`         | counter's number, u8 (1)                 | f64                                                     | server, CLI  | server, CLI            |
 * | state       | `customers`    | customer number, u32 (4)                 | msgpack [id, name, created_at]                          | server, CLI  | server, CLI            |
 * | state       | `customer-ids` | the 26 characters after `cus_` (26)      | customer number, u32                                    | server, CLI  | server, CLI            |
 * | state       | `api-keys`     | SHA-256 of the key's text (32)           | msgpack [customer, kind, prefix, rate, created, revoked, number] | server, CLI | server, CLI    |
 * | state       | `lists`        | customer number, u32; fingerprint (4+32) | action u8, expiry u32 (0 = never), msgpack [note, created, updated] | server | server, score workers |
 * | state       | `registry`     | fingerprint (32)                         | as imported: risk f32, customers u32, first and last seen f64 (24); as promoted: customers u32, first and last seen f64 (20); or both | server, CLI | score workers, server, CLI |
 * | state       | `sightings`    | fingerprint; customer number, u32 (32+4) | first seen u32; last seen in a list, a label, a decision, u32 each, 0 = never | server, CLI | server, CLI |
 * | state       | `labels`       | customer number, u32; request id (4+16)  | msgpack [label, note, created, fingerprint, public key] | server       | server                 |
 * | state       | `shadow-reviews` | customer number, u32; request id (4+16) | verdict u8 (0 = none), why u8, msgpack [decision, score, occurred ms, fingerprint, public key, reasons] | server | server |
 * | state       | `tallies`      | tally's number, u8; customer number, u32 (5) | rows in the table of that name, f64                 | server, CLI  | server, CLI            |
 * | hot         | `hot-meta`     | counter's number, u8 (1)                 | f64                                                     | server       | server                 |
 * | hot         | `decisions`    | customer number, u32; stream, u8; first arrival, u48; last arrival less the first, u32; oldest and newest ms, u48 each; rows, u16; bytes, u32 (33) | rows of decisions (`decision-log/block.ts`) | server | server |
 *
 * Each value ends in four bytes more: the CRC-32 of its key and its value (`value.ts`). Reads leave them alone; the probe
 * before a start and the probe of a backup compare them, because a flipped bit inside a value is invisible to LMDB.
 * `hot/replay/` also lives in that folder, as plain files that are not LMDB's.
 */
export const TABLES = [
  { environment: 'state', name: 'meta', keyBytes: 1 },
  { environment: 'state', name: 'customers', keyBytes: 4 },
  { environment: 'state', name: 'customer-ids', keyBytes: 26 },
  { environment: 'state', name: 'api-keys', keyBytes: 32 },
  { environment: 'state', name: 'lists', keyBytes: 36 },
  { environment: 'state', name: 'registry', keyBytes: 32 },
  { environment: 'state', name: 'sightings', keyBytes: 36 },
  { environment: 'state', name: 'labels', keyBytes: 20 },
  { environment: 'state', name: 'shadow-reviews', keyBytes: 20 },
  { environment: 'state', name: 'tallies', keyBytes: 5 },
  { environment: 'hot', name: 'hot-meta', keyBytes: 1 },
  { environment: 'hot', name: 'decisions', keyBytes: 33 },
] as const satisfies readonly Table[];

export interface Table {
  readonly environment: EnvironmentName;
  readonly name: string;
  readonly keyBytes: number;
}

export type EnvironmentName = 'state' | 'hot';
export type TableName = (typeof TABLES)[number]['name'];

/** Choice: room for the sub-databases to come; LMDB wants the number when it opens. */
export const TABLES_MAX = 32;

/** The counters of `meta`, by key. They only rise; `keysVersion` rises with every change of `api-keys`. */
export const COUNTERS = { customers: 1, keyNumbers: 2, keysVersion: 3 } as const;
export type CounterName = keyof typeof COUNTERS;

/** The numbers of `tallies`, by the table whose rows are counted. */
export const TALLIES = { sightings: 1, labels: 2, shadowReviews: 3 } as const;
export type TallyName = keyof typeof TALLIES;

/** Choice: rows that one call of `Lists.page` looks at, so that a rare action's filter never holds the main thread for long. */
export const LIST_SCAN_ROWS_MAX = 10_000;
