/**
 * Every bound of the service, its unit and where it comes from. `Source:` is the contract, `Choice:` is ours with its reason,
 * `Measured:` names a figure. Relations between bounds are asserted at the end, when this file is loaded.
 */

// HTTP

/** Bytes of a decide body. Source: risk specification, section 8. */
export const DECIDE_BODY_BYTES_MAX = 65_536;
/** Bytes of any other body. Source: open points, section 1. */
export const MANAGED_BODY_BYTES_MAX = 1_048_576;
/** Choice: bytes of bodies that have not arrived completely, of all clients and of one source address. Their buffers take up to twice that. */
export const BODIES_UNFINISHED_BYTES_MAX = 256 * 1_048_576;
export const BODIES_UNFINISHED_SOURCE_BYTES_MAX = BODIES_UNFINISHED_BYTES_MAX / 16;
/** Bytes of a request's header names and values in all. Source: open points, section 1. */
export const HEADER_BYTES_MAX = 8_192;
/** Choice: bytes of headers that the transport itself takes in, so that ours is the answer to all but absurd ones. */
export const TRANSPORT_HEADER_BYTES_MAX = 32_768;
/** Choice: well above what browsers and proxies send. */
export const HEADER_COUNT_MAX = 100;

// Verification

/** Source: risk specification, section 5; both ends belong to it. */
export const TIMESTAMP_WINDOW_SECONDS = 300;
/** Source: open points, section 1: an id is kept until its timestamp + 301 s. */
export const REPLAY_KEEP_SECONDS = 301;
/** Choice: expiries are kept in 32 bits, which last until the year 2106; no later time is accepted, simulated or not. */
export const TIMESTAMP_SECONDS_MAX = 2 ** 32 - 1 - REPLAY_KEEP_SECONDS;
/** Source: open points, section 1. */
export const REQUEST_ID_CHARACTERS_MAX = 128;
/** Source: open points, section 1. */
export const REPLAY_IDS_DEFAULT = 16_777_216;

// Journal

/** Choice: a file is full every 24 s at 10,000 decisions/s; zeroing one takes some 2 ms of a thread of the system's pool. */
export const JOURNAL_FILE_BYTES = 4 * 1_048_576;
/** Choice: 16 MiB laid out ahead: on a disk without any room, 90 s of 10,000 decisions/s, or 15 minutes of 1,000. */
export const JOURNAL_SPARES = 4;
/** Choice: with less room on the disk, journal files that have run out are all kept as spares instead of being removed. */
export const JOURNAL_DISK_FREE_BYTES_MIN = 512 * 1_048_576;

// Rate windows. Source for all: open points, section 1.

export const RATE_WINDOW_SECONDS = 60;
export const RATE_SECRET_KEY = 600_000;
export const RATE_PUBLIC_KEY = 60_000;
/** Of one key, apart from what it asks of decide. */
export const RATE_MANAGEMENT = 6_000;
export const RATE_FAILED_AUTHENTICATIONS = 6_000;
/**
 * Choice: of a public key's allowance one source address gets a twentieth, 3,000 a window by default. A visitor asks a few dozen
 * times a minute; an office or a mobile gateway of thousands fits, and nobody uses up a key's minute from one address.
 */
export const RATE_VISITOR_SHARE = 1 / 20;
/** Choice: where a twentieth would be less than one lively visitor needs, it is this, or the whole allowance. */
export const RATE_VISITOR_MIN = 60;
/** Choice: 1 MiB. Of 60,000 sources in one window 14 % share both cells with others, and then by a few requests. */
export const RATE_VISITOR_CELLS = 2 ** 18;
/** Choice: addresses with failed authentications counted in one window; past it all further ones share one counter. */
export const RATE_ADDRESSES_MAX = 65_536;

// Batching

/** Measured: 16 to 64 make no difference in throughput (bench/decide); larger ones only add waiting. */
export const BATCH_REQUESTS_MAX = 32;
/**
 * A batch of this many does not wait for the end of the event loop's turn, where a worker has room. Without it all of 64
 * connections end up in one batch, and main thread and worker take turns instead of working side by side.
 * Measured: 28,000 → 33,000 req/s (bench/decide).
 */
export const BATCH_EAGER_REQUESTS = 16;
/** Choice: at least three bodies of the largest size a frame, so that one large body never stops a batch from filling. */
export const BATCH_BODY_BYTES_MAX = 4 * DECIDE_BODY_BYTES_MAX;
/** Choice: the warm-up has 64 requests in flight, which are five batches at most; one more for the next. */
export const WARM_UP_FRAMES = 6;
/** Choice: the second batch waits at the worker while the first is scored, so the worker never waits for the main thread. */
export const BATCHES_IN_FLIGHT_PER_WORKER = 2;
/** Choice: requests waiting for a worker before new ones get 429 `overloaded`: about 25 ms at 40,000 req/s. */
export const QUEUE_REQUESTS_MAX = 1_024;
/** Choice: a waiting body counts as one request for each of so many bytes; usual ones have some 400. */
export const QUEUE_PLACE_BYTES = 4_096;
/** Choice: a batch takes under a millisecond; one that takes this long has a stuck worker, and only a restart frees it. */
export const BATCH_STUCK_MS = 5_000;

/** Choice: so long after a decide request other work still gives way; at 20 decisions a second and more it always does. */
export const DECIDE_ACTIVE_MS = 50;

// The decide body. Source for the counts: open points, section 2.

export const JSON_DEPTH_MAX = 32;
export const ENTITY_KEYS_MAX = 32;
export const ENTITY_NAME_CHARACTERS_MAX = 64;
export const ENTITY_VALUE_CHARACTERS_MAX = 256;
export const HEADERS_MAX = 64;
/** Source: open points, section 2. */
export const COLLECTOR_TOKEN_BYTES_MAX = 8_192;
/** Choice: the longest real agents have some 400 characters; what lies beyond is not looked at. */
export const USER_AGENT_CHARACTERS_MAX = 1_024;
/** Choice: browsers and servers stop at about this; what lies beyond is not looked at. */
export const URL_CHARACTERS_MAX = 4_096;

// Management. Source: open points, sections 1 and 3.

export const PAGE_ROWS_MAX = 1_000;
export const LISTS_PAGE_ROWS_DEFAULT = 1_000;
export const LIST_BATCH_ENTRIES_MAX = 1_000;
/** Source: contract, "Outcomes". */
export const OUTCOMES_PER_CALL_MAX = 1_000;
/** For so long after a decision its outcome may be reported. Source: contract, "Outcomes". */
export const OUTCOMES_KEPT_MS = 86_400_000;
/** Choice: of reported outcomes that no disk takes so many wait in memory; some 15 MB. */
export const OUTCOMES_WAITING_MAX = 100_000;
export const NOTE_CHARACTERS_MAX = 500;
/** Choice: some 120 MB of the disk, with notes of 500 characters 600 MB. Expired entries count until they are removed. */
export const LIST_ENTRIES_PER_CUSTOMER_MAX = 1_000_000;
/** Choice: one request with an `Idempotency-Key` a second for a day; some 150 MB of the disk. */
export const IDEMPOTENCY_KEYS_PER_CUSTOMER_MAX = 100_000;
/** Choice: a call holds the main thread this long before decisions have their turn; a tenth of their usual p99. */
export const MANAGEMENT_SLICE_MS = 0.3;
/** Choice: the longest pause after a slice, whatever it took, so that calls go on beside any load. */
export const MANAGEMENT_PAUSE_MS_MAX = 10;
/** Choice: calls in work at once, of all customers and of one; they share the thread, so more would only hold more memory. */
export const MANAGEMENT_IN_WORK_MAX = 32;
export const MANAGEMENT_IN_WORK_PER_CUSTOMER_MAX = 8;
/** Choice: calls that wait for that. One customer's, which are a few seconds' worth, and those of all. */
export const MANAGEMENT_WAITING_PER_CUSTOMER_MAX = 256;
export const MANAGEMENT_WAITING_MAX = 2_048;
/** Choice: bytes of the bodies of calls that wait: 16 of the largest of one customer, eight customers' worth in all. */
export const MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX = 16 * MANAGED_BODY_BYTES_MAX;
export const MANAGEMENT_WAITING_BYTES_MAX = 8 * MANAGEMENT_WAITING_BYTES_PER_CUSTOMER_MAX;
/** Measured: the largest body of this size that is parsed and checked on the main thread takes 0.4 ms; larger ones go to a worker. */
export const MANAGED_BODY_INLINE_BYTES_MAX = 4_096;
/**
 * Choice: bodies that the worker reads take 0.3 s of processor time at most, and several seconds where a full machine gives its thread
 * little; one that takes this long is refused, and its thread ended.
 */
export const BODY_READ_MS_MAX = 30_000;
/** Choice: a page of rows ends where it grows past this; 1,000 list entries with notes of 500 characters fit. */
export const PAGE_BYTES_MAX = 1_048_576;
/** Choice: of an answer, so many bytes are handed to the transport in one turn. */
export const ANSWER_PIECE_BYTES = 65_536;
/** Choice: bytes of answers that a customer has not received yet; with more its further calls wait. Three pages of records. */
export const ANSWERS_UNSENT_BYTES_MAX = 32 * 1_048_576;

// Registry. Source: open points, section 3.

export const REGISTRY_HALF_LIFE_START_SECONDS = 7 * 86_400;
export const REGISTRY_HALF_LIFE_SECONDS = 14 * 86_400;
/** Source: open points, section 3: so many distinct customers within so long promote a fingerprint. */
export const PROMOTION_CUSTOMERS_MIN = 3;
export const PROMOTION_WINDOW_SECONDS = 30 * 86_400;
/** Source: open points, section 3: the risk of the first three, what each further customer adds in steps, and where that ends. */
export const PROMOTED_RISK = 90;
export const PROMOTED_RISK_STEP = 2;
export const PROMOTED_RISK_MAX = 98;
/** Choice: in the middle of what `registry_suspicious` takes; without confirmed evidence of three customers. */
export const PROMOTED_RISK_UNCONFIRMED = 60;
/**
 * A customer's BLOCKs by traffic alone are confirmed from so many networks (/24, /48) and days on. Choice: three forged tokens
 * from one place, or all in one evening, are not; a bot that comes back is.
 */
export const SIGHTING_NETWORKS_MIN = 3;
export const SIGHTING_DAYS_MIN = 2;
/** Choice: a fingerprint that a customer has seen on so many days, today included, is not reported by one BLOCK by traffic. */
export const SIGHTING_FAMILIAR_DAYS = 3;
/** Choice: so long after it rose a number of customers is shown, so that nobody learns what another has just blocked. */
export const PROMOTION_SHOWN_AFTER_SECONDS = 86_400;
/** Choice: after so long without a promotion its risk has halved twelve times, to under 0.1; then the entry is no more. */
export const PROMOTION_KEEP_SECONDS = 180 * 86_400;
/** Choice: fingerprints that one customer's evidence is held for at a time, some 100 MB; past it new ones are counted, not kept. */
export const SIGHTINGS_PER_CUSTOMER_MAX = 1_000_000;
/** Choice: half of it at most by BLOCKs, so that an attack leaves room for what the customer says itself. */
export const SIGHTINGS_AUTOMATIC_PER_CUSTOMER_MAX = 500_000;
/** Choice: what one customer's BLOCKs may write in a day: an attack of fresh fingerprints is no more evidence for being longer. */
export const SIGHTINGS_AUTOMATIC_PER_DAY_MAX = 100_000;
/** Choice: sightings by BLOCKs that wait for their write, over all customers, some 15 MB. */
export const SIGHTINGS_WAITING_MAX = 100_000;
/** Choice: a BLOCK that is seen again within so long is not written again; the half-life begins after days. */
export const SIGHTING_REFRESH_SECONDS = 3_600;
/** Measured: a write of so many holds the write lock and the main thread for some 4 ms. */
export const SIGHTINGS_PER_WRITE = 500;

// Review: labels and the shadow review queue

/** Choice: some 140 MB a customer; past it the labels of its oldest decisions go. */
export const LABELS_PER_CUSTOMER_MAX = 1_000_000;
/** Choice: over a year, so that a model learns from every season. */
export const LABELS_KEEP_SECONDS = 400 * 86_400;
/** Choice: more than anyone reviews in the time that they are kept. */
export const SHADOW_REVIEWS_PER_CUSTOMER_MAX = 100_000;
/** Choice: as long as flagged decisions. */
export const SHADOW_REVIEWS_KEEP_SECONDS = 30 * 86_400;
/** Choice: rows that wait for their write, some 8 MB; at the usual 1 % that is 1,600,000 decisions between two writes. */
export const SHADOW_REVIEWS_WAITING_MAX = 16_384;
/** Measured: 10,000 rows in writes of so many take 190 ms with their syncs, some 9 ms each. */
export const SHADOW_REVIEWS_PER_WRITE = 500;
/** Choice: rows that one call of a review queue's page looks at, so that a rare verdict's filter never holds the main thread long. */
export const SHADOW_REVIEWS_SCAN_ROWS_MAX = 10_000;
/** Source: open points, section 1. */
export const SHADOW_REVIEWS_PAGE_ROWS_DEFAULT = 100;

// Policy

/** Choice: thousands of customers with parts of their own fit; checking one this large takes the main thread 0.2 s. */
export const POLICY_BYTES_MAX = 1_048_576;
/** Choice: a file with more faults is no policy; the rest is counted. */
export const POLICY_FAULTS_MAX = 1_000;
/** Choice: more would not fit the file with a part of their own. */
export const POLICY_CUSTOMERS_MAX = 10_000;
/** Choice: the contract has five; room for a customer's own. */
export const POLICY_EVENT_TYPES_MAX = 32;
/** Choice: all of ISO 3166-1 fit. */
export const POLICY_COUNTRIES_MAX = 300;
/** Choice: published lists of hosting networks have some thousand. */
export const POLICY_NETWORKS_MAX = 10_000;
/** Choice: named trusted sources of one part of a policy file, and networks or user agents of each. */
export const POLICY_TRUSTED_NAMES_MAX = 100;
export const POLICY_TRUSTED_PER_NAME_MAX = 1_000;
/** Choice: four times what a request may have. */
export const POLICY_ENTITY_KEYS_MAX = 128;

// Decision log

/** Decisions kept of one customer. Source: open points, section 2. */
export const DECISIONS_KEPT_MAX = 1_000_000;
/** Source: open points, section 2. */
export const ALLOW_KEPT_MS = 86_400_000;
/** Source: open points, section 2. */
export const FLAGGED_KEPT_MS = 30 * ALLOW_KEPT_MS;
/** Choice: a record has some 210 bytes, so both bounds of a block are met at about the same time. */
export const DECISION_BLOCK_ROWS_MAX = 256;
export const DECISION_BLOCK_BYTES_MAX = 65_536;
/** Choice: a page of LMDB, which is written whole anyway; a block that has less is written again when it has grown. */
export const DECISION_BLOCK_BYTES_MIN = 4_096;
/** Choice: five seconds at 40,000 decisions/s, so a disk may pause; past it the oldest decisions that wait are dropped. */
export const DECISION_PENDING_BYTES_MAX = 64 * 1_048_576;
/** Choice: of all customers; 70 of them with all that may be kept of each. */
export const DECISION_LOG_BYTES_MAX = 16 * 2 ** 30;
/** Measured: a block's place in memory takes 365 bytes. */
export const DECISION_LOG_BLOCKS_MAX = 1_000_000;
/** Choice: blocks that grow at the same time, 4 KiB each where their customers are quiet. */
export const DECISION_OPEN_BLOCKS_MAX = 8_192;
/** Choice: with less room on the disk the log grows no further: it removes what is oldest for what is new. */
export const DECISION_DISK_FREE_BYTES_MIN = 512 * 1_048_576;
/** Measured: blocks removed by one call in 0.3 ms. Choice: three times what 40,000 decisions/s fill in a second. */
export const DECISION_PRUNE_BLOCKS_MAX = 512;
/** Choice: rows that one search looks at; some 30 ms of the main thread, in slices. */
export const DECISION_SCAN_ROWS_MAX = 100_000;
/** Choice: searches at once, of all customers and of one; they take turns, so more would only be slower. */
export const DECISION_SEARCHES_MAX = 8;
export const DECISION_SEARCHES_PER_CUSTOMER_MAX = 4;
/** Choice: no address, country or reason is longer. */
export const SEARCH_TEXT_CHARACTERS_MAX = 200;
export const DECISIONS_PAGE_ROWS_DEFAULT = 100;

// Velocity

/** Choice: entities of one event that are counted, the first ones, so that one request touches some thirty records at most. */
export const VELOCITY_ENTITIES_MAX = 8;
/** Choice: a subject that was not seen for so long is forgotten, and so are networks, devices and places of an entity. */
export const VELOCITY_KEEP_SECONDS = 30 * 86_400;
/** Choice: what one typed array of Node.js 20 holds with room to spare; some 60,000,000 records. */
export const VELOCITY_BYTES_MAX = 8 * 2 ** 30;
/** Choice: places this near to each other are one; databases move a city's centre by less. */
export const VELOCITY_PLACE_KM = 50;
/** Choice: as far as people go on a usual day. */
export const VELOCITY_FAMILIAR_KM = 100;
/** Source: the default rules, `travel_impossible`. */
export const VELOCITY_FAMILIAR_SECONDS = 86_400;
/** Source: the default rules, `velocity_machine_rhythm`. */
export const VELOCITY_RHYTHM_EVENTS_MIN = 8;
/**
 * Over so many networks (/24, /48) in 24 h a fingerprint is common. Source: design of detection. A phone on the road has five to
 * ten a day.
 */
export const DEVICE_COMMON_NETWORKS_24H = 20;
/** Choice: five times as many in 30 days, for a model whose owners come to a small shop one by one. */
export const DEVICE_COMMON_NETWORKS_30D = 100;
/** Choice: snapshots that were set aside and are kept for a look at them. */
export const VELOCITY_ASIDE_MAX = 3;

// Webhooks and what else is delivered. Source for what is sent, how often and for how long: open points, section 4.

/** Source: open points, section 4: bytes of a receiver's answer that are read. */
export const DELIVERY_RESPONSE_BYTES_MAX = 65_536;
/** Source: open points, section 4: time for a connection, within the attempt's own. */
export const DELIVERY_CONNECT_MS = 2_000;
/** Choice: attempts of the whole worker that are in flight; a few hundred sockets are far from any limit of descriptors. */
export const ATTEMPTS_IN_FLIGHT_MAX = 512;
/** Choice: an endpoint begins here, gets one more with each success and half after a time-out. */
export const ENDPOINT_ATTEMPTS_START = 4;
export const ENDPOINT_ATTEMPTS_MAX = 16;
export const ENDPOINT_ATTEMPTS_MIN = 2;
/** Choice: attempts at one host and port, whoever's endpoints they are, but for those that take long. */
export const HOST_ATTEMPTS_MAX = 64;
/** Choice: an attempt that has taken so long, ms, takes long: it and what follows it stand apart from those that are quick. */
export const ATTEMPT_LATE_MS = 200;
/** Choice: of those, at one host and port. Measured: 100 of 1,000 endpoints of one host that hang delay no other one. */
export const HOST_LATE_ATTEMPTS_MAX = 96;
/** Choice: deliveries that the worker holds of one endpoint, in flight, waiting their turn or waiting for a retry. */
export const DELIVERIES_HELD_PER_ENDPOINT_MAX = 64;
/** Choice: and of all endpoints, some 20 MB. The rest stays in the store. */
export const DELIVERIES_HELD_MAX = 20_000;
/** Choice: of these so many at most for endpoints whose last attempt failed, so that dead ones never shut out the others. */
export const DELIVERIES_HELD_TROUBLED_MAX = 16_000;
/** Choice: some 600 MB on the disk. Past it a decision's delivery is recorded as skipped. */
export const DELIVERIES_PENDING_MAX = 1_000_000;
/** Choice: of one endpoint; three minutes of 500 decisions a second that it does not keep up with. */
export const DELIVERIES_PENDING_PER_ENDPOINT_MAX = 100_000;
/** Choice: of one customer, so that a few who do not keep up never take all of it. */
export const DELIVERIES_PENDING_PER_CUSTOMER_MAX = 200_000;
/** Choice: deliveries that wait for their row's write, some 40 MB; past it they are in the journal alone, and read from there in turn. */
export const DELIVERIES_WAITING_MAX = 50_000;
/** Choice: rows a second that tell of decisions skipped for unhealthy webhooks; past it they are counted only. */
export const SKIPPED_ROWS_PER_SECOND_MAX = 1_000;
/** Choice: of these for one customer. */
export const SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX = 100;
/** Choice: tests under way of all customers; each takes an attempt's time at most. */
export const WEBHOOK_TESTS_MAX = 128;
/** Choice: and of one customer, each of its webhooks at once; those whose receivers hang leave places for the others. */
export const WEBHOOK_TESTS_PER_CUSTOMER_MAX = 20;
/** Choice: pages of the log that a customer asks for at once: one is made, the others wait for some 20 ms each at most. */
export const DELIVERY_PAGES_PER_CUSTOMER_MAX = 32;

// Extraction

/** By this name robots.txt knows the service. */
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

/**
 * Choice: with less room on the disk nothing is written to the store: a write that meets a full disk damages the process's memory
 * (`disk-room.ts`). A multiple of the largest transaction, some 2 MB, so that others who fill the disk do not use it up between
 * the check and the write.
 */
export const STORE_DISK_FREE_BYTES_MIN = 32 * 1_048_576;
/**
 * Choice: revoked keys in their file, some 8 MB; past it the older half goes. `state` still has these as revoked: only a backup from
 * before their revocation would bring one back.
 */
export const REVOCATIONS_KEPT_MAX = 100_000;
/** Choice: a write that has not committed by then will not: the disk is full or gone, and the environment with it. */
export const STORE_WRITE_MS_MAX = 2_000;

if (RECORD_TEXT_BYTES_MIN * 64 > RECORD_BYTES_MAX) throw new Error('a record must have room for its short texts');
if (BATCH_BODY_BYTES_MAX < DECIDE_BODY_BYTES_MAX) throw new Error('a frame must hold the largest body');
if (REPLAY_KEEP_SECONDS <= TIMESTAMP_WINDOW_SECONDS) throw new Error('ids must outlive the timestamp window');
if (TRANSPORT_HEADER_BYTES_MAX <= HEADER_BYTES_MAX)
  throw new Error('the transport must take in more than the gate allows');
if (WEBHOOK_TESTS_PER_CUSTOMER_MAX >= WEBHOOK_TESTS_MAX) throw new Error('a customer must leave tests to the others');
if (DELIVERIES_HELD_TROUBLED_MAX >= DELIVERIES_HELD_MAX)
  throw new Error('dead endpoints must leave room for the others');
if (DELIVERIES_HELD_PER_ENDPOINT_MAX < ENDPOINT_ATTEMPTS_MAX)
  throw new Error('an endpoint must be handed what it may send');
