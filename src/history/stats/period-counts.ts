import { pack } from '../../kernel/pack.ts';
import { DECISIONS } from '../../risk/decision.ts';
import { RULES } from '../../risk/rules/rule-table.ts';
import { CountsReader } from './counts-reader.ts';
import { NamedCounts } from './named-counts.ts';

export const SCORE_BUCKETS = 20;
/** Four for each doubling, from 1/16 ms to 4 s: a percentile is off by at most a tenth. */
const LATENCY_BUCKETS = 64;
const LATENCY_PER_DOUBLING = 4;
const LATENCY_MS_MIN = 1 / 16;
/** The middle of each bucket. */
const LATENCIES_MS = Array.from({ length: LATENCY_BUCKETS }, (_none, bucket) =>
  Number((LATENCY_MS_MIN * 2 ** ((bucket + 0.5) / LATENCY_PER_DOUBLING)).toPrecision(2)),
);
/** Choice: event types are the customer's own texts; further ones of a period count as `other`. */
const EVENT_TYPES_MAX = 16;
const OTHER = 'other';

/** What happened to a customer's requests in a minute or an hour. */
export class PeriodCounts {
  readonly decisions = zeros(DECISIONS.length);
  /** Five points each; the last one has 95 to 100. */
  readonly scores = zeros(SCORE_BUCKETS);
  readonly latency = zeros(LATENCY_BUCKETS);
  readonly eventTypes = new NamedCounts();
  readonly #reasons = new NamedCounts();
  /** By the position in `RULES`: rules that fired and are not in `#reasons` yet; null if there are none. */
  #fired: Uint32Array | null = null;
  /** By problem code. */
  readonly refusals = new NamedCounts();

  /** Counts a decision, without its reasons. */
  decided(decision: number, score: number, latencyMs: number, eventType: string): void {
    bump(this.decisions, decision);
    bump(this.scores, Math.min(SCORE_BUCKETS - 1, Math.floor(score / (100 / SCORE_BUCKETS))));
    bump(this.latency, latencyBucket(latencyMs));
    this.#addType(eventType, 1);
  }

  get reasons(): NamedCounts {
    const fired = this.#fired;
    this.#fired = null;
    for (const [rule, count] of fired?.entries() ?? [])
      if (count > 0) this.#reasons.add(RULES[rule]?.code ?? '', count);
    return this.#reasons;
  }

  reason(code: string): void {
    this.#reasons.add(code, 1);
  }

  /** Counts the rules of a decision by their bits. On the hot path: names are looked up only when the counts are read. */
  fired(low: number, high: number, top: number): void {
    const fired = (this.#fired ??= new Uint32Array(RULES.length));
    for (let bits = low; bits !== 0; bits &= bits - 1) bump(fired, 31 - Math.clz32(bits & -bits));
    for (let bits = high; bits !== 0; bits &= bits - 1) bump(fired, 63 - Math.clz32(bits & -bits));
    for (let bits = top; bits !== 0; bits &= bits - 1) bump(fired, 95 - Math.clz32(bits & -bits));
  }

  refused(code: string): void {
    this.refusals.add(code, 1);
  }

  merge(other: PeriodCounts): void {
    sum(this.decisions, other.decisions);
    sum(this.scores, other.scores);
    sum(this.latency, other.latency);
    for (const [name, count] of other.eventTypes) this.#addType(name, count);
    this.#reasons.addAll(other.reasons);
    this.refusals.addAll(other.refusals);
  }

  /** Adds the row that the reader has read. */
  mergeRead({ numbers, names, ends }: CountsReader): void {
    const [decisions = 0, scores = 0, latency = 0, types = 0, reasons = 0, refusals = 0] = ends;
    for (let at = 0; at < Math.min(decisions, DECISIONS.length); at++) {
      this.decisions[at] = (this.decisions[at] ?? 0) + (numbers[at] ?? 0);
    }
    addPairs(this.scores, numbers, decisions, scores);
    addPairs(this.latency, numbers, scores, latency);
    if (this.eventTypes.size === 0) fillFrom(this.eventTypes, names, numbers, latency, types, latency);
    else for (let at = latency; at < types; at++) this.#addType(names[at - latency] ?? '', numbers[at] ?? 0);
    addNamed(this.#reasons, names, numbers, types, reasons, latency);
    addNamed(this.refusals, names, numbers, reasons, refusals, latency);
  }

  /** Returns the latency that this share of the decisions did not exceed, ms; null without a decision. */
  latencyAt(share: number): number | null {
    let decisions = 0;
    for (const count of this.latency) decisions += count;
    let left = share * decisions;
    if (left === 0) return null;
    for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
      left -= this.latency[bucket] ?? 0;
      if (left <= 0) return LATENCIES_MS[bucket] ?? null;
    }
    return null;
  }

  #addType(name: string, count: number): void {
    const isRoom = this.eventTypes.size < EVENT_TYPES_MAX || this.eventTypes.get(name) !== undefined;
    this.eventTypes.add(isRoom ? name : OTHER, count);
  }
}

export function encodeCounts(counts: PeriodCounts, listed: (named: NamedCounts) => Listed = flat): Buffer {
  return pack([
    counts.decisions,
    sparse(counts.scores),
    sparse(counts.latency),
    listed(counts.eventTypes),
    listed(counts.reasons),
    listed(counts.refusals),
  ]);
}

/** Returns what `encodeCounts` does, with sorted names: rows that are read together then name the same things in the same order. */
export function encodeSorted(counts: PeriodCounts): Buffer {
  return encodeCounts(counts, (named) => named.sorted().flat());
}

/** Names, each followed by its count. */
type Listed = (string | number)[];

/** Returns null for bytes of another form. A reader of many rows is given. */
export function decodeCounts(bytes: Uint8Array, reader = new CountsReader()): PeriodCounts | null {
  if (!reader.read(bytes)) return null;
  const counts = new PeriodCounts();
  counts.mergeRead(reader);
  return counts;
}

function latencyBucket(latencyMs: number): number {
  const bucket = Math.floor(Math.log2(Math.max(latencyMs, LATENCY_MS_MIN) / LATENCY_MS_MIN) * LATENCY_PER_DOUBLING);
  return Math.min(LATENCY_BUCKETS - 1, bucket);
}

const ZEROS = Array.from({ length: LATENCY_BUCKETS }, () => 0);

/** Returns at most `LATENCY_BUCKETS` zeros. Not a typed array, whose memory would be outside of V8's heap and costs more to allocate. */
function zeros(length: number): number[] {
  return ZEROS.slice(0, length);
}

function sum(into: number[], from: readonly number[]): void {
  for (let at = 0; at < into.length; at++) into[at] = (into[at] ?? 0) + (from[at] ?? 0);
}

function bump(counts: number[] | Uint32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

function sparse(counts: readonly number[]): number[] {
  return counts.flatMap((count, at) => (count === 0 ? [] : [at, count]));
}

/** Adds pairs of a position and a count. */
function addPairs(counts: number[], pairs: readonly number[], from: number, end: number): void {
  for (let n = from; n + 1 < end; n += 2) {
    const at = pairs[n] ?? 0;
    if (at < counts.length) counts[at] = (counts[at] ?? 0) + (pairs[n + 1] ?? 0);
  }
}

/** Adds the counts of a range of a row, whose names begin `before` earlier. */
function addNamed(
  into: NamedCounts,
  names: readonly string[],
  counts: readonly number[],
  from: number,
  end: number,
  before: number,
): void {
  if (into.size === 0) fillFrom(into, names, counts, from, end, before);
  else for (let at = from; at < end; at++) into.add(names[at - before] ?? '', counts[at] ?? 0);
}

/** A row has each name once. */
function fillFrom(
  into: NamedCounts,
  names: readonly string[],
  counts: readonly number[],
  from: number,
  end: number,
  before: number,
): void {
  into.fill(names.slice(from - before, end - before), counts.slice(from, end));
}

function flat({ names, counts }: NamedCounts): Listed {
  return names.flatMap((name, at) => [name, counts[at] ?? 0]);
}
