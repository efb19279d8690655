import type { CustomerNumber } from '../../kernel/brand.ts';
import { PAGE_ROWS_MAX } from '../../kernel/limits.ts';
import type { Position } from '../../ports/decision-history.ts';
import { type Decision, DECISIONS } from '../../risk/decision.ts';
import { LINK_HASH_BYTES } from '../../risk/decision-links.ts';
import type { ScanQuery, SearchQuery } from '../../history/decision-log/log-query.ts';
import type { LogPlace } from '../../history/decision-log/order.ts';
import type { RawRow } from '../../history/decision-log/search.ts';
import { PEER_PART_BYTES } from '../nodes/peers.ts';

/** Questions of nodes about each other's decisions, as arrays for `pack`. Every reader returns null for anything else. */

type Body = readonly unknown[];

/** Choice: a text to search for, an event type or a reason is no longer. */
const TEXT_CHARACTERS_MAX = 256;
const LINKS_MAX = 8;
/** Choice: more than any scan requests. */
const SCAN_ROWS_MAX = 1_000_000;

export const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isNumberOrNull = (value: unknown): value is number | null => value === null || isNumber(value);
const isTextOrNull = (value: unknown): value is string | null =>
  value === null || (typeof value === 'string' && value.length <= TEXT_CHARACTERS_MAX);
const isDecisionOrNull = (value: unknown): value is Decision | null =>
  value === null || DECISIONS.some((decision) => decision === value);

export function customerIn(value: unknown): CustomerNumber | null {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 0xffff_ffff
    ? (value as CustomerNumber)
    : null;
}

export function writeSearch(customer: CustomerNumber, query: SearchQuery): Body {
  const { sinceMs = null, untilMs = null, eventType = null, reason = null } = query.filter ?? {};
  const { scoreMin = null, scoreMax = null, links = [], loggedAfter = null } = query.filter ?? {};
  const { asn = null, path = null, emailDomain = null } = query.filter ?? {};
  const fields = [sinceMs, untilMs, eventType, reason, scoreMin, scoreMax];
  const hashes = links.map(({ hash }) => hash);
  const places = [writePlace(query.after), writePlace(loggedAfter)];
  // A node that does not know these criteria would leave them out: it refuses a list here, and the result is marked as partial.
  const isDetailed = asn !== null || path !== null || emailDomain !== null;
  const decision = isDetailed ? [query.decision, asn, path, emailDomain] : query.decision;
  return [customer, decision, query.text, query.limit, query.nowMs, fields, hashes, ...places];
}

/** The query of another node, whose positions are still those of all nodes. */
export interface AskedSearch {
  readonly customer: CustomerNumber;
  readonly query: SearchQuery;
}

export function readWireSearch(body: Body): AskedSearch | null {
  const [who, first, text, limit, nowMs, fields, hashes, after, loggedAfter] = body;
  const [decision, asn = null, path = null, emailDomain = null] = Array.isArray(first) ? (first as Body) : [first];
  if (!isNumberOrNull(asn) || !isTextOrNull(path) || !isTextOrNull(emailDomain)) return null;
  const customer = customerIn(who);
  if (customer === null || !isDecisionOrNull(decision) || !isTextOrNull(text) || !isNumber(nowMs)) return null;
  if (!Number.isInteger(limit) || Number(limit) < 1 || Number(limit) > PAGE_ROWS_MAX) return null;
  if (!Array.isArray(fields) || !Array.isArray(hashes) || hashes.length > LINKS_MAX) return null;
  const [sinceMs, untilMs, eventType, reason, scoreMin, scoreMax] = fields as Body;
  if (!isNumberOrNull(sinceMs) || !isNumberOrNull(untilMs) || !isTextOrNull(eventType) || !isTextOrNull(reason))
    return null;
  if (!isNumberOrNull(scoreMin) || !isNumberOrNull(scoreMax)) return null;
  const links = (hashes as Body).filter((hash) => Buffer.isBuffer(hash) && hash.length === LINK_HASH_BYTES);
  if (links.length < hashes.length) return null;
  const filter = {
    sinceMs,
    untilMs,
    eventType,
    reason,
    scoreMin,
    scoreMax,
    asn,
    path,
    emailDomain,
    // Records of builds before the hashes are found on their own node only.
    links: links.map((hash) => ({ hash: hash as Buffer, isIn: () => false })),
    loggedAfter: readPlace(loggedAfter),
  };
  return { customer, query: { decision, text, after: readPlace(after), limit: Number(limit), nowMs, filter } };
}

export function writeScan(customer: CustomerNumber, query: ScanQuery): Body {
  const { sinceMs, untilMs, nowMs, rowsMax, decision = null, text = null, isFlaggedOnly = false } = query;
  return [customer, sinceMs, untilMs, nowMs, rowsMax, decision, text, isFlaggedOnly];
}

export function readScan(body: Body): { readonly customer: CustomerNumber; readonly query: ScanQuery } | null {
  const [who, sinceMs, untilMs, nowMs, rowsMax, decision, text, isFlaggedOnly] = body;
  const customer = customerIn(who);
  if (customer === null || !isNumberOrNull(sinceMs) || !isNumberOrNull(untilMs) || !isNumber(nowMs)) return null;
  if (!isNumber(rowsMax) || rowsMax < 1 || rowsMax > SCAN_ROWS_MAX) return null;
  if (!isDecisionOrNull(decision) || !isTextOrNull(text)) return null;
  const query = { sinceMs, untilMs, nowMs, rowsMax, decision, text, isFlaggedOnly: isFlaggedOnly === true };
  return { customer, query };
}

function writePlace(position: Position | null): Body | null {
  return position === null ? null : [position.occurredAtMs, position.arrival, position.source ?? 0];
}

function readPlace(value: unknown): Position | null {
  const [occurredAtMs, arrival, source] = Array.isArray(value) ? (value as Body) : [];
  return isNumber(occurredAtMs) && isNumber(arrival) && isNumber(source) ? { occurredAtMs, arrival, source } : null;
}

/** A page in parts: the first one begins with where the next page begins. */
export function* writePage(rows: readonly RawRow[], next: LogPlace | null): Generator<Body> {
  let part: unknown[] = ['page', next?.occurredAtMs ?? null, next?.arrival ?? null];
  let bytes = 0;
  for (const { occurredAtMs, arrival, latencyMs, record } of rows) {
    if (bytes > 0 && bytes + record.length > PEER_PART_BYTES) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(occurredAtMs, arrival, latencyMs, record);
    bytes += record.length;
  }
  if (part.length > 0) yield part;
}

export function readWirePage(
  parts: readonly Body[],
): { readonly rows: RawRow[]; readonly next: LogPlace | null } | null {
  const [first = []] = parts;
  const [kind, occurredAtMs, arrival] = first;
  if (kind !== 'page') return null;
  const rows: RawRow[] = [];
  for (const [n, part] of parts.entries()) {
    for (let at = n === 0 ? 3 : 0; at < part.length; at += 4) {
      const row = rowIn(part, at);
      if (row === null) return null;
      rows.push(row);
    }
  }
  return { rows, next: isNumber(occurredAtMs) && isNumber(arrival) ? { occurredAtMs, arrival } : null };
}

function rowIn(part: Body, at: number): RawRow | null {
  const [occurredAtMs, arrival, latencyMs, record] = part.slice(at, at + 4);
  if (!isNumber(occurredAtMs) || !isNumber(arrival) || !isNumber(latencyMs) || !Buffer.isBuffer(record)) return null;
  return { occurredAtMs, arrival, latencyMs, record };
}

/** Collects scanned rows in buffers of about `PEER_PART_BYTES`: time as float64, length as u32, record. */
export class RowBuffers {
  readonly full: Buffer[] = [];
  #buffer = Buffer.allocUnsafe(PEER_PART_BYTES);
  #end = 0;

  add(bytes: Buffer, at: number, end: number, occurredAtMs: number): void {
    const length = end - at;
    if (this.#end + ROW_HEAD_BYTES + length > this.#buffer.length) this.#turn(ROW_HEAD_BYTES + length);
    this.#buffer.writeDoubleLE(occurredAtMs, this.#end);
    this.#buffer.writeUInt32LE(length, this.#end + 8);
    bytes.copy(this.#buffer, this.#end + ROW_HEAD_BYTES, at, end);
    this.#end += ROW_HEAD_BYTES + length;
  }

  done(): readonly Buffer[] {
    this.#turn(0);
    return this.full;
  }

  #turn(bytesMin: number): void {
    if (this.#end > 0) this.full.push(this.#buffer.subarray(0, this.#end));
    this.#buffer = Buffer.allocUnsafe(bytesMin === 0 ? 0 : Math.max(PEER_PART_BYTES, bytesMin));
    this.#end = 0;
  }
}

const ROW_HEAD_BYTES = 12;

/** Calls `visit` for each row of a buffer until it returns true; returns false if the buffer has another form. */
export function visitRows(
  buffer: Buffer,
  visit: (at: number, end: number, occurredAtMs: number) => boolean,
): 'all' | 'enough' | 'malformed' {
  let at = 0;
  while (at < buffer.length) {
    if (at + ROW_HEAD_BYTES > buffer.length) return 'malformed';
    const from = at + ROW_HEAD_BYTES;
    const end = from + buffer.readUInt32LE(at + 8);
    if (end > buffer.length) return 'malformed';
    if (visit(from, end, buffer.readDoubleLE(at))) return 'enough';
    at = end;
  }
  return 'all';
}
