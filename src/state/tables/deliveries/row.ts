import type { CustomerNumber } from '../../../kernel/brand.ts';
import {
  type Delivery,
  DELIVERY_ERRORS,
  DELIVERY_EVENTS,
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  type DeliveryAttempt,
  type DeliveryError,
  type DeliveryEvent,
  type DeliveryId,
  type DeliveryStatus,
  type DeliveryTrigger,
} from '../../../work/webhook.ts';
import { ID_BYTES, readId, rowIdOf, rowKey, writeId } from '../request-rows.ts';
import { addSum, SUM_BYTES, withSum } from '../value.ts';

/**
 * Binary format of a delivery, without msgpack: filters and updates touch the header only, and the body is only copied. Integers are
 * big-endian, times Unix milliseconds with 0 for none.
 *
 *   status u8   trigger u8   event u8   error u8 (0 = none)   endpoint's kind u8   endpoint's id (16)   request id (16)
 *   created u48   completed u48   next attempt u48   elapsed ms u32   attempts u8   bytes of the URL u16
 *   attempts, 14 bytes each: number u8   started u48   duration ms u32   status code u16 (0 = none)   error u8 (0 = none)
 *   URL   body
 *
 * Measured: 1.1 µs to encode one with a body of 600 bytes and its check sum.
 */
const TRIGGER_AT = 1;
const EVENT_AT = 2;
const ERROR_AT = 3;
const ENDPOINT_AT = 4;
const REQUEST_AT = 21;
const CREATED_AT = 37;
const COMPLETED_AT = 43;
const NEXT_AT = 49;
const ELAPSED_AT = 55;
const ATTEMPTS_AT = 59;
const URL_BYTES_AT = 60;
const HEAD_BYTES = 62;
const ATTEMPT_BYTES = 14;
/** Choice: maximum number of recorded attempts, far more than any schedule makes; later attempts are not recorded. */
const ATTEMPTS_MAX = 255;

/** Kinds of endpoints: webhooks, and the endpoints of extraction jobs. The index is the kind's number. */
const ENDPOINT_KINDS = ['wh', 'ext'] as const;
/** Bytes of an endpoint's kind and id. */
export const ENDPOINT_BYTES = 1 + ID_BYTES;
const PENDING_KEY_BYTES = ENDPOINT_BYTES + ID_BYTES;
/** Bytes of the customer's number, with which a row's key begins. */
const CUSTOMER_BYTES = 4;

const PENDING = DELIVERY_STATUSES.indexOf('pending');
const EXTRACTION = DELIVERY_TRIGGERS.indexOf('extraction');

/** Result of an attempt, or the end of a delivery without a further attempt. */
export interface DeliveryUpdate {
  readonly customer: CustomerNumber;
  readonly id: DeliveryId;
  /** Appended to the attempts; null if there was none. */
  readonly attempt: DeliveryAttempt | null;
  readonly status: DeliveryStatus;
  readonly error: DeliveryError | null;
  readonly elapsedMs: number;
  readonly completedAtMs: number | null;
  readonly nextAttemptAtMs: number | null;
}

/** Fields of a row that can be read without decoding all of it. */
export interface DeliveryHead {
  readonly id: DeliveryId;
  readonly trigger: DeliveryTrigger;
}

/** Returns null if it is no delivery id. */
export function deliveryRowKey(customer: CustomerNumber, id: string): Buffer | null {
  return rowKey('dlv', customer, id);
}

/** Returns null if it is no endpoint id. */
export function endpointKey(endpointId: string): Buffer | null {
  const key = Buffer.allocUnsafe(ENDPOINT_BYTES);
  return writeEndpoint(endpointId, key, 0) ? key : null;
}

export function endpointIdOf(from: Buffer, at = 0): string {
  return readId(nameAt(ENDPOINT_KINDS, from.readUInt8(at)), from, at + 1);
}

/** Returns the key in the index of pending deliveries: endpoint, then delivery. `endpoint` starts at `at`. */
export function pendingKey(endpoint: Uint8Array, key: Buffer, at = 0): Buffer {
  const joined = Buffer.allocUnsafe(PENDING_KEY_BYTES);
  for (let i = 0; i < ENDPOINT_BYTES; i++) joined[i] = endpoint[at + i] ?? 0;
  key.copy(joined, ENDPOINT_BYTES, key.length - ID_BYTES);
  return joined;
}

/** Returns the index key of a stored row. */
export function pendingKeyOf(key: Buffer, stored: Uint8Array): Buffer {
  return pendingKey(stored, key, ENDPOINT_AT);
}

/** Returns the key of the row to which a key of that index belongs. */
export function keyOfPending(customer: CustomerNumber, place: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(CUSTOMER_BYTES + ID_BYTES);
  key.writeUInt32BE(customer, 0);
  for (let i = 0; i < ID_BYTES; i++) key[CUSTOMER_BYTES + i] = place[ENDPOINT_BYTES + i] ?? 0;
  return key;
}

/** Returns whether a key of that index belongs to a webhook's delivery. */
export function isOfWebhook(place: Uint8Array): boolean {
  return place[0] === ENDPOINT_KINDS.indexOf('wh');
}

/** Returns the id of the decision that a delivery is about. */
export function requestOfRow(stored: Buffer): string {
  return readId('req', stored, REQUEST_AT);
}

export function isPending(stored: Uint8Array): boolean {
  return stored[0] === PENDING;
}

export function deliveryHeadOf(key: Buffer, stored: Buffer): DeliveryHead {
  return {
    id: rowIdOf('dlv', key) as DeliveryId,
    trigger: nameAt(DELIVERY_TRIGGERS, stored.readUInt8(TRIGGER_AT)),
  };
}

export function encodeRow(key: Buffer, row: Delivery): Buffer {
  const urlBytes = Buffer.byteLength(row.url);
  const attempts = row.attempts.slice(0, ATTEMPTS_MAX);
  const urlAt = HEAD_BYTES + attempts.length * ATTEMPT_BYTES;
  const value = Buffer.allocUnsafe(urlAt + urlBytes + row.body.length);
  writeState(value, row);
  value.writeUInt8(DELIVERY_TRIGGERS.indexOf(row.trigger), TRIGGER_AT);
  value.writeUInt8(DELIVERY_EVENTS.indexOf(row.event), EVENT_AT);
  if (!writeEndpoint(row.endpointId, value, ENDPOINT_AT)) throw new Error('a delivery needs the id of an endpoint');
  if (!writeId('req', row.requestId, value, REQUEST_AT)) throw new Error('a delivery needs a request id');
  writeTime(value, row.createdAtMs, CREATED_AT);
  value.writeUInt8(attempts.length, ATTEMPTS_AT);
  value.writeUInt16BE(urlBytes, URL_BYTES_AT);
  for (const [i, attempt] of attempts.entries()) writeAttempt(value, attempt, HEAD_BYTES + i * ATTEMPT_BYTES);
  value.write(row.url, urlAt);
  value.set(row.body, urlAt + urlBytes);
  return withSum(key, value);
}

/**
 * Returns the updated row with its check sum. `stored` may be borrowed. Choice: an ended delivery of an extraction job loses its body,
 * which has up to 1 MiB: it is never sent again, and its records are in the store.
 */
export function updateRow(key: Buffer, stored: Buffer, update: Omit<DeliveryUpdate, 'customer' | 'id'>): Buffer {
  const isCut = update.status !== 'pending' && stored.readUInt8(TRIGGER_AT) === EXTRACTION;
  const keptBytes = isCut ? bodyAtOf(stored) : stored.length - SUM_BYTES;
  const count = stored.readUInt8(ATTEMPTS_AT);
  const attempt = count < ATTEMPTS_MAX && !isRecorded(stored, count, update.attempt) ? update.attempt : null;
  const end = HEAD_BYTES + count * ATTEMPT_BYTES;
  const rest = attempt === null ? end : end + ATTEMPT_BYTES;
  const value = Buffer.allocUnsafe(keptBytes + rest - end + SUM_BYTES);
  stored.copy(value, 0, 0, end);
  stored.copy(value, rest, end, keptBytes);
  writeState(value, update);
  if (attempt !== null) {
    writeAttempt(value, attempt, end);
    value.writeUInt8(count + 1, ATTEMPTS_AT);
  }
  return addSum(key, value);
}

/** A partially refused write is repeated completely, so an attempt may be recorded already. */
function isRecorded(stored: Buffer, count: number, attempt: DeliveryAttempt | null): boolean {
  if (attempt === null || count === 0) return false;
  return stored.readUInt8(HEAD_BYTES + (count - 1) * ATTEMPT_BYTES) >= bounded(attempt.attempt, 0xff);
}

function bodyAtOf(stored: Buffer): number {
  return HEAD_BYTES + stored.readUInt8(ATTEMPTS_AT) * ATTEMPT_BYTES + stored.readUInt16BE(URL_BYTES_AT);
}

/**
 * `stored` must belong to the caller: the body is a view into it.
 * Measured: 1 µs; with the header spread into the object instead of named fields, 10 µs.
 */
export function decodeRow(key: Buffer, stored: Buffer): Delivery {
  const attempts: DeliveryAttempt[] = [];
  const urlAt = HEAD_BYTES + stored.readUInt8(ATTEMPTS_AT) * ATTEMPT_BYTES;
  for (let at = HEAD_BYTES; at < urlAt; at += ATTEMPT_BYTES) attempts.push(readAttempt(stored, at));
  const bodyAt = urlAt + stored.readUInt16BE(URL_BYTES_AT);
  return {
    id: rowIdOf('dlv', key) as DeliveryId,
    customer: key.readUInt32BE(0) as CustomerNumber,
    endpointId: endpointIdOf(stored, ENDPOINT_AT),
    url: stored.utf8Slice(urlAt, bodyAt),
    event: nameAt(DELIVERY_EVENTS, stored.readUInt8(EVENT_AT)),
    requestId: readId('req', stored, REQUEST_AT),
    status: nameAt(DELIVERY_STATUSES, stored.readUInt8(0)),
    trigger: nameAt(DELIVERY_TRIGGERS, stored.readUInt8(TRIGGER_AT)),
    attempts,
    error: errorOf(stored.readUInt8(ERROR_AT)),
    elapsedMs: stored.readUInt32BE(ELAPSED_AT),
    createdAtMs: stored.readUIntBE(CREATED_AT, 6),
    completedAtMs: stored.readUIntBE(COMPLETED_AT, 6) || null,
    nextAttemptAtMs: stored.readUIntBE(NEXT_AT, 6) || null,
    body: stored.subarray(bodyAt, stored.length - SUM_BYTES),
  };
}

export interface DeliveryFilters {
  /** Each is null for all. */
  readonly webhookId: string | null;
  readonly status: DeliveryStatus | null;
  readonly requestId: string | null;
  readonly event: DeliveryEvent | null;
}

/** Bytes that a row must contain, and their offset. */
export type RowFilter = readonly { readonly at: number; readonly bytes: Buffer }[];

/** Returns null if no row can match, because an id is invalid. */
export function filterOf({ webhookId, status, requestId, event }: DeliveryFilters): RowFilter | null {
  const filter: { at: number; bytes: Buffer }[] = [];
  if (status !== null) filter.push({ at: 0, bytes: Buffer.from([DELIVERY_STATUSES.indexOf(status)]) });
  if (event !== null) filter.push({ at: EVENT_AT, bytes: Buffer.from([DELIVERY_EVENTS.indexOf(event)]) });
  if (webhookId !== null) {
    const bytes = endpointKey(webhookId);
    if (bytes === null) return null;
    filter.push({ at: ENDPOINT_AT, bytes });
  }
  if (requestId !== null) {
    const bytes = Buffer.allocUnsafe(ID_BYTES);
    if (!writeId('req', requestId, bytes, 0)) return null;
    filter.push({ at: REQUEST_AT, bytes });
  }
  return filter;
}

export function matchesFilter(stored: Buffer, filter: RowFilter): boolean {
  return filter.every(({ at, bytes }) => bytes.compare(stored, at, at + bytes.length) === 0);
}

function writeEndpoint(endpointId: string, target: Buffer, at: number): boolean {
  const kind = ENDPOINT_KINDS.findIndex((prefix) => writeId(prefix, endpointId, target, at + 1));
  if (kind < 0) return false;
  target.writeUInt8(kind, at);
  return true;
}

type State = Pick<Delivery, 'status' | 'error' | 'elapsedMs' | 'completedAtMs' | 'nextAttemptAtMs'>;

function writeState(value: Buffer, state: State): void {
  value.writeUInt8(DELIVERY_STATUSES.indexOf(state.status), 0);
  value.writeUInt8(errorNumber(state.error), ERROR_AT);
  writeTime(value, state.completedAtMs, COMPLETED_AT);
  writeTime(value, state.nextAttemptAtMs, NEXT_AT);
  value.writeUInt32BE(bounded(state.elapsedMs, 0xffff_ffff), ELAPSED_AT);
}

function writeAttempt(value: Buffer, attempt: DeliveryAttempt, at: number): void {
  value.writeUInt8(bounded(attempt.attempt, 0xff), at);
  writeTime(value, attempt.startedAtMs, at + 1);
  value.writeUInt32BE(bounded(attempt.durationMs, 0xffff_ffff), at + 7);
  value.writeUInt16BE(bounded(attempt.statusCode ?? 0, 0xffff), at + 11);
  value.writeUInt8(errorNumber(attempt.error), at + 13);
}

function readAttempt(stored: Buffer, at: number): DeliveryAttempt {
  return {
    attempt: stored.readUInt8(at),
    startedAtMs: stored.readUIntBE(at + 1, 6),
    durationMs: stored.readUInt32BE(at + 7),
    statusCode: stored.readUInt16BE(at + 11) || null,
    error: errorOf(stored.readUInt8(at + 13)),
  };
}

function writeTime(value: Buffer, timeMs: number | null, at: number): void {
  value.writeUIntBE(bounded(timeMs ?? 0, 2 ** 48 - 1), at, 6);
}

/** Rounds, because durations have fractions. */
function bounded(value: number, max: number): number {
  return Math.max(0, Math.min(max, Math.round(value)));
}

function errorNumber(error: DeliveryError | null): number {
  return error === null ? 0 : DELIVERY_ERRORS.indexOf(error) + 1;
}

function errorOf(number: number): DeliveryError | null {
  return number === 0 ? null : nameAt(DELIVERY_ERRORS, number - 1);
}

function nameAt<T>(names: readonly T[], number: number): T {
  const name = names[number];
  if (name === undefined) throw new Error('a stored delivery has the wrong form');
  return name;
}
