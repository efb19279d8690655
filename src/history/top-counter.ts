import { HashIndex } from '../kernel/hash-index.ts';
import { HashSet40 } from '../kernel/hash-set.ts';
import { DECISIONS } from '../risk/decision.ts';
import { codeOfKind, isEntityCode, type LinkCode, visitLinks } from '../risk/link-tail.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { RawRecord } from './decision-log/raw-record.ts';
import type { RowPlace } from './decision-log/scan.ts';
import { GROUP_MAX, SubjectRows, WORD } from './subject-rows.ts';

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

/** The kind of links whose distinct values are counted; `identity` stands for all entities, of whose names the largest number counts. */
const COUNTED_KINDS: Readonly<Partial<Record<TopCount, string>>> = {
  identities: 'identity',
  fingerprints: 'fingerprint',
  addresses: 'ip',
  networks: 'network',
  sessions: 'session',
};

export interface TopSubject {
  /** The link's hash, 16 lower-case hex digits; the value itself for a country, an event type, a reason or a crawler. */
  readonly key: string;
  /** A decision of the subject; null if it is not known. */
  readonly place: RowPlace | null;
  readonly count: number;
  readonly decisions: number;
  readonly challenged: number;
  readonly blocked: number;
  /** Index in `DECISIONS`. */
  readonly worst: number;
  readonly lastSeenMs: number;
}

interface Ranked {
  readonly subject: number;
  readonly count: number;
  readonly lastSeenMs: number;
}

/** Choice: event types are the customer's own, so there may be one for each decision; no map of them becomes large. */
const TEXT_MAPS = 64;
const TEXT_SUBJECTS: ReadonlySet<string> = new Set(['country', 'crawler', 'event_type', 'reason']);
/** Choice: subjects between two looks at the clock. */
const CLOCK_SUBJECTS = 256;
const FLAGGED_MIN = 1;
const CHALLENGED = DECISIONS.indexOf('SOFT_CHALLENGE');
const BLOCKED = DECISIONS.indexOf('BLOCK');

/** What grows with the decisions that are counted: 30 MB at the most. Its memory can be used by one count after the other. */
export class TopTables {
  readonly hashes = new HashIndex();
  readonly pairs = new HashSet40();
  readonly rows = new SubjectRows();

  reset(): void {
    this.hashes.reset();
    this.pairs.reset();
    this.rows.reset();
  }
}

/**
 * Counts decisions by a subject: a kind of link, `identity`, `country`, `crawler`, `event_type` or `reason`. 20,000 decisions with 8
 * identities each have 160,000 subjects and 1,280,000 pairs, which is why everything that grows with them is outside of the heap.
 */
export class TopCounter {
  readonly #by: string;
  readonly #count: TopCount;
  readonly #subject: LinkCode;
  readonly #counted: LinkCode | null;
  readonly #isText: boolean;
  readonly #hashes: HashIndex;
  readonly #pairs: HashSet40;
  readonly #rows: SubjectRows;
  readonly #texts: readonly Map<string, number>[] = Array.from({ length: TEXT_MAPS }, () => new Map<string, number>());
  /** Texts of the subjects that have one. */
  readonly #keys: string[] = [];
  #size = 0;
  /** Numbers of the kinds of links that are counted, from 1. */
  readonly #groups = new Map<string | number, number>();
  /** Numbers of the present row's subjects, and for each link that is counted its group and the halves of its hash. */
  readonly #own: number[] = [];
  readonly #others: number[] = [];

  constructor(by: string, count: TopCount, tables = new TopTables()) {
    this.#hashes = tables.hashes;
    this.#pairs = tables.pairs;
    this.#rows = tables.rows;
    this.#by = by;
    this.#count = count;
    this.#subject = codeOfKind(by);
    this.#isText = TEXT_SUBJECTS.has(by);
    const kind = COUNTED_KINDS[count];
    this.#counted = kind === undefined ? null : codeOfKind(kind);
  }

  add(record: RawRecord, bytes: Buffer, place: RowPlace, occurredAtMs: number): void {
    const own = this.#own;
    own.length = 0;
    this.#others.length = 0;
    if (this.#isText) this.#readTexts(record, place);
    if (!this.#isText || (this.#counted !== null && own.length > 0)) this.#readLinks(record, bytes, place);
    const decision = DECISIONS.indexOf(record.effective);
    for (const subject of own) this.#addTo(subject, decision, occurredAtMs);
  }

  /** Returns the subjects with the largest count, the most recent first among equals, in slices. */
  async top(subjectsMax: number, slices: Slices): Promise<readonly TopSubject[]> {
    const best: Ranked[] = [];
    for (let subject = 0; subject < this.#size; subject++) {
      const count = this.#countOf(subject);
      if (count > 0) insert(best, { subject, count, lastSeenMs: this.#rows.lastSeenMsOf(subject) }, subjectsMax);
      if (subject % CLOCK_SUBJECTS === 0 && slices.isOver) await slices.begin();
    }
    return best.map((one) => this.#show(one));
  }

  #readTexts(record: RawRecord, place: RowPlace): void {
    if (this.#by === 'reason') record.contributions((code) => this.#own.push(this.#textSubject(code, place)));
    else {
      const text = this.#textOf(record);
      if (text !== '') this.#own.push(this.#textSubject(text, place));
    }
  }

  #textOf(record: RawRecord): string {
    if (this.#by === 'country') return record.country ?? '';
    if (this.#by !== 'crawler') return record.eventType;
    const { claimed, verified, operator, purpose } = record.claim;
    return claimed === null ? '' : [claimed, verified, operator, purpose].join(' ');
  }

  #readLinks(record: RawRecord, bytes: Buffer, place: RowPlace): void {
    const from = record.linksAt();
    if (from === -1) return;
    visitLinks(bytes, from, place.end, (code, name, hashAt) => {
      const isOwn = !this.#isText && isKind(this.#subject, this.#by, code, name);
      const isOther = this.#counted !== null && isKind(this.#counted, COUNTED_KINDS[this.#count] ?? '', code, name);
      if (!isOwn && !isOther) return;
      const high = bytes.readUInt32BE(hashAt);
      const low = bytes.readUInt32BE(hashAt + 4);
      if (isOwn) this.#own.push(this.#hashSubject(high, low, place));
      if (isOther) this.#others.push(this.#groupOf(name === '' ? code : name), high, low);
    });
  }

  /** Kinds beyond the last number share it. */
  #groupOf(kind: string | number): number {
    const known = this.#groups.get(kind);
    if (known !== undefined) return known;
    const group = this.#groups.size + 1;
    if (group >= GROUP_MAX) return GROUP_MAX;
    this.#groups.set(kind, group);
    return group;
  }

  #hashSubject(high: number, low: number, place: RowPlace): number {
    const subject = this.#hashes.add(high, low);
    return subject < this.#size ? subject : this.#newSubject(place, high, low);
  }

  #textSubject(text: string, place: RowPlace): number {
    const map = this.#texts[(text.codePointAt(0) ?? 0) % TEXT_MAPS];
    const known = map?.get(text);
    if (known !== undefined) return known;
    map?.set(text, this.#size);
    this.#keys.push(text);
    return this.#newSubject(place, 0, 0);
  }

  #newSubject(place: RowPlace, high: number, low: number): number {
    this.#rows.add(this.#size, place, high, low);
    return this.#size++;
  }

  #addTo(subject: number, decision: number, occurredAtMs: number): void {
    const { words, start } = this.#rows.of(subject);
    countUp(words, start + WORD.decisions);
    if (decision >= FLAGGED_MIN) countUp(words, start + WORD.flagged);
    if (decision === CHALLENGED) countUp(words, start + WORD.challenged);
    if (decision === BLOCKED) countUp(words, start + WORD.blocked);
    if (decision > (words[start + WORD.worst] ?? 0)) words[start + WORD.worst] = decision;
    this.#rows.saw(subject, occurredAtMs);
    const others = this.#others;
    for (let at = 0; at < others.length; at += 3) {
      if (this.#isNewPair(subject, others[at + 1] ?? 0, others[at + 2] ?? 0))
        this.#rows.countDistinct(subject, others[at] ?? 0);
    }
  }

  #isNewPair(subject: number, high: number, low: number): boolean {
    return this.#pairs.add(high ^ mixed(subject, 0x85ebca6b), low ^ mixed(subject, 0xc2b2ae35));
  }

  #countOf(subject: number): number {
    const { words, start } = this.#rows.of(subject);
    const word = this.#count === 'decisions' || this.#count === 'flagged' ? WORD[this.#count] : WORD.distinct;
    return words[start + word] ?? 0;
  }

  #show({ subject, count, lastSeenMs }: Ranked): TopSubject {
    const { words, start } = this.#rows.of(subject);
    return {
      key: this.#isText ? (this.#keys[subject] ?? '') : this.#rows.hashOf(subject),
      place: this.#rows.placeOf(subject),
      count,
      decisions: words[start + WORD.decisions] ?? 0,
      challenged: words[start + WORD.challenged] ?? 0,
      blocked: words[start + WORD.blocked] ?? 0,
      worst: words[start + WORD.worst] ?? 0,
      lastSeenMs,
    };
  }
}

function countUp(words: Uint32Array, at: number): void {
  words[at] = (words[at] ?? 0) + 1;
}

/** Inserts a subject into those found so far, which are in order; drops the last one if there are too many. */
function insert(best: Ranked[], one: Ranked, subjectsMax: number): void {
  let at = best.length;
  while (at > 0 && compare(best[at - 1] ?? one, one) > 0) at--;
  if (at >= subjectsMax) return;
  best.splice(at, 0, one);
  if (best.length > subjectsMax) best.pop();
}

function compare(a: Ranked, b: Ranked): number {
  return b.count - a.count || b.lastSeenMs - a.lastSeenMs;
}

function isKind(wanted: LinkCode, kind: string, code: number, name: string): boolean {
  if (kind === 'identity') return isEntityCode(code);
  return wanted.code === code && wanted.name === name;
}

/** Spreads a small number over 32 bits, with the multipliers of MurmurHash3's last step. */
function mixed(value: number, multiplier: number): number {
  let hash = Math.imul(value + 1, multiplier);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
