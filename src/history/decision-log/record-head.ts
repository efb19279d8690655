import { decodeRecord } from '../../risk/decision-record.ts';
import { DECISIONS } from '../../risk/decision.ts';

/**
 * Reads the first fields of a record without unpacking it: a msgpack array that begins with the request id (30 characters), the time
 * (float64) and the decision (one byte). A record of any other form is unpacked.
 * Measured: 30 ns against 550 ns.
 */
export interface RecordHead {
  /** Index in `DECISIONS`. */
  decision: number;
  /** Whole Unix milliseconds. */
  occurredAtMs: number;
}

const ID_BYTES = 30;
const ARRAY_16 = 0xdc;
const FIXED_TEXT_30 = 0xa0 | ID_BYTES;
const FLOAT_64 = 0xcb;
const TEXT_8 = 0xd9;
const BINARY_8 = 0xc4;
const NULL = 0xc0;
const HASH_CHARACTERS = 64;

const scratch = Buffer.alloc(8);

/** Fills `head`; returns false if the bytes are no record. Does not allocate for records of the usual form. */
export function readRecordHead(record: Uint8Array, head: RecordHead): boolean {
  const at = idAt(record);
  const decision = at === -1 ? undefined : record[at + ID_BYTES + 9];
  if (decision !== undefined && decision < DECISIONS.length && record[at + ID_BYTES] === FLOAT_64) {
    for (let i = 0; i < 8; i++) scratch[i] = record[at + ID_BYTES + 1 + i] ?? 0;
    head.decision = decision;
    head.occurredAtMs = Math.floor(scratch.readDoubleBE(0));
    return isTime(head.occurredAtMs);
  }
  try {
    const unpacked = decodeRecord(record);
    head.decision = DECISIONS.indexOf(unpacked.decision);
    head.occurredAtMs = Math.floor(unpacked.occurredAtMs);
    return isTime(head.occurredAtMs);
  } catch {
    return false;
  }
}

/** A key has six bytes for the time. */
function isTime(ms: number): boolean {
  return ms >= 0 && ms < 2 ** 48;
}

/** Returns the position of the id's text; -1 for a record of another form. */
function idAt(record: Uint8Array): number {
  const at = record[0] === ARRAY_16 ? 4 : 2;
  return record[at - 1] === FIXED_TEXT_30 ? at : -1;
}

/** Returns whether the record that starts at `from` in `bytes` has this request id. */
export function hasId(bytes: Buffer, from: number, end: number, requestId: Buffer): boolean {
  const at = from + (bytes[from] === ARRAY_16 ? 4 : 2);
  if (bytes[at - 1] === FIXED_TEXT_30) {
    return requestId.length === ID_BYTES && requestId.compare(bytes, at, Math.min(at + ID_BYTES, end)) === 0;
  }
  try {
    return decodeRecord(bytes.subarray(from, end)).requestId === requestId.latin1Slice();
  } catch {
    return false;
  }
}

/**
 * Returns the fingerprint of the record that starts at `from` in `bytes`: null without one, undefined if the record must be unpacked.
 * Decision, score, mode and shadow reason, which precede it, are numbers.
 */
export function readFingerprint(bytes: Buffer, from: number): string | null | undefined {
  let at = from + (bytes[from] === ARRAY_16 ? 4 : 2);
  if (bytes[at - 1] !== FIXED_TEXT_30) return undefined;
  at += ID_BYTES;
  for (let number = 0; number < 5; number++) {
    const length = numberBytes(bytes[at] ?? NULL);
    if (length === 0) return undefined;
    at += length;
  }
  if (bytes[at] === NULL) return null;
  if (bytes[at] === BINARY_8 && bytes[at + 1] === HASH_CHARACTERS / 2)
    return bytes.hexSlice(at + 2, at + 2 + HASH_CHARACTERS / 2);
  if (bytes[at] !== TEXT_8 || bytes[at + 1] !== HASH_CHARACTERS) return undefined;
  return bytes.latin1Slice(at + 2, at + 2 + HASH_CHARACTERS);
}

/** Returns the size of a msgpack number by its first byte; 0 if that byte starts no number. */
function numberBytes(first: number): number {
  if (first < 0x80 || first >= 0xe0) return 1;
  if (first === FLOAT_64 || first === 0xcf || first === 0xd3) return 9;
  if (first === 0xca || first === 0xce || first === 0xd2) return 5;
  if (first === 0xcd || first === 0xd1) return 3;
  return first === 0xcc || first === 0xd0 ? 2 : 0;
}
