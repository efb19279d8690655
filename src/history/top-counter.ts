import { DECISIONS } from '../risk/decision.ts';
import { codeOfKind, isEntityCode, type LinkCode, visitLinks } from '../risk/link-tail.ts';
import { LINK_HASH_BYTES } from '../risk/decision-links.ts';
import type { RawRecord } from './decision-log/raw-record.ts';
import type { RowPlace } from './decision-log/scan.ts';
import { SplitSet } from '../kernel/split-set.ts';
import type { Slices } from '../state/turns.ts';

/** What is counted of each subject: its decisions, the flagged ones, or the distinct links of a kind on them. */
export const TOP_COUNTS = [
  'decisions',
  'flagged',
  'identities',
  'fingerprints',
  'addresses',
  'networks',
  'sessions',
] as const;
export type TopCount = (typeof TOP_COUNTS)[number];

/** The kind of links whose distinct values are counted; `identity` stands for all entities. */
const COUNTED_KINDS: Readonly<Partial<Record<TopCount, string>>> = {
  identities: 'identity',
  fingerprints: 'fingerprint',
  addresses: 'ip',
  networks: 'network',
  sessions: 'session',
};

export interface TopSubject {
  /** The bytes of the link's hash as text; the value itself for a country, an event type or a reason. */
  readonly key: string;
  /** A decision of the subject. */
  readonly place: RowPlace;
  count: number;
  decisions: number;
  challenged: number;
  blocked: number;
  /** Index in `DECISIONS`. */
  worst: number;
  lastSeenMs: number;
}

interface Growing extends TopSubject {
  readonly distinct: SplitSet | null;
}

/**
 * Choice: 20,000 decisions with 8 identities each have 2,500 in each map.
 * Measured: the longest turn of the event loop for these is 4.2 ms; with one map that was sorted at the end it was 20 ms.
 */
const SUBJECT_MAPS = 64;
const FLAGGED_MIN = 1;
const CHALLENGED = DECISIONS.indexOf('SOFT_CHALLENGE');
const BLOCKED = DECISIONS.indexOf('BLOCK');

/** Counts decisions by a subject: a kind of link, `identity`, `country`, `event_type` or `reason`. */
export class TopCounter {
  readonly #by: string;
  readonly #count: TopCount;
  readonly #subject: LinkCode;
  readonly #counted: LinkCode | null;
  /** By the first character of the key: a large map would stall the event loop whenever it grows. Hashes spread evenly. */
  readonly #subjects: readonly Map<string, Growing>[] = Array.from({ length: SUBJECT_MAPS }, () => new Map());
  /** Keys of the present row. */
  readonly #own: string[] = [];
  readonly #others: string[] = [];

  constructor(by: string, count: TopCount) {
    this.#by = by;
    this.#count = count;
    this.#subject = codeOfKind(by);
    const kind = COUNTED_KINDS[count];
    this.#counted = kind === undefined ? null : codeOfKind(kind);
  }

  add(record: RawRecord, bytes: Buffer, place: RowPlace, occurredAtMs: number): void {
    const own = this.#own;
    const others = this.#others;
    own.length = 0;
    others.length = 0;
    this.#readKeys(record, bytes, place.end);
    const decision = DECISIONS.indexOf(record.effective);
    for (const key of own) this.#addTo(key, place, decision, occurredAtMs, others);
  }

  /** Returns the subjects with the largest count, the most recent first among equals, in slices. */
  async top(subjectsMax: number, slices: Slices): Promise<readonly TopSubject[]> {
    const best: TopSubject[] = [];
    for (const subjects of this.#subjects) {
      for (const one of subjects.values()) {
        if (one.distinct !== null) one.count = one.distinct.size;
        else if (this.#count === 'decisions') one.count = one.decisions;
        if (one.count > 0) insert(best, one, subjectsMax);
      }
      if (slices.isOver) await slices.begin();
    }
    return best;
  }

  #readKeys(record: RawRecord, bytes: Buffer, end: number): void {
    const own = this.#own;
    if (this.#by === 'country') own.push(record.country ?? '');
    else if (this.#by === 'event_type') own.push(record.eventType);
    else if (this.#by === 'reason') record.contributions((code) => own.push(code));
    const isLink = own.length === 0 && this.#by !== 'reason';
    if (own[0] === '') own.length = 0;
    const from = isLink || this.#counted !== null ? record.linksAt() : -1;
    if (from === -1) return;
    visitLinks(bytes, from, end, (code, name, hashAt) => {
      const isOwn = isLink && isKind(this.#subject, this.#by, code, name);
      const isOther = this.#counted !== null && isKind(this.#counted, COUNTED_KINDS[this.#count] ?? '', code, name);
      if (!isOwn && !isOther) return;
      const hash = bytes.latin1Slice(hashAt, hashAt + LINK_HASH_BYTES);
      if (isOwn) own.push(hash);
      if (isOther) this.#others.push(hash);
    });
  }

  #addTo(key: string, place: RowPlace, decision: number, occurredAtMs: number, others: readonly string[]): void {
    const subjects = this.#subjects[(key.codePointAt(0) ?? 0) % SUBJECT_MAPS] ?? new Map<string, Growing>();
    let one = subjects.get(key);
    if (one === undefined) {
      const distinct = this.#counted === null ? null : new SplitSet();
      one = { key, place, distinct, count: 0, decisions: 0, challenged: 0, blocked: 0, worst: 0, lastSeenMs: 0 };
      subjects.set(key, one);
    }
    one.decisions++;
    if (decision === CHALLENGED) one.challenged++;
    if (decision === BLOCKED) one.blocked++;
    if (this.#count === 'flagged' && decision >= FLAGGED_MIN) one.count++;
    one.worst = Math.max(one.worst, decision);
    one.lastSeenMs = Math.max(one.lastSeenMs, occurredAtMs);
    for (const other of others) one.distinct?.add(other);
  }
}

/** Inserts a subject into those found so far, which are in order; drops the last one if there are too many. */
function insert(best: TopSubject[], one: TopSubject, subjectsMax: number): void {
  let at = best.length;
  while (at > 0 && compare(best[at - 1] ?? one, one) > 0) at--;
  if (at >= subjectsMax) return;
  best.splice(at, 0, one);
  if (best.length > subjectsMax) best.pop();
}

function compare(a: TopSubject, b: TopSubject): number {
  return b.count - a.count || b.lastSeenMs - a.lastSeenMs;
}

function isKind(wanted: LinkCode, kind: string, code: number, name: string): boolean {
  if (kind === 'identity') return isEntityCode(code);
  return wanted.code === code && wanted.name === name;
}
