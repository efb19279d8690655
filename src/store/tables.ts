/**
 * Every sub-database, its key layout and its value: the one place to look. Integers are big-endian, so that keys sort by number.
 *
 * Three environments, each its own file and lock: `state/` is durable, `hot/` can be rebuilt, `extract/` is durable and large, and
 * trouble in one does not stop the others. The server's main thread is the one writer of `state`, beside the command line, which is
 * another process; LMDB's own write lock orders the two. Score workers only read. `extract` is the server's main thread's alone,
 * but for what the command line reads of it.
 *
 * | environment | name           | key (bytes)                              | value before its check sum                              | writes       | reads                  |
 * |-------------|----------------|------------------------------------------|---------------------------------------------------------|--------------|------------------------|
 * | state       | `meta`         | counter's number, u8 (1)                 | f64                                                     | server, CLI  | server, CLI            |
 * | state       | `customers`    | customer number, u32 (4)                 | msgpack [id, name, created_at]                          | server, CLI  | server, CLI            |
 * | state       | `customer-ids` | the 26 characters after `cus_` (26)      | customer number, u32                                    | server, CLI  | server, CLI            |
 * | state       | `api-keys`     | SHA-256 of the key's text (32)           | msgpack [customer, kind, prefix, rate, created, revoked, number] | server, CLI | server, CLI    |
 * | state       | `lists`        | customer number, u32; fingerprint (4+32) | action u8, expiry u32 (0 = never), msgpack [note, created, updated] | server | server, score workers |
 * | state       | `registry`     | fingerprint (32)                         | as imported: risk f32, customers u32, first and last seen f64 (24); as promoted: customers u32, first and last seen f64, confirmed, risen at, shown before, u32 each (32); or both | server, CLI | score workers, server, CLI |
 * | state       | `sightings`    | fingerprint; customer number, u32 (32+4) | first seen u32; last seen in a list, a label, a decision, u32 each, 0 = never; days of decisions u16; three networks, u16 each (`sighting-row.ts`) | server, CLI | server, CLI |
 * | state       | `labels`       | customer number, u32; request id (4+16)  | msgpack [label, note, created, fingerprint, public key] | server       | server                 |
 * | state       | `shadow-reviews` | customer number, u32; request id (4+16) | verdict u8 (0 = none), why u8, msgpack [decision, score, occurred ms, fingerprint, public key, reasons] | server | server |
 * | state       | `webhooks`     | customer number, u32; webhook id (4+16)  | health of a fixed length, msgpack [url, event types, description, created, updated, sealed secrets] (`webhooks.ts`) | server | server |
 * | state       | `deliveries`   | customer number, u32; delivery id (4+16) | head of a fixed length, attempts, URL, body (`deliveries/row.ts`) | server | server |
 * | state       | `deliveries-pending` | endpoint's kind, u8, and id; delivery id (1+16+16) | customer number, u32              | server       | server                 |
 * | state       | `tallies`      | tally's number, u8; customer number, u32 (5) | rows in the table of that name, f64; of `deliveries` those that have ended | server, CLI | server, CLI |
 * | hot         | `hot-meta`     | counter's number, u8 (1)                 | f64                                                     | server       | server                 |
 * | hot         | `decisions`    | customer number, u32; stream, u8; first arrival, u48; last arrival less the first, u32; oldest and newest ms, u48 each; rows, u16; bytes, u32 (33) | rows of decisions (`decision-log/block.ts`) | server | server |
 * | hot         | `outcomes`     | request id (16)                          | position in `OUTCOMES`, u8                              | server       | server                 |
 * | extract     | `extract-meta` | counter's number, u8 (1)                 | f64                                                     | server       | server                 |
 * | extract     | `extract-tallies` | tally's number, u8; customer number, u32 (5) | rows in the table of that name, f64                | server       | server                 |
 * | extract     | `jobs`         | customer number, u32; job id (4+16)      | msgpack, what of a job never changes (`extractions/job-row.ts`) | server | server                |
 * | extract     | `job-states`   | job number, u32 (4)                      | what changes, of a fixed length (`extractions/state-row.ts`) | server  | server                 |
 * | extract     | `jobs-open`    | job number, u32 (4)                      | customer number, u32; job id (4+16)                     | server       | server                 |
 * | extract     | `jobs-ended`   | expiry, ms u48; job number, u32 (6+4)    | customer number, u32; job id; bytes of its records, f64 (4+16+8) | server | server              |
 * | extract     | `jobs-cleanup` | job number, u32 (4)                      | u8: 1 = what only work needs, 2 = the records as well   | server       | server                 |
 * | extract     | `jobs-deliveries` | job number, u32 (4)                   | customer number, u32; job id (4+16); where its delivery stands, JSON | server | server            |
 * | extract     | `steps`        | job number, u32; step number, u48 (4+6)  | length of its key, u16; its key; its state as JSON      | server       | server                 |
 * | extract     | `step-keys`    | job number, u32; SHA-256 of a step's key, cut (4+16) | nothing                                     | server       | server                 |
 * | extract     | `record-keys`  | job number, u32; SHA-256 of a record's id, cut (4+16) | nothing                                    | server       | server                 |
 * | extract     | `record-chunks` | job number, u32; number of its first record, u32 (4+4) | how many, u32; NDJSON                    | server       | server                 |
 * | extract     | `sessions`     | customer number, u32; session id (4+16)  | msgpack [host, created ms, expires ms, sealed content]  | server       | server                 |
 * | extract     | `failures`     | request id (16)                          | msgpack [customer, job id, count, entries]              | server       | server, CLI            |
 * | extract     | `idempotency`  | customer number, u32; SHA-256 of the key (4+32) | created ms, f64; SHA-256 of the body; sealed answer | server     | server                 |
 *
 * `extract` is in no backup: its size is that of what was fetched, and that can be fetched again.
 *
 * Deliveries are in `state` because `hot` is thrown away when it is damaged, and a delivery that was owed must not go with it.
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
  { environment: 'state', name: 'webhooks', keyBytes: 20 },
  { environment: 'state', name: 'deliveries', keyBytes: 20 },
  { environment: 'state', name: 'deliveries-pending', keyBytes: 33 },
  { environment: 'state', name: 'tallies', keyBytes: 5 },
  { environment: 'hot', name: 'hot-meta', keyBytes: 1 },
  { environment: 'hot', name: 'decisions', keyBytes: 33 },
  { environment: 'hot', name: 'outcomes', keyBytes: 16 },
  { environment: 'extract', name: 'extract-meta', keyBytes: 1 },
  { environment: 'extract', name: 'extract-tallies', keyBytes: 5 },
  { environment: 'extract', name: 'jobs', keyBytes: 20 },
  { environment: 'extract', name: 'job-states', keyBytes: 4 },
  { environment: 'extract', name: 'jobs-open', keyBytes: 4 },
  { environment: 'extract', name: 'jobs-ended', keyBytes: 10 },
  { environment: 'extract', name: 'jobs-cleanup', keyBytes: 4 },
  { environment: 'extract', name: 'jobs-deliveries', keyBytes: 4 },
  { environment: 'extract', name: 'steps', keyBytes: 10 },
  { environment: 'extract', name: 'step-keys', keyBytes: 20 },
  { environment: 'extract', name: 'record-keys', keyBytes: 20 },
  { environment: 'extract', name: 'record-chunks', keyBytes: 8 },
  { environment: 'extract', name: 'sessions', keyBytes: 20 },
  { environment: 'extract', name: 'failures', keyBytes: 16 },
  { environment: 'extract', name: 'idempotency', keyBytes: 36 },
] as const satisfies readonly Table[];

export interface Table {
  readonly environment: EnvironmentName;
  readonly name: string;
  readonly keyBytes: number;
}

export type EnvironmentName = 'state' | 'hot' | 'extract';
export type TableName = (typeof TABLES)[number]['name'];

/** Choice: room for the sub-databases to come; LMDB wants the number when it opens. */
export const TABLES_MAX = 32;

/**
 * The counters of `meta`, and `jobNumbers` of `extract-meta`, by key. They only rise; `keysVersion` rises with every change of
 * `api-keys`, and `dueStored` is the newest of the journal's due entries whose deliveries are in the store, as are those of all
 * before it.
 */
export const COUNTERS = { customers: 1, keyNumbers: 2, keysVersion: 3, dueStored: 4, jobNumbers: 5 } as const;
export type CounterName = keyof typeof COUNTERS;

/** The numbers of `tallies`, by the table whose rows are counted. */
export const TALLIES = { sightings: 1, labels: 2, shadowReviews: 3, deliveries: 4, lists: 5, idempotency: 6 } as const;
export type TallyName = keyof typeof TALLIES;

/** Choice: rows that one call of `Lists.page` looks at, so that a rare action's filter never holds the main thread for long. */
export const LIST_SCAN_ROWS_MAX = 10_000;
