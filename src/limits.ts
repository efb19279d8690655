/**
 * Every bound of the service, its unit and where it comes from. `Source:` is the contract, `Choice:` is ours with its reason,
 * `Measured:` names a figure. Relations between bounds are asserted at the end, when this file is loaded.
 */

// HTTP

/** Bytes of a decide body. Source: risk specification, section 8. */
export const DECIDE_BODY_BYTES_MAX = 65_536;
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

// Rate windows. Source for all: open points, section 1.

export const RATE_WINDOW_SECONDS = 60;
export const RATE_SECRET_KEY = 600_000;
export const RATE_PUBLIC_KEY = 60_000;
export const RATE_FAILED_AUTHENTICATIONS = 6_000;
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
/** Choice: the second batch waits at the worker while the first is scored, so the worker never waits for the main thread. */
export const BATCHES_IN_FLIGHT_PER_WORKER = 2;
/** Choice: requests waiting for a worker before new ones get 429 `overloaded`: about 25 ms at 40,000 req/s. */
export const QUEUE_REQUESTS_MAX = 1_024;
/** Choice: a batch takes under a millisecond; one that takes this long has a stuck worker, and only a restart frees it. */
export const BATCH_STUCK_MS = 5_000;

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

// Registry. Source: open points, section 3.

export const REGISTRY_HALF_LIFE_START_SECONDS = 7 * 86_400;
export const REGISTRY_HALF_LIFE_SECONDS = 14 * 86_400;

// Store

/** Choice: a write that has not committed by then will not: the disk is full or gone, and the environment with it. */
export const STORE_WRITE_MS_MAX = 2_000;

if (BATCH_BODY_BYTES_MAX < DECIDE_BODY_BYTES_MAX) throw new Error('a frame must hold the largest body');
if (REPLAY_KEEP_SECONDS <= TIMESTAMP_WINDOW_SECONDS) throw new Error('ids must outlive the timestamp window');
if (TRANSPORT_HEADER_BYTES_MAX <= HEADER_BYTES_MAX)
  throw new Error('the transport must take in more than the gate allows');
