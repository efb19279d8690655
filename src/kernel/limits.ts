/**
 * Limits of the service with their units and origins; those of the decision log, of the velocity store and of deliveries are in
 * `history-limits.ts`, `velocity-limits.ts` and `delivery-limits.ts`. `Source:` is the contract, `Choice:` is our own with its reason,
 * `Measured:` gives a measurement. Relations between limits are asserted at the end, when the file is loaded.
 */

// HTTP

/** Bytes of a decide body. Source: contract, 4.1. */
export const DECIDE_BODY_BYTES_MAX = 65_536;
/** Bytes of any other body. Source: contract, 2.4. */
export const MANAGED_BODY_BYTES_MAX = 1_048_576;
/** Choice: bytes of incompletely received bodies, of all clients and of one source address. Their buffers take up to twice that. */
export const BODIES_UNFINISHED_BYTES_MAX = 256 * 1_048_576;
export const BODIES_UNFINISHED_SOURCE_BYTES_MAX = BODIES_UNFINISHED_BYTES_MAX / 16;
/** Choice: open connections in all by default, sixteen sources' worth. */
export const CONNECTIONS_DEFAULT = 16_384;
/** Choice: open connections of one source by default: a browser opens six, a client library or an office some hundreds. */
export const SOURCE_CONNECTIONS_DEFAULT = 1_024;
/**
 * Choice: TLS handshakes of one source per second: twice what a visitor's address may decide (`RATE_VISITOR_SHARE`).
 * Measured: one takes 0.75 ms of the main thread (RSA, 2,048 bits), so a source can take 8 % of it instead of all.
 */
export const SOURCE_HANDSHAKES_MAX = 100;
/** Choice: seconds' worth of handshakes that a source may begin at once, for a client that opens a pool of connections. */
export const SOURCE_HANDSHAKES_BURST_SECONDS = 2;
/** Choice: 1 MiB. Of 10,000 sources in one second 2 % share both cells with others. */
export const SOURCE_HANDSHAKES_CELLS = 2 ** 17;
/** Choice: at most half of all connections for one source, whatever the settings are. */
export const SOURCE_CONNECTIONS_SHARE = 1 / 2;
/** Choice: the last connections, kept for sources with few open ones (the next constant): metrics scrapes, health checks, small clients. */
export const CONNECTIONS_RESERVED = 64;
/** Choice: a source with this many open connections gets none of the last ones. */
export const CONNECTIONS_RESERVED_SOURCE_MAX = 4;
/**
 * Choice: file descriptors that connections must leave free: 512 attempts and 512 idle sockets of webhooks, as many for extraction, and
 * the store with journal, snapshots and databases.
 */
export const DESCRIPTORS_RESERVED = 2_304;
/** Choice: connections of the dashboard's own port, in all and of one source. A browser opens six; they come out of the reserve. */
export const DASHBOARD_CONNECTIONS_MAX = 256;
export const DASHBOARD_SOURCE_CONNECTIONS_MAX = 64;
/** Choice: pause between two counts of connections by source, ms. */
export const CONNECTIONS_CENSUS_GAP_MS = 250;
/** Total bytes of a request's header names and values. Source: contract, 2.4. */
export const HEADER_BYTES_MAX = 8_192;
/** Choice: bytes of headers that the transport itself accepts, so that only absurd ones get the transport's response instead of ours. */
export const TRANSPORT_HEADER_BYTES_MAX = 32_768;
/** Choice: well above what browsers and proxies send. */
export const HEADER_COUNT_MAX = 100;

// Cross-origin requests

/** Origins whose scripts may use a public key. Source: contract, 2.7. */
export const KEY_ORIGINS_MAX = 20;

// Gate

/** Source: contract, 4.8. */
export const GATE_SESSION_SECONDS = 3_600;
/** Choice: a site's forms and machine paths. Each is compared with every visit. */
export const GATE_PATHS_MAX = 200;

// Keys

/** Choice: more keys of one customer are no longer an overview. Public ones count too. Not a limit of the command line. */
export const KEYS_VALID_PER_CUSTOMER_MAX = 200;
/** Choice: a name is a few words. */
export const KEY_NAME_CHARACTERS_MAX = 100;
/** Choice: the networks of a company's offices and servers. */
export const KEY_NETWORKS_MAX = 32;
/** Choice: seconds for which a browser remembers a preflight response; Chromium's engine keeps none for longer than two hours. */
export const PREFLIGHT_KEEP_SECONDS = 7_200;

// Dashboard. Source: contract, 18.

/** Choice: a working day; a session never lives longer, however much it is used. */
export const DASHBOARD_SESSION_MS = 12 * 3_600_000;
/** Open sessions of one key; the oldest ends. */
export const DASHBOARD_SESSIONS_PER_KEY_MAX = 20;
/** Choice: open sessions in all, some 3 MB; the oldest ends. */
export const DASHBOARD_SESSIONS_MAX = 10_000;
/** Choice: until a person has copied a link from one terminal. */
export const SIGN_IN_CODE_MS = 600_000;
/** Choice: codes that are valid at the same time; the oldest ends. Each comparison reads all of them. */
export const SIGN_IN_CODES_MAX = 16;
/** Choice: a key has 46 characters and a code 43. */
export const SIGN_IN_BODY_BYTES_MAX = 1_024;

// Verification

/** Source: contract, 3.2: both ends are inclusive. */
export const TIMESTAMP_WINDOW_SECONDS = 300;
/** Source: contract, 3.8: an id is kept until its timestamp + 301 s. */
export const REPLAY_KEEP_SECONDS = 301;
/**
 * Choice: how long the clock must stay ahead before ids expire by it: the longest time for which an id is kept. If the clock returns within
 * this time, all ids from before are still known.
 */
export const REPLAY_HOLD_SECONDS = TIMESTAMP_WINDOW_SECONDS + REPLAY_KEEP_SECONDS;
/** Choice: expiries have 32 bits, which last until the year 2106; no later time is accepted, on either clock. */
export const TIMESTAMP_SECONDS_MAX = 2 ** 32 - 1 - REPLAY_KEEP_SECONDS;
/** Source: contract, 3.5. */
export const REQUEST_ID_CHARACTERS_MAX = 128;
/** Source: contract, 3.8. */
export const REPLAY_IDS_DEFAULT = 16_777_216;

// Journal

/** Choice: a file is full after 24 s at 10,000 decisions/s; zeroing one takes some 2 ms of a thread of the libuv pool. */
export const JOURNAL_FILE_BYTES = 4 * 1_048_576;
/** Choice: 16 MiB preallocated: on a full disk, 90 s of 10,000 decisions/s, or 15 minutes of 1,000. */
export const JOURNAL_SPARES = 4;
/** Choice: with less free disk space than this, expired journal files are all kept as spares instead of being removed. */
export const JOURNAL_DISK_FREE_BYTES_MIN = 512 * 1_048_576;

// Rate windows. Source for all: contract, 3.9.

export const RATE_WINDOW_SECONDS = 60;
export const RATE_SECRET_KEY = 600_000;
export const RATE_PUBLIC_KEY = 60_000;
/** The allowance of a test key is never larger. Source: contract, 3.11. */
export const RATE_TEST_KEY_MAX = 6_000;
/** Per key, not including its decide requests. */
export const RATE_MANAGEMENT = 6_000;
export const RATE_FAILED_AUTHENTICATIONS = 6_000;
/** Choice: sign-ins of one key. A person needs one a day, and 20 sessions of a key live at the same time. */
export const RATE_SIGN_INS = 120;
/**
 * Choice: one source address gets a twentieth of a public key's allowance, 3,000 per window by default. A visitor makes a few dozen
 * requests a minute; an office or a mobile gateway of thousands fits, and nobody can use up a key's minute from one address.
 */
export const RATE_VISITOR_SHARE = 1 / 20;
/** Choice: minimum share, or the whole allowance, if a twentieth would be less than one active visitor needs. */
export const RATE_VISITOR_MIN = 60;
/** Choice: 1 MiB. Of 60,000 sources in one window 14 % share both cells with others, and then only by a few requests. */
export const RATE_VISITOR_CELLS = 2 ** 18;
/** Choice: addresses with failed authentications counted per window; all further ones share one counter. */
export const RATE_ADDRESSES_MAX = 65_536;

// Batching

/** Measured: 16 to 64 make no difference in throughput (bench/decide); larger ones only add waiting time. */
export const BATCH_REQUESTS_MAX = 32;
/**
 * A batch of this size does not wait for the end of the event loop's turn if a worker has room. Otherwise all of 64 connections end up in
 * one batch, and main thread and worker alternate instead of working in parallel.
 * Measured: 28,000 → 33,000 req/s (bench/decide).
 */
export const BATCH_EAGER_REQUESTS = 16;
/** Choice: at least three bodies of maximum size per batch buffer, so that one large body never prevents a batch from filling. */
export const BATCH_BODY_BYTES_MAX = 4 * DECIDE_BODY_BYTES_MAX;
/** Choice: the warm-up has 64 requests in flight, which are at most five batches; one more for the next. */
export const WARM_UP_FRAMES = 6;
/** Choice: simulations that workers score at once, each in its own batch buffer; beside a batch of decisions each costs little. */
export const SIMULATION_FRAMES = 2;
/** Choice: further simulations that wait, of all customers and of one; a simulation takes under a millisecond. */
export const SIMULATIONS_WAITING_MAX = 16;
export const SIMULATIONS_PER_CUSTOMER_MAX = 4;
/** Choice: room for some 1,900 records; an event uses far fewer. */
export const SIMULATION_VELOCITY_BYTES = 262_144;
/**
 * Choice: further batches wait at the worker while the first is scored, so that the worker does not wait for the main thread.
 * Measured: with two, a worker had to wait after a quarter of its batches of 16; with three, 1.5 to 2.8 % more decisions (bench/decide).
 */
export const BATCHES_IN_FLIGHT_PER_WORKER = 3;
/** Choice: two full batches. A third one leaves only while they are small, so that nobody waits longer behind those of others (D-554). */
export const REQUESTS_IN_FLIGHT_PER_WORKER = 2 * BATCH_REQUESTS_MAX;
/** Choice: requests waiting for a worker before new ones get 429 `overloaded`: about 25 ms at 40,000 req/s. */
export const QUEUE_REQUESTS_MAX = 1_024;
/** Choice: a waiting body counts as one request per this many bytes; usual ones have some 400. */
export const QUEUE_PLACE_BYTES = 4_096;
/** Choice: a batch takes under a millisecond; if it takes this long, its worker is stuck, and only a restart helps. */
export const BATCH_STUCK_MS = 5_000;

/** Choice: time after a decide request during which other work yields; at 20 decisions a second and more it always does. */
export const DECIDE_ACTIVE_MS = 50;

// The decide body. Source for the counts: contract, 4.1 and 4.2.

export const JSON_DEPTH_MAX = 32;
/**
 * Choice: more than twice what the documented fields have. V8 hashes and interns each name and short text that it parses: 64 KB of new
 * ones take 3 to 5 ms of the score thread.
 */
export const JSON_ITEMS_MAX = 512;
export const ENTITY_KEYS_MAX = 32;
export const ENTITY_NAME_CHARACTERS_MAX = 64;
export const ENTITY_VALUE_CHARACTERS_MAX = 256;
export const HEADERS_MAX = 64;
/** Source: contract, 4.5. */
export const COLLECTOR_TOKEN_BYTES_MAX = 8_192;
/** Source: contract, 17.2: a grant of the collector, seconds. */
export const GRANT_KEEP_SECONDS = 1_800;
/** Choice: a form that is sent in the last second of a grant reaches the service within this, also through a slow backend. */
export const GRANT_LATE_SECONDS = 300;
/** Source: contract, 17.2: grants of one source address per window. A page needs one in 30 minutes. */
export const RATE_GRANTS = 60;
/** Choice: the body of a grant request is ignored. */
export const GRANT_BODY_BYTES_MAX = 1_024;
/** Choice: a page makes a token for each form, so one nonce never has as many; 20 bits fit a word of the replay window. */
export const TOKEN_SEQUENCE_MAX = 2 ** 20 - 1;
/** Choice: the longest real agents have some 400 characters; the rest is ignored. */
export const USER_AGENT_CHARACTERS_MAX = 1_024;
/** Choice: browsers and servers have about this limit; the rest is ignored. */
export const URL_CHARACTERS_MAX = 4_096;

// Management. Source: contract, 2.5 and 7.

export const PAGE_ROWS_MAX = 1_000;
export const LISTS_PAGE_ROWS_DEFAULT = 1_000;
export const LIST_BATCH_ENTRIES_MAX = 1_000;
/** Source: contract, 9.1. */
export const OUTCOMES_PER_CALL_MAX = 1_000;
/** Time after a decision during which its outcome may be reported. Source: contract, 9.1. */
export const OUTCOMES_KEPT_MS = 86_400_000;
/** Choice: reported outcomes kept in memory while the disk accepts no writes; some 15 MB. */
export const OUTCOMES_WAITING_MAX = 100_000;
export const NOTE_CHARACTERS_MAX = 500;
/** Choice: a name, or an e-mail address. */
export const ASSIGNEE_CHARACTERS_MAX = 100;
/** Choice: some 120 MB on disk, with notes of 500 characters 600 MB. Expired entries count until they are removed. */
export const LIST_ENTRIES_PER_CUSTOMER_MAX = 1_000_000;
/** Unix seconds. Choice: expiries are stored in 32 bits, which last until the year 2106. */
export const LIST_EXPIRY_SECONDS_MAX = 0xffff_ffff;
/** Choice: one request with an `Idempotency-Key` a second for a day; some 150 MB on disk. */
export const IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX = 100_000;
/** Choice: a call holds the main thread for this long before it yields to decisions; a tenth of their usual p99. */
export const MANAGEMENT_SLICE_MS = 0.3;
/** Choice: the longest pause after a slice, whatever its length, so that calls make progress under any load. */
export const MANAGEMENT_PAUSE_MS_MAX = 10;
/** Choice: the longest pause of the thread that reads large bodies, so that ten a second are read under any load. */
export const THREAD_REST_MS_MAX = 100;
/** Choice: the longest pause of that thread after a body whose call holds the main thread; one full batch of list entries a second. */
export const HELD_REST_MS_MAX = 1_000;
/**
 * Choice: how long a connection whose large body is refused unread waits for its response while decisions arrive; less than the second that
 * the response asks the client to wait.
 */
export const REFUSED_BODY_PAUSE_MS = 250;
/** Choice: calls in progress at once, of all customers and of one; they share the thread, so more would only use more memory. */
export const MANAGEMENT_IN_WORK_MAX = 32;
export const MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX = 8;
/** Choice: calls waiting to start, of one customer (a few seconds' worth) and of all. */
export const MANAGEMENT_WAITING_PER_CUSTOMER_MAX = 256;
export const MANAGEMENT_WAITING_MAX = 2_048;
/** Choice: bytes of the bodies of waiting calls: 16 of maximum size per customer, eight customers' worth in total. */
export const MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX = 16 * MANAGED_BODY_BYTES_MAX;
export const MANAGEMENT_WAITING_BYTES_MAX = 8 * MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX;
/** Measured: the largest body of this size takes 0.4 ms to parse and validate on the main thread; larger ones go to a worker. */
export const MANAGED_BODY_INLINE_BYTES_MAX = 4_096;
/**
 * Choice: a body takes the worker at most 0.3 s of processor time, which can be several seconds on a busy machine. A body that takes longer
 * than this limit is rejected, and the worker is terminated.
 */
export const BODY_READ_MS_MAX = 30_000;
/** Choice: a page of rows ends when it exceeds this size; 1,000 list entries with notes of 500 characters fit. */
export const PAGE_BYTES_MAX = 1_048_576;
/** Choice: bytes of a response handed to the transport per turn of the event loop. */
export const ANSWER_PIECE_BYTES = 65_536;
/** Choice: bytes of responses that a customer has not received yet; beyond this its further calls wait. Three pages of records. */
export const ANSWERS_UNSENT_BYTES_MAX = 32 * 1_048_576;

// Registry. Source: contract, 8.

export const REGISTRY_HALF_LIFE_START_SECONDS = 7 * 86_400;
export const REGISTRY_HALF_LIFE_SECONDS = 14 * 86_400;
/** Source: contract, 8.2: this many distinct customers within this time promote a fingerprint. */
export const CONSENSUS_CUSTOMERS_MIN = 3;
export const CONSENSUS_WINDOW_SECONDS = 30 * 86_400;
/** Source: contract, 8.2: the risk for the first three customers, the step for each further one, and the maximum. */
export const CONSENSUS_RISK = 90;
export const CONSENSUS_RISK_STEP = 2;
export const CONSENSUS_RISK_MAX = 98;
/** Choice: in the middle of the range of `registry_suspicious`; used without confirmed evidence of three customers. */
export const CONSENSUS_RISK_UNCONFIRMED = 60;
/**
 * Minimum number of networks (/24, /48) and days from which a customer's BLOCKs by traffic alone count as confirmed. Choice: three forged
 * tokens from one place, or all in one evening, are not confirmed; a bot that returns is.
 */
export const SIGHTING_NETWORKS_MIN = 3;
export const SIGHTING_DAYS_MIN = 2;
/** Choice: a fingerprint that a customer has seen on this many days, including today, is not reported after one BLOCK by traffic. */
export const SIGHTING_FAMILIAR_DAYS = 3;
/** Choice: delay before an increased number of customers is shown, so that nobody learns what another customer has just blocked. */
export const CONSENSUS_SHOWN_AFTER_SECONDS = 86_400;
/** Choice: after this time without a new consensus the risk has halved twelve times, to under 0.1; then the entry is removed. */
export const CONSENSUS_KEEP_SECONDS = 180 * 86_400;
/** Choice: fingerprints for which one customer's evidence is kept at a time, some 100 MB; beyond that new ones are counted, not stored. */
export const SIGHTINGS_PER_CUSTOMER_MAX = 1_000_000;
/** Choice: at most half of it by BLOCKs, so that an attack leaves room for the customer's own lists and labels. */
export const SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX = 500_000;
/** Choice: sightings that one customer's BLOCKs may write per day: a longer attack with fresh fingerprints is no more evidence. */
export const SIGHTINGS_AUTOMATIC_PER_DAY_MAX = 100_000;
/** Choice: sightings by BLOCKs that wait for their write, of all customers, some 15 MB. */
export const SIGHTINGS_WAITING_MAX = 100_000;
/** Choice: a BLOCK repeated within this time is not written again; the half-life starts after days. */
export const SIGHTING_REFRESH_SECONDS = 3_600;
/** Measured: a write of this size holds the write lock and the main thread for some 4 ms. */
export const SIGHTINGS_PER_WRITE = 500;

// Review: labels and the shadow review queue

/** Choice: some 140 MB per customer; beyond that the labels of its oldest decisions are removed. */
export const LABELS_PER_CUSTOMER_MAX = 1_000_000;
/** Choice: over a year, so that a model learns from every season. */
export const LABELS_KEEP_SECONDS = 400 * 86_400;
/** Choice: more than anyone reviews within their retention. */
export const SHADOW_REVIEWS_PER_CUSTOMER_MAX = 100_000;
/** Choice: as long as flagged decisions. */
export const SHADOW_REVIEWS_KEEP_SECONDS = 30 * 86_400;
/** Choice: rows that wait for their write, some 8 MB; at the usual 1 % that is 1,600,000 decisions between two writes. */
export const SHADOW_REVIEWS_WAITING_MAX = 16_384;
/** Choice: rows of one customer among them, so that others have room while writes take long. */
export const SHADOW_REVIEWS_WAITING_PER_CUSTOMER_MAX = 4_096;
/** Choice: the main thread writes as many in some 1 ms. */
export const SHADOW_REVIEWS_PER_WRITE = 100;
/** Choice: rows scanned per call of a review queue's page, so that a rare verdict's filter never blocks the main thread for long. */
export const SHADOW_REVIEWS_SCAN_ROWS_MAX = 10_000;
/** Choice: rows looked at in one transaction on the main thread to find those to evict, some 0.5 ms. */
export const SHADOW_REVIEWS_EVICTION_ROWS_MAX = 500;

// Audit log

/** Choice: over a year, as labels. */
export const AUDIT_KEEP_SECONDS = 400 * 86_400;
/** Choice: 20 MB of the longest entries per customer; beyond that the oldest are removed, entries about content first. */
export const AUDIT_ENTRIES_PER_CUSTOMER_MAX = 10_000;
/** Choice: bytes of each of `before` and `after` as JSON, so that an entry has under 2 KB. */
export const AUDIT_FACTS_BYTES_MAX = 900;
/** Measured: scanning as many keys for an entry to remove, and writing the new one, takes 0.6 ms. */
export const AUDIT_EVICTION_KEYS_MAX = 1_000;
/** Choice: rows scanned per call of a page, so that a rare kind's filter takes few time slices. Measured: 18 µs a row. */
export const AUDIT_SCAN_ROWS_MAX = 2_000;

// Policy

/** Choice: fits thousands of customers with their own parts; validating a file this large takes the main thread 0.2 s. */
export const POLICY_BYTES_MAX = 1_048_576;
/** Choice: decisions of months can be explained, since most policies change now and then. */
export const POLICIES_KEPT_MAX = 16;
/** Choice: validating this much at a start takes 0.4 s; usual policies have a few kilobytes. */
export const POLICIES_KEPT_BYTES_MAX = 2 * POLICY_BYTES_MAX;
/** Choice: a person reads no more; two policies that share nothing differ in some 250 settings for each event type. */
export const POLICY_DIFFERENCES_MAX = 200;
/** Choice: a file with more faults is not a policy; further ones are only counted. */
export const POLICY_FAULTS_MAX = 1_000;
/** Choice: more customers with their own parts would not fit the file. */
export const POLICY_CUSTOMERS_MAX = 10_000;
/** Choice: the contract has five; leaves room for a customer's own. */
export const POLICY_EVENT_TYPES_MAX = 32;
/** Choice: fits all of ISO 3166-1. */
export const POLICY_COUNTRIES_MAX = 300;
/** Choice: published lists of hosting networks have some thousand. */
export const POLICY_NETWORKS_MAX = 10_000;
/** Choice: named trusted sources per part of a policy file, and networks or user agents per source. */
export const POLICY_TRUSTED_NAMES_MAX = 100;
export const POLICY_TRUSTED_PER_NAME_MAX = 1_000;
/** Choice: four times the maximum of a request. */
export const POLICY_ENTITY_KEYS_MAX = 128;

// Extraction

/** The name of the service in robots.txt. */
export const EXTRACT_USER_AGENT = 'Gatehouse/1';
/** Choice: size of one record as a line of JSON, which receivers of webhooks usually accept. Larger records are truncated. */
export const RECORD_BYTES_MAX = 1_048_576;
/** Choice: truncation never cuts a text below this size, so ids, addresses and titles stay complete. */
export const RECORD_TEXT_BYTES_MIN = 1_024;
/**
 * Maximum pages per requested record of a job with a limit. Choice: if fewer than one page in ten yields a record, the operation, scope or
 * schema does not fit the site, and every page costs a credit. Does not apply to mode `all`.
 */
export const PAGES_PER_RECORD_MAX = 10;
/** Choice: pages that every job may read, so that a small limit gets past menus and front pages. */
export const PAGES_PER_JOB_MIN = 200;

// Store

/** Choice: automatic backups that are kept, each of the size of `state`: three hours of hourly ones. */
export const BACKUPS_KEPT = 3;
/**
 * Choice: with less free disk space nothing is written to the store: a write that meets a full disk corrupts the process's memory
 * (`disk-room.ts`). A multiple of the largest transaction, some 2 MB, so that other writers do not fill the disk between the check and the
 * write.
 */
export const STORE_DISK_FREE_BYTES_MIN = 32 * 1_048_576;
/**
 * Choice: keys in the file of revocations, some 8 MB; beyond that the older half is removed. The store (`state`) still lists them as
 * revoked: one becomes valid again only by restoring a backup from before its revocation.
 */
export const REVOCATIONS_KEPT_MAX = 100_000;
/** Choice: a write that has not committed by then never will: the disk is full or gone, and the store's environment is unusable. */
export const STORE_WRITE_MS_MAX = 2_000;

if (RECORD_TEXT_BYTES_MIN * 64 > RECORD_BYTES_MAX) throw new Error('a record must have room for its short texts');
if (BATCH_BODY_BYTES_MAX < DECIDE_BODY_BYTES_MAX) throw new Error('a batch buffer must hold the largest body');
if (REPLAY_KEEP_SECONDS <= TIMESTAMP_WINDOW_SECONDS) throw new Error('ids must outlive the timestamp window');
if (TRANSPORT_HEADER_BYTES_MAX <= HEADER_BYTES_MAX)
  throw new Error('the transport must accept more than the header validation allows');
