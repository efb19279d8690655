/** Limits of the decision log, of searches in it, and of statistics. Tags as in `limits.ts`. */

/** Decisions kept per customer. Source: contract, 9.4. */
export const DECISIONS_KEPT_MAX = 1_000_000;
/** Source: contract, 9.4. */
export const ALLOW_KEPT_MS = 86_400_000;
/** Source: contract, 9.4. */
export const FLAGGED_KEPT_MS = 30 * ALLOW_KEPT_MS;
/** Choice: a record has some 210 bytes, so both limits of a block are reached at about the same time. */
export const DECISION_BLOCK_ROWS_MAX = 256;
export const DECISION_BLOCK_BYTES_MAX = 65_536;
/** Choice: a page of LMDB, which is written completely anyway; a smaller block is written again when it has grown. */
export const DECISION_BLOCK_BYTES_MIN = 4_096;
/** Choice: five seconds at 40,000 decisions/s, so a disk may pause; beyond that the oldest waiting decisions are dropped. */
export const DECISION_PENDING_BYTES_MAX = 64 * 1_048_576;
/** Choice: for all customers; 70 of them with the maximum log. */
export const DECISION_LOG_BYTES_MAX = 16 * 2 ** 30;
/** Measured: a block's index entry takes 365 bytes of memory. */
export const DECISION_LOG_BLOCKS_MAX = 1_000_000;
/** Choice: blocks growing at the same time, 4 KiB each for customers with little traffic. */
export const DECISION_OPEN_BLOCKS_MAX = 8_192;
/** Choice: with less free disk space the log stops growing: it removes its oldest blocks for new ones. */
export const DECISION_DISK_FREE_BYTES_MIN = 512 * 1_048_576;
/** Measured: one call removes this many blocks in 0.3 ms. Choice: three times as many as 40,000 decisions/s fill in a second. */
export const DECISION_PRUNE_BLOCKS_MAX = 512;
/** Choice: rows scanned per search; some 30 ms of the main thread, in slices. */
export const DECISION_SCAN_ROWS_MAX = 100_000;
/** Choice: decisions on which a condition is tried while it is written; some 10 ms, in slices. */
export const RULE_SAMPLE_DECISIONS = 1_000;
/** Choice: concurrent searches, of all customers and of one; they share the thread, so more would only be slower. */
export const DECISION_SEARCHES_MAX = 8;
/** Choice: flagged decisions whose reasons are fused again in one call; a customer has them in some hours at the most. */
export const RULE_COUNT_FLAGGED_MAX = 20_000;
/** Choice: labels that one call compares with the decisions. */
export const RULE_COUNT_LABELS_MAX = 5_000;
/** Choice: decisions whose links one call counts. */
export const TOP_ROWS_MAX = 20_000;
/** Choice: as many as fit a tile of a page. */
export const TOP_SUBJECTS = 10;
/** Choice: examples that a person reads of each pair of decisions. */
export const CHALLENGER_EXAMPLES_MAX = 20;
export const DECISION_SEARCHES_PER_CUSTOMER_MAX = 4;
/**
 * Choice: decisions in a segment of the index of links: a search reads one part of each, some 250 of a million decisions, and the blocks of
 * at most this many decisions that no segment covers yet.
 */
export const LINK_SEGMENT_ROWS = 4_096;
/** Choice: blocks of a segment of a customer with little traffic, whose blocks have some 16 rows. */
export const LINK_SEGMENT_BLOCKS_MAX = 512;
/** Choice: decisions that one call about a link or a fingerprint summarises, the newest ones; some 10 ms of the main thread, in slices. */
export const LINK_ROWS_MAX = 1_000;
/** Choice: neighbours of a link in a response, those with the most decisions. */
export const LINK_NEIGHBOURS_MAX = 100;
/** Choice: customers counted in a minute, at most some 8 MB; the requests of further ones are not in their statistics. */
export const STATS_CUSTOMERS_MAX = 4_096;
/** Source: contract, 9.5: a day; one hour more, so that hours are summed from complete ones. */
export const STATS_MINUTES_KEPT = 25 * 60;
/** Source: contract, 9.5: 30 days. */
export const STATS_HOURS_KEPT = 30 * 24;
/** Choice: a day in minutes. */
export const STATS_POINTS_MAX = 1_440;
/** Choice: no address, country or reason is longer. */
export const SEARCH_TEXT_CHARACTERS_MAX = 200;

/** Choice: four months hold enough of a customer's seasons, and chargebacks come within that time. */
export const LEARNING_ROWS_KEPT_MS = 120 * 86_400_000;
/** Choice: 30 MB of a customer; a model learns no more from more rows of the same months. */
export const LEARNING_ROWS_PER_CUSTOMER_MAX = 200_000;
/** Choice: rows that wait while the disk accepts no writes, some 2 MB. */
export const LEARNING_ROWS_WAITING_MAX = 10_000;
