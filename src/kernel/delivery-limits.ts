/**
 * Limits of webhooks and of other deliveries. Source for what is sent, how often and for how long: contract, 10.5 and 10.6. Tags as in
 * `limits.ts`.
 */

/** Source: contract, 10.5: bytes of a receiver's answer that are read. */
export const DELIVERY_RESPONSE_BYTES_MAX = 65_536;
/** Source: contract, 10.5: time for a connection, within the attempt's own. */
export const DELIVERY_CONNECT_MS = 2_000;
/** Choice: attempts in flight in the whole worker; a few hundred sockets are far below any limit of descriptors. */
export const ATTEMPTS_IN_FLIGHT_MAX = 512;
/** Choice: an endpoint starts with this many, gets one more after each success and half after a time-out. */
export const ENDPOINT_ATTEMPTS_START = 4;
export const ENDPOINT_ATTEMPTS_MAX = 16;
export const ENDPOINT_ATTEMPTS_MIN = 2;
/** Choice: attempts at one host and port, of all endpoints together, except slow ones. */
export const HOST_ATTEMPTS_MAX = 64;
/** Choice: an attempt that takes this long, ms, is slow: it and the endpoint's further attempts are separated from fast ones. */
export const ATTEMPT_LATE_MS = 200;
/** Choice: slow attempts at one host and port. Measured: if 100 of 1,000 endpoints of one host hang, they do not delay any other. */
export const HOST_LATE_ATTEMPTS_MAX = 96;
/** Choice: deliveries that the worker holds per endpoint, in flight, queued or waiting for a retry. */
export const DELIVERIES_HELD_PER_ENDPOINT_MAX = 64;
/** Choice: the same for all endpoints together, some 20 MB. Further deliveries stay in the store. */
export const DELIVERIES_HELD_MAX = 20_000;
/** Choice: the part of these that endpoints whose last attempt failed may use, so that dead ones never shut out the others. */
export const DELIVERIES_HELD_TROUBLED_MAX = 16_000;
/** Choice: some 600 MB on disk. Beyond that a decision's delivery is recorded as skipped. */
export const DELIVERIES_PENDING_MAX = 1_000_000;
/** Choice: per endpoint; three minutes of 500 decisions a second that it cannot keep up with. */
export const DELIVERIES_PENDING_PER_ENDPOINT_MAX = 100_000;
/** Source: contract, 10.14. Choice: each body is taken to be as long as the next one, because those of one webhook are alike. */
export const DELIVERIES_PENDING_BYTES_PER_ENDPOINT_MAX = 256 * 1024 * 1024;
/** Choice: per customer, so that a few slow ones never take all of it. */
export const DELIVERIES_PENDING_PER_CUSTOMER_MAX = 200_000;
/** Choice: deliveries that wait for their row's write, some 40 MB; beyond that they are only in the journal, and read from there later. */
export const DELIVERIES_WAITING_MAX = 50_000;
/** Choice: rows per second for decisions skipped because of unhealthy webhooks; beyond that they are only counted. */
export const SKIPPED_ROWS_PER_SECOND_MAX = 1_000;
/** Choice: the part of these rows that one customer may use. */
export const SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX = 100;
/** Choice: concurrent tests of all customers; each takes at most an attempt's time. */
export const WEBHOOK_TESTS_MAX = 128;
/** Choice: concurrent tests of one customer, one for each of its webhooks; if their receivers hang, slots remain for other customers. */
export const WEBHOOK_TESTS_PER_CUSTOMER_MAX = 20;
/** Choice: concurrent requests of one customer for pages of the log: one is processed, the others wait for at most some 20 ms each. */
export const DELIVERY_PAGES_PER_CUSTOMER_MAX = 32;

if (WEBHOOK_TESTS_PER_CUSTOMER_MAX >= WEBHOOK_TESTS_MAX) throw new Error('one customer must not use up all tests');
if (DELIVERIES_HELD_TROUBLED_MAX >= DELIVERIES_HELD_MAX)
  throw new Error('dead endpoints must leave room for the others');
if (DELIVERIES_HELD_PER_ENDPOINT_MAX < ENDPOINT_ATTEMPTS_MAX)
  throw new Error('an endpoint must be handed as many deliveries as it may send');
