import { unpack } from '../kernel/pack.ts';
import { PackWriter } from '../kernel/pack-writer.ts';
import type { ChallengerFinding } from './challenger-finding.ts';
import { storedWeight } from './stored-weight.ts';
import { DECISIONS, SESSION_MODES, type Decision, type SessionMode } from './decision.ts';
import type { Facts } from './facts.ts';
import type { Verdict } from './fuse.ts';
import { type Outcome, OUTCOMES } from './event-outcome.ts';
import { writeFeatureRow } from './feature-row.ts';
import type { LearningNote } from './learning-note.ts';
import { writeClass } from './record-class.ts';
import { readContributions, type RecordedContribution, withFindings } from './record-contributions.ts';
import type { Rule } from './rules/rule.ts';
import { SHADOW_REASONS, type ShadowReason } from './shadow.ts';

/**
 * One stored decision: for the decision log, the shadow review queue and the registry. Created by the score worker, which alone has the
 * facts, and passed through the main thread as bytes.
 *
 * It contains no token, identity or client header except as a keyed hash (`trace`); evidence may contain part of the client's text.
 */
export interface DecisionRecord {
  readonly requestId: string;
  readonly occurredAtMs: number;
  readonly decision: Decision;
  /** The decision that observe mode replaced with ALLOW; null outside of it. */
  readonly wouldBe: Decision | null;
  /** 0 to 100, one decimal. */
  readonly score: number;
  readonly sessionMode: SessionMode;
  /** Why it was copied to the shadow review queue; null when it was not. */
  readonly shadow: ShadowReason | null;
  /** The challenger's decision; null without a challenger, and in records of older builds. */
  readonly challenger: Decision | null;
  /** 64 lower-case hex digits; null without a session token. */
  readonly fingerprintHash: string | null;
  /** True for a collector's fingerprint, false for one derived from the token. */
  readonly collector: boolean;
  readonly publicKey: boolean;
  /** Lower case, truncated. */
  readonly eventType: string;
  /** Canonical text; null unless a valid address was given. */
  readonly ip: string | null;
  readonly country: string | null;
  readonly asn: number | null;
  /** The response's reasons, in their order. */
  readonly contributions: readonly RecordedContribution[];
  /** Rules of the customer's own that were evaluated without an effect. */
  readonly observed: readonly RecordedContribution[];
  /** What the challenger model found; absent without one. */
  readonly beside?: ChallengerFinding;
  /** What its feature row was made under; absent without a row, and in records of older builds. */
  readonly learning?: LearningNote;
  /** As given in the request itself. */
  readonly outcome: Outcome | null;
  /** Identifies the event in the velocity store when its outcome is reported; null if outcomes change nothing for it. */
  readonly trace: Uint8Array | null;
  /** Path of the URL, without query; truncated. Null without one, and in records of older builds, as everything below. */
  readonly path: string | null;
  /** For `readClass`. */
  readonly classBytes: Buffer | null;
  /** For `readFeatureRow`; null if the decision is ALLOW and not in the sample. */
  readonly features: Buffer | null;
  /** Masked or plain values of the identities, in the order of their links; null unless the policy keeps them. */
  readonly identities: readonly string[] | null;
  /** For `readLinkTail`. */
  readonly links: Buffer | null;
}

/** Choice: the contract's event types have at most 8 characters; leaves room for a customer's own. */
const EVENT_TYPE_CHARACTERS_MAX = 64;
/** Choice: no rule's own evidence is longer; limits what a client's text may add. */
const EVIDENCE_CHARACTERS_MAX = 200;
/** Choice: longer paths have ids in them, and the beginning tells which part of the site it is. */
const PATH_CHARACTERS_MAX = 100;
/** Choice: fits every e-mail address; a longer value is a text and no identity. */
const IDENTITY_CHARACTERS_MAX = 254;
const COLLECTOR = 1;
const PUBLIC_KEY = 2;
/** Bits above the flags: the position in `DECISIONS` of the decision that observe mode replaced with ALLOW, plus 1; 0 outside of it. */
const WOULD_BE_SHIFT = 2;
const WOULD_BE_MASK = 7;
/**
 * One byte has the shadow reason's position plus 1, and above it the position in `DECISIONS` of the challenger's decision plus 1; 1 less in
 * all, so that a record without a challenger is that of an older build.
 */
const SHADOW_STATES = 4;
if (SHADOW_REASONS.length >= SHADOW_STATES) throw new Error('a record has no room for another shadow reason');

export interface RecordParts {
  readonly requestId: string;
  readonly occurredAtMs: number;
  readonly verdict: Verdict;
  /** Null or absent outside observe mode. */
  readonly wouldBe?: Decision | null;
  readonly sessionMode: SessionMode;
  readonly shadow: ShadowReason | null;
  /** Null or absent without a challenger. */
  readonly challenger?: Decision | null;
  readonly publicKey: boolean;
  readonly eventType: string;
  /** Null without a session token. */
  readonly facts: Facts | null;
  /** What is kept without a session token: the outcome, and the trace for one that is reported later. Default `facts`. */
  readonly counted?: Pick<Facts, 'outcome' | 'history'> | null;
  readonly contributions: readonly {
    readonly rule: Pick<Rule, 'code'>;
    readonly weight: number;
    readonly evidence: string;
    readonly decides?: Decision;
    readonly isObserved?: boolean;
  }[];
  /** Null or absent without a challenger model. */
  readonly beside?: ChallengerFinding | null;
  /** Null or absent: none are kept. */
  readonly links?: LinkTail | null;
  /** Whether to keep the feature row. Default: with `learning`. */
  readonly withFeatures?: boolean;
  /** What the feature row is made under; null or absent if that is not kept. */
  readonly learning?: LearningNote | null;
}

/** The links of a decision, as `LinkTailWriter` builds them, and the values that the policy keeps beside them. */
export interface LinkTail {
  readonly bytes: Uint8Array | null;
  readonly identities: readonly string[] | null;
}

/** Choice: all rules at once with the longest evidence, at three bytes a character, take less than half of it. */
const RECORD_BYTES_MAX = 65_536;
const writer = new PackWriter(Buffer.alloc(RECORD_BYTES_MAX));

/** Bytes that are valid until the next record is written. */
export interface WrittenRecord {
  readonly bytes: Buffer;
  readonly length: number;
}

/**
 * Encodes the record without allocating: the next call overwrites the bytes. Fields are positional, so a new one must be inserted before
 * the links; docs/adding.md names what else knows the number of fields.
 */
export function writeRecord(parts: RecordParts): WrittenRecord {
  const { verdict, facts, contributions } = parts;
  writer.end = 0;
  writer.array(FIELDS);
  writer.text(parts.requestId);
  writer.number(parts.occurredAtMs);
  writer.small(DECISIONS.indexOf(verdict.decision));
  writer.number(verdict.score);
  writer.small(SESSION_MODES.indexOf(parts.sessionMode));
  const challenger = parts.challenger ?? null;
  writer.small(
    (parts.shadow === null ? -1 : SHADOW_REASONS.indexOf(parts.shadow)) +
      (challenger === null ? 0 : (DECISIONS.indexOf(challenger) + 1) * SHADOW_STATES),
  );
  if (facts === null) writer.null();
  else writer.hash(facts.fingerprintHash);
  const wouldBe = parts.wouldBe ?? null;
  writer.small(
    (facts?.token.kind === 'collector' && facts.token.hasFingerprint ? COLLECTOR : 0) |
      (parts.publicKey ? PUBLIC_KEY : 0) |
      (wouldBe === null ? 0 : (DECISIONS.indexOf(wouldBe) + 1) << WOULD_BE_SHIFT),
  );
  writer.text(parts.eventType.slice(0, EVENT_TYPE_CHARACTERS_MAX));
  writer.textOrNull(facts?.ip?.kind === 'valid' ? facts.ip.text : null);
  writer.textOrNull(facts?.geo?.country ?? null);
  const asn = facts?.geo?.asn ?? null;
  if (asn === null) writer.null();
  else writer.number(asn);
  const all = withFindings(contributions, parts.beside ?? null, parts.learning ?? null);
  writer.array(all.length * 3);
  for (const contribution of all) {
    writer.text(contribution.rule.code);
    writer.number(storedWeight(contribution));
    writer.text(contribution.evidence.slice(0, EVIDENCE_CHARACTERS_MAX));
  }
  const counted = parts.counted ?? facts;
  const outcome = counted?.outcome ?? null;
  writer.small(outcome === null ? -1 : OUTCOMES.indexOf(outcome));
  const trace = counted?.history?.trace ?? null;
  if (trace === null) writer.null();
  else writer.binary(trace.bytes, trace.length);
  writeDetail(parts);
  return { bytes: writer.bytes, length: writer.end };
}

/** Writes the fields that links, models and statistics need. The links come last, so that they can be read from the record's end. */
function writeDetail({
  facts,
  contributions,
  links,
  publicKey,
  learning = null,
  withFeatures = learning !== null,
}: RecordParts): void {
  writePath(facts?.url ?? null);
  const classed = facts === null ? 0 : writeClass(writer.bytes, writer.place, facts, publicKey);
  if (classed === 0) writer.null();
  else writer.placed(classed);
  if (facts === null || !withFeatures) writer.null();
  else writer.placed(writeFeatureRow(writer.bytes, writer.place, facts, contributions));
  const identities = links?.identities ?? null;
  if (identities === null) writer.null();
  else {
    writer.array(identities.length);
    for (const identity of identities) writer.text(identity.slice(0, IDENTITY_CHARACTERS_MAX));
  }
  const tail = links?.bytes ?? null;
  if (tail === null) writer.null();
  else writer.binary(tail, tail.length);
}

/** Writes the path of a URL, with or without an origin before it. */
function writePath(url: string | null): void {
  if (url === null || url === '') return writer.null();
  const origin = url.indexOf('://');
  const from = origin === -1 ? 0 : url.indexOf('/', origin + 3);
  if (from === -1) return writer.text('/');
  let end = Math.min(url.length, from + PATH_CHARACTERS_MAX);
  for (let at = from; at < end; at++) {
    const code = url.charCodeAt(at);
    if (code === QUESTION_MARK || code === NUMBER_SIGN) end = at;
  }
  writer.part(url, from, end);
}

const QUESTION_MARK = 63;
const NUMBER_SIGN = 35;

/** Returns the same in a separate buffer. */
export function encodeRecord(parts: RecordParts): Buffer {
  const { bytes, length } = writeRecord(parts);
  return Buffer.from(bytes.subarray(0, length));
}

/** Fields of a record; those of older builds have at most 15, and the fingerprint as text. */
const FIELDS = 20;
/** Bytes before the fingerprint: the array, the id of 30 characters, time, decision, score, mode, shadow. */
const FINGERPRINT_AT = 55;
const BINARY_8 = 0xc4;
/** First byte of a text of fewer than 32 bytes, to which its length is added. */
const FIXED_TEXT = 0xa0;
const FINGERPRINT_BYTES = 32;
const TEXT_8 = 0xd9;
const NIL = 0xc0;

/** Returns only the record's fingerprint; null without one. Measured: 0.05 µs, 0.55 µs for the whole record. */
export function fingerprintOf(record: Buffer): string | null {
  const at = FINGERPRINT_AT;
  if (record[0] !== 0xdc || record[at] !== BINARY_8 || record[at + 1] !== FINGERPRINT_BYTES)
    return decodeRecord(record).fingerprintHash;
  return record.hexSlice(at + 2, at + 2 + FINGERPRINT_BYTES);
}

/** Returns whether the request had a session token. */
export function hasSession(record: Buffer): boolean {
  return fingerprintAtEnd(record) !== FINGERPRINT_AT + 1;
}

/** Returns only the record's event type. */
export function eventTypeOf(record: Buffer): string {
  // After the fingerprint and the flags.
  const at = fingerprintAtEnd(record) + 1;
  const head = record[at] ?? 0;
  if (head >= FIXED_TEXT && head < FIXED_TEXT + 32) return record.utf8Slice(at + 1, at + 1 + head - FIXED_TEXT);
  return decodeRecord(record).eventType;
}

/** Returns only the record's address; null unless a valid one was given. */
export function addressOf(record: Buffer): string | null {
  const at = endOfText(record, fingerprintAtEnd(record) + 1);
  const end = at === null ? null : endOfText(record, at);
  if (at === null || end === null) return record[at ?? 0] === NIL ? null : decodeRecord(record).ip;
  return record.latin1Slice(end - textBytes(record, at), end);
}

/** Returns where the text that begins at `at` ends; null for anything but a text of fewer than 256 bytes. */
function endOfText(record: Buffer, at: number): number | null {
  const bytes = textBytes(record, at);
  return bytes < 0 ? null : at + bytes + (record[at] === TEXT_8 ? 2 : 1);
}

function textBytes(record: Buffer, at: number): number {
  const head = record[at] ?? 0;
  if (head === TEXT_8) return record[at + 1] ?? 0;
  return head >= FIXED_TEXT && head < FIXED_TEXT + 32 ? head - FIXED_TEXT : -1;
}

function fingerprintAtEnd(record: Buffer): number {
  return FINGERPRINT_AT + (record[FINGERPRINT_AT] === BINARY_8 ? 2 + FINGERPRINT_BYTES : 1);
}

/** Throws on bytes that were not written by `encodeRecord`. */
export function decodeRecord(bytes: Uint8Array): DecisionRecord {
  const [
    id,
    at,
    decision,
    score,
    mode,
    shadow,
    fingerprint,
    flags,
    eventType,
    ip,
    country,
    asn,
    fired,
    outcome,
    trace,
    path,
    classed,
    features,
    identities,
    links,
  ] = unpack(bytes);
  const decided = DECISIONS[Number(decision)];
  const sessionMode = SESSION_MODES[Number(mode)];
  if (typeof id !== 'string' || decided === undefined || sessionMode === undefined || !Array.isArray(fired)) {
    throw new Error('these bytes are not a decision record');
  }
  const { all, beside, learning } = readContributions(fired);
  return {
    requestId: id,
    occurredAtMs: Number(at),
    decision: decided,
    wouldBe: wouldBeOf(Number(flags)),
    score: Number(score),
    sessionMode,
    shadow: SHADOW_REASONS[((Number(shadow) + 1) % SHADOW_STATES) - 1] ?? null,
    challenger: challengerOf(Number(shadow)),
    fingerprintHash: hashOf(fingerprint),
    collector: (Number(flags) & COLLECTOR) !== 0,
    publicKey: (Number(flags) & PUBLIC_KEY) !== 0,
    eventType: String(eventType),
    ip: textOrNull(ip),
    country: textOrNull(country),
    asn: typeof asn === 'number' ? asn : null,
    contributions: all.filter(({ isObserved }) => isObserved !== true),
    observed: all.filter(({ isObserved }) => isObserved === true),
    ...(beside !== null && { beside }),
    ...(learning !== null && { learning }),
    // Older records have none of what follows.
    outcome: OUTCOMES[Number(outcome ?? -1)] ?? null,
    trace: bytesOrNull(trace),
    path: textOrNull(path),
    classBytes: bytesOrNull(classed),
    features: bytesOrNull(features),
    identities: Array.isArray(identities) ? identities.map(String) : null,
    links: bytesOrNull(links),
  };
}

/** Returns whether a record's flags say that a public key signed the request. */
export function hasPublicKey(flags: number): boolean {
  return (flags & PUBLIC_KEY) !== 0;
}

/** Returns the challenger's decision of a record's byte; null without one. */
export function challengerOf(shadow: number): Decision | null {
  return DECISIONS[Math.floor((shadow + 1) / SHADOW_STATES) - 1] ?? null;
}

/** Returns the decision of a record's flags that observe mode replaced; null outside of it. */
export function wouldBeOf(flags: number): Decision | null {
  return DECISIONS[((flags >> WOULD_BE_SHIFT) & WOULD_BE_MASK) - 1] ?? null;
}

/** Returns the trusted source of the decision; null for any other. */
export function trustedName({ contributions }: Pick<DecisionRecord, 'contributions'>): string | null {
  return contributions.find(({ code }) => code === 'trusted_source')?.evidence ?? null;
}

/** Older builds stored the digits. */
function hashOf(value: unknown): string | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : textOrNull(value);
}

/** Copied, because the bytes of a record may be borrowed. */
function bytesOrNull(value: unknown): Buffer | null {
  return value instanceof Uint8Array ? Buffer.from(value) : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
