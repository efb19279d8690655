/**
 * All sub-databases with the layout of their keys and values. Integers are big-endian, so that keys sort by number.
 *
 * There are three environments, each with its own file and lock: `state/` is durable, `hot/` can be rebuilt, `extract/` is durable and
 * large. A fault in one does not stop the others. `state` is written by the server's main thread and by the command line, which is another
 * process; LMDB's write lock serialises the two. Score workers only read. `extract` is written only by
 * the extraction thread; the main thread reads it, and the command line some of it.
 *
 * | environment | name           | key (bytes)                              | value before its check sum                              | writes       | reads                  |
 * |-------------|----------------|------------------------------------------|---------------------------------------------------------|--------------|------------------------|
 * | state       | `meta`         | counter's number, u8; 0: format version (1) | f64                                                     | server, CLI  | server, CLI            |
 * | state       | `customers`    | customer number, u32 (4)                 | msgpack [id, name, created_at]                          | server, CLI  | server, CLI            |
 * | state       | `customer-ids` | the 26 characters after `cus_` (26)      | customer number, u32                                    | server, CLI  | server, CLI            |
 * | state       | `api-keys`     | SHA-256 of the key's text (32)           | msgpack [customer, kind, prefix, rate, created, revoked, number] | server, CLI | server, CLI    |
 * | state       | `lists`        | customer number, u32; fingerprint or key of a value (4+32) | action u8 (128: for some event types), expiry u32 (0 = never), msgpack [note, created, updated, kind, value, event types] | server | server, score workers |
 * | state       | `list-kinds`   | customer number, u32 (4)                 | which kinds of values it lists (`risk/lists/listed-kinds.ts`) | server | server, score workers |
 * | state       | `registry`     | fingerprint (32)                         | as imported: risk f32, customers u32, first and last seen f64 (24); as promoted: customers u32, first and last seen f64, confirmed, risen at, shown before, u32 each (32); or both | server, CLI | score workers, server, CLI |
 * | state       | `sightings`    | fingerprint; customer number, u32 (32+4) | first seen u32; last seen by list, label, decision, u32 each, 0 = never; days with decisions u16; three networks, u16 each (`sighting-row.ts`) | server, CLI | server, CLI |
 * | state       | `labels`       | customer number, u32; request id (4+16)  | msgpack [label, note, created, fingerprint, public key] | server       | server                 |
 * | state       | `shadow-reviews` | customer number, u32; request id (4+16) | verdict u8 (0 = none), reason u8, msgpack [decision, score, occurred ms, fingerprint, public key, reasons, would be, assignee, note, closed at] | server | server |
 * | state       | `webhooks`     | customer number, u32; webhook id (4+16)  | health, of a fixed length, msgpack [url, event types, description, created, updated, encrypted secrets, disabled] (`webhooks.ts`) | server | server |
 * | state       | `rules`        | customer number, u32; the code without `own_`, filled up with zeros (4+40) | version u8, msgpack [rule] (`own-rule-table.ts`) | server | server |
 * | state       | `named-lists`  | customer number, u32; the name, filled up with zeros (4+40) | version u8, msgpack [list] (`named-list-table.ts`) | server | server, score workers |
 * | state       | `named-list-items` | customer number and list's number, u32; key of a value (4+4+32) | expiry u32 (0 = never), msgpack [created, value] | server | server, score workers |
 * | state       | `named-list-versions` | customer number and list's number, u32 (4+4) | version u8, msgpack [next version, versions] (`named-list-versions-table.ts`) | server, CLI | server, CLI |
 * | state       | `named-list-replaced` | customer number, list's number, version and part, u32 (4+4+4+4) | version u8, msgpack [items before the write of that version] | server, CLI | server, CLI |
 * | state       | `watches`      | customer number, u32; watch id (4+16)    | version u8, msgpack [watch] (`watch-table.ts`)          | server       | server                 |
 * | state       | `watch-seen`   | customer number, u32; watch id; generation, u32; key's hash (4+16+4+16) | version u8, msgpack [hash, key, values, misses]; until its watch goes | server | server |
 * | state       | `watch-changes` | customer number, u32; watch id; number, u32 (4+16+4) | version u8, msgpack [change]; 30 days, 4 MiB a watch | server | server               |
 * | state       | `deliveries`   | customer number, u32; delivery id (4+16) | header of a fixed length, attempts, URL, body (`deliveries/row.ts`) | server | server |
 * | state       | `deliveries-pending` | endpoint's kind, u8, and id; delivery id (1+16+16) | customer number, u32              | server       | server                 |
 * | state       | `rowCounters`      | tally's number, u8; customer number, u32 (5) | rows in the table of that name, f64; for `deliveries` only ended ones | server, CLI | server, CLI |
 * | state       | `audit`        | customer number, u32 (0: no customer); ms, u48; number, u40; 1 for an account, 0 for content, u8 (4+6+5+1) | version u8, msgpack [entry] (`audit-table.ts`) | server, CLI | server, CLI |
 * | state       | `erasures`     | customer number, u32; erasure's id (4+16) | version u8, msgpack [erasure] (`erasure-table.ts`)     | server       | server                 |
 * | state       | `filler`       | number, u32 (4)                          | zeros, only while freed pages are overwritten (`overwrite-pages.ts`) | server | server |
 * | state       | `feed`         | 1, u8 (1)                                | msgpack [cluster, number, token, loading]; only on a node of a cluster | server | server, CLI   |
 * | hot         | `hot-meta`     | counter's number, u8; 0: format version (1) | f64                                                     | server       | server                 |
 * | hot         | `decisions`    | customer number, u32; stream, u8; first arrival, u48; last arrival minus the first, u32; oldest and newest ms, u48 each; rows, u16; bytes, u32 (33) | rows of decisions (`decision-log/block.ts`) | server | server |
 * | hot         | `decision-links` | customer number, u32; stream, u8; first arrival, u48; part, u8 (12) | links and the blocks that have them (`decision-log/link-segment.ts`) | server | server |
 * | hot         | `decision-stats` | customer number, u32; 0 minute or 1 hour, u8; its number, u32 (9) | msgpack, counts of the period (`stats/period-counts.ts`) | server | server |
 * | hot         | `outcomes`     | request id (16)                          | index in `OUTCOMES`, u8                                 | server       | server                 |
 * | hot         | `learning-rows` | customer number, u32; request id (4+16) | msgpack [why it is kept, event type, decision, session, accounts, feature row] (`learning-row-table.ts`) | server | server, CLI |
 * | hot         | `erased`       | customer number, u32; erasure's id (4+16) | nothing: the rows of this node were erased             | server       | server                 |
 * | hot         | `hot-filler`   | number, u32 (4)                          | as `filler`                                            | server       | server                 |
 * | extract     | `extract-meta` | counter's number, u8; 0: format version (1) | f64                                                     | server       | server                 |
 * | extract     | `extract-rowCounters` | tally's number, u8; customer number, u32 (5) | rows in the table of that name, f64                | server       | server                 |
 * | extract     | `jobs`         | customer number, u32; job id (4+16)      | msgpack, the job's constant fields (`extractions/job-row.ts`) | server | server                |
 * | extract     | `job-states`   | job number, u32 (4)                      | the job's variable fields, of a fixed length (`extractions/state-row.ts`) | server  | server                 |
 * | extract     | `jobs-open`    | job number, u32 (4)                      | customer number, u32; job id (4+16)                     | server       | server                 |
 * | extract     | `jobs-ended`   | expiry, ms u48; job number, u32 (6+4)    | customer number, u32; job id; bytes of its records, f64 (4+16+8) | server | server              |
 * | extract     | `jobs-owners`  | job number, u32 (4)                      | token, u32; id of the node of a cluster that runs the job | server     | server                 |
 * | extract     | `jobs-cleanup` | job number, u32 (4)                      | u8: 1 = rows that only running jobs need, 2 = records too | server       | server                 |
 * | extract     | `jobs-deliveries` | job number, u32 (4)                   | customer number, u32; job id (4+16); progress of its delivery, JSON | server | server            |
 * | extract     | `steps`        | job number, u32; step number, u48 (4+6)  | length of its key, u16; its key; its state as JSON      | server       | server                 |
 * | extract     | `step-keys`    | job number, u32; SHA-256 of a step's key, truncated (4+16) | nothing                                     | server       | server                 |
 * | extract     | `record-keys`  | job number, u32; SHA-256 of a record's id, truncated (4+16) | nothing                                    | server       | server                 |
 * | extract     | `record-chunks` | job number, u32; number of its first record, u32 (4+4) | their number, u32; NDJSON                    | server       | server                 |
 * | extract     | `sessions`     | customer number, u32; session id (4+16)  | msgpack [host, created ms, expires ms, encrypted content]  | server       | server                 |
 * | extract     | `failures`     | request id (16)                          | msgpack [customer, job id, count, entries]              | server       | server, CLI            |
 * | extract     | `idempotency`  | customer number, u32; SHA-256 of the key (4+32) | created ms, f64; SHA-256 of the body; encrypted response | server     | server                 |
 *
 * Backups do not include `extract`: it is as large as the fetched data, which can be fetched again.
 *
 * Deliveries are in `state`, because a damaged `hot` is discarded, and pending deliveries must not be lost with it.
 *
 * Each value ends with four more bytes: the CRC-32 of its key and its value (`value.ts`). Reads ignore them; the integrity checks before a
 * start and of a backup verify them, because LMDB does not detect a flipped bit inside a value.
 * The folder of `hot` also contains `hot/replay/`, plain files that do not belong to LMDB.
 */
export const TABLES = [
  { environment: 'state', name: 'meta', keyBytes: 1, kept: 'forever', person: 'none' },
  { environment: 'state', name: 'customers', keyBytes: 4, kept: 'as long as the customer', person: 'none' },
  { environment: 'state', name: 'customer-ids', keyBytes: 26, kept: 'as long as the customer', person: 'none' },
  { environment: 'state', name: 'api-keys', keyBytes: 32, kept: 'as long as the customer', person: 'none' },
  {
    environment: 'state',
    name: 'lists',
    keyBytes: 36,
    kept: 'until its expiry, else until it is removed',
    person: 'lists',
  },
  { environment: 'state', name: 'list-kinds', keyBytes: 4, kept: 'as long as the list', person: 'none' },
  {
    environment: 'state',
    name: 'registry',
    keyBytes: 32,
    kept: 'until it has faded, at most 180 days',
    person: 'none',
  },
  { environment: 'state', name: 'sightings', keyBytes: 36, kept: 'until it has faded', person: 'none' },
  { environment: 'state', name: 'labels', keyBytes: 20, kept: '400 days', person: 'notes' },
  { environment: 'state', name: 'shadow-reviews', keyBytes: 20, kept: '30 days', person: 'notes' },
  { environment: 'state', name: 'webhooks', keyBytes: 20, kept: 'until it is deleted', person: 'none' },
  { environment: 'state', name: 'rules', keyBytes: 44, kept: 'until it is deleted', person: 'none' },
  { environment: 'state', name: 'named-lists', keyBytes: 44, kept: 'until it is deleted', person: 'none' },
  {
    environment: 'state',
    name: 'named-list-items',
    keyBytes: 40,
    kept: 'until its expiry, else until it is removed',
    person: 'named_lists',
  },
  { environment: 'state', name: 'named-list-versions', keyBytes: 8, kept: 'the last four writes', person: 'none' },
  {
    environment: 'state',
    name: 'named-list-replaced',
    keyBytes: 16,
    kept: 'the last four writes',
    person: 'named_lists',
  },
  { environment: 'state', name: 'watches', keyBytes: 20, kept: 'until it is deleted', person: 'extracted' },
  { environment: 'state', name: 'watch-seen', keyBytes: 40, kept: 'as long as its watch', person: 'extracted' },
  { environment: 'state', name: 'watch-changes', keyBytes: 24, kept: '30 days', person: 'extracted' },
  { environment: 'state', name: 'deliveries', keyBytes: 20, kept: '30 days', person: 'deliveries' },
  {
    environment: 'state',
    name: 'deliveries-pending',
    keyBytes: 33,
    kept: 'until the delivery has ended',
    person: 'none',
  },
  { environment: 'state', name: 'tallies', keyBytes: 5, kept: 'as long as the customer', person: 'none' },
  { environment: 'state', name: 'audit', keyBytes: 16, kept: '400 days', person: 'audit' },
  { environment: 'state', name: 'erasures', keyBytes: 20, kept: 'as long as the customer', person: 'none' },
  { environment: 'state', name: 'filler', keyBytes: 4, kept: 'milliseconds', person: 'none' },
  { environment: 'state', name: 'feed', keyBytes: 1, kept: 'as long as the node is in the cluster', person: 'none' },
  { environment: 'hot', name: 'hot-meta', keyBytes: 1, kept: 'forever', person: 'none' },
  { environment: 'hot', name: 'decisions', keyBytes: 33, kept: 'ALLOW 24 hours, others 30 days', person: 'decisions' },
  { environment: 'hot', name: 'decision-links', keyBytes: 12, kept: 'as its decisions', person: 'decisions' },
  { environment: 'hot', name: 'decision-stats', keyBytes: 9, kept: '30 days', person: 'none' },
  { environment: 'hot', name: 'outcomes', keyBytes: 16, kept: '24 hours', person: 'none' },
  { environment: 'hot', name: 'learning-rows', keyBytes: 20, kept: '120 days', person: 'learning_rows' },
  { environment: 'hot', name: 'erased', keyBytes: 20, kept: 'as long as hot', person: 'none' },
  { environment: 'hot', name: 'hot-filler', keyBytes: 4, kept: 'milliseconds', person: 'none' },
  { environment: 'extract', name: 'extract-meta', keyBytes: 1, kept: 'forever', person: 'none' },
  { environment: 'extract', name: 'extract-tallies', keyBytes: 5, kept: 'as long as the customer', person: 'none' },
  { environment: 'extract', name: 'jobs', keyBytes: 20, kept: 'as its records', person: 'extracted' },
  { environment: 'extract', name: 'job-states', keyBytes: 4, kept: 'as its records', person: 'none' },
  { environment: 'extract', name: 'jobs-open', keyBytes: 4, kept: 'until the job has ended', person: 'none' },
  { environment: 'extract', name: 'jobs-ended', keyBytes: 10, kept: 'as its records', person: 'none' },
  { environment: 'extract', name: 'jobs-cleanup', keyBytes: 4, kept: 'until the rows are removed', person: 'none' },
  { environment: 'extract', name: 'jobs-deliveries', keyBytes: 4, kept: 'until it has been delivered', person: 'none' },
  { environment: 'extract', name: 'jobs-owners', keyBytes: 4, kept: 'until the job has ended', person: 'none' },
  { environment: 'extract', name: 'steps', keyBytes: 10, kept: 'until the job has ended', person: 'extracted' },
  { environment: 'extract', name: 'step-keys', keyBytes: 20, kept: 'until the job has ended', person: 'none' },
  { environment: 'extract', name: 'record-keys', keyBytes: 20, kept: 'until the job has ended', person: 'none' },
  { environment: 'extract', name: 'record-chunks', keyBytes: 8, kept: 'as its job', person: 'extracted' },
  { environment: 'extract', name: 'sessions', keyBytes: 20, kept: 'until its expiry', person: 'extracted' },
  { environment: 'extract', name: 'failures', keyBytes: 16, kept: 'as its job', person: 'extracted' },
  { environment: 'extract', name: 'idempotency', keyBytes: 36, kept: '24 hours', person: 'extracted' },
] as const satisfies readonly TableDefinition[];

export interface TableDefinition {
  readonly environment: EnvironmentName;
  readonly name: string;
  readonly keyBytes: number;
  /** For how long a row is kept. */
  readonly kept: string;
  /**
   * How a person is found in it, and so what erases one. `none`: its rows name no person. `extracted`: they have what a source says, which
   * may name anyone; they are not searched. Else the place that erases.
   */
  readonly person: PersonPlace | 'none' | 'extracted';
}

/** The places that hold people; `src/privacy/erase-person.ts` has an eraser for each. Three of them are no tables. */
export type PersonPlace =
  | 'velocity'
  | 'learning_rows'
  | 'requests'
  | 'deliveries'
  | 'notes'
  | 'lists'
  | 'named_lists'
  | 'audit'
  | 'decisions'
  | 'exports';

/**
 * The environments, and which backups contain each. `all`: automatic ones too, from which a start replaces a damaged environment. `manual`:
 * only those that `gatehouse backup` makes. `none`: none. A damaged environment that is not in all backups is recreated empty.
 */
export const ENVIRONMENTS = {
  state: { backups: 'all' },
  hot: { backups: 'manual' },
  extract: { backups: 'none' },
} as const satisfies Readonly<Record<string, { readonly backups: 'all' | 'manual' | 'none' }>>;

export type EnvironmentName = keyof typeof ENVIRONMENTS;
export const ENVIRONMENT_NAMES = Object.keys(ENVIRONMENTS) as readonly EnvironmentName[];

/** The environments that a backup may contain. */
export type BackupName = {
  [N in EnvironmentName]: (typeof ENVIRONMENTS)[N]['backups'] extends 'none' ? never : N;
}[EnvironmentName];

/** Returns the environments of a backup of the given kind. */
export function namesInBackup(kind: 'automatic' | 'manual'): readonly BackupName[] {
  return ENVIRONMENT_NAMES.filter((name): name is BackupName => {
    const { backups } = ENVIRONMENTS[name];
    return backups === 'all' || (backups === 'manual' && kind === 'manual');
  });
}

export type TableName = (typeof TABLES)[number]['name'];

/** Choice: room for future sub-databases; LMDB needs the number when it opens. */
export const TABLES_MAX = 64;

/**
 * The counters of `meta`, and `jobNumbers` and `jobLog` of `extract-meta`, by key. They only increase, except `jobLog`. `keysVersion`
 * increases with every change of `api-keys`; `dueStored` is the sequence up to which the deliveries of all outbox entries are in the store;
 * `jobLog` is the position in a cluster's log of jobs up to which `extract` contains everything, and 0 while the jobs are replaced by those
 * of another node.
 */
export const COUNTERS = {
  customers: 1,
  keyNumbers: 2,
  keysVersion: 3,
  dueStored: 4,
  jobNumbers: 5,
  auditEntries: 6,
  jobLog: 7,
  namedLists: 8,
} as const;
export type CounterName = keyof typeof COUNTERS;

/** The numbers of `rowCounters`, by the table whose rows are counted; of `namedListVersions` they are the bytes of what writes replaced. */
export const TALLIES = {
  sightings: 1,
  labels: 2,
  shadowReviews: 3,
  deliveries: 4,
  lists: 5,
  idempotency: 6,
  audit: 7,
  namedListItems: 8,
  namedListVersions: 9,
} as const;
export type RowCounterName = keyof typeof TALLIES;

/** Choice: rows scanned per call of `Lists.page`, so that a rare action's filter never blocks the main thread for long. */
export const LIST_SCAN_ROWS_MAX = 10_000;
