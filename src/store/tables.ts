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
 * | state       | `registry`     | fingerprint (32)                         | risk f32, customers u32, first seen f64, last seen f64  | server, CLI  | score workers, CLI     |
 * | hot         | `hot-meta`     | counter's number, u8 (1)                 | f64                                                     | server       | server                 |
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
  { environment: 'hot', name: 'hot-meta', keyBytes: 1 },
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

/** Choice: rows that one call of `Lists.page` looks at, so that a rare action's filter never holds the main thread for long. */
export const LIST_SCAN_ROWS_MAX = 10_000;
