import { pack, unpack } from '../../kernel/pack.ts';
import { DECISIONS } from '../../risk/decision.ts';
import { RULES } from '../../risk/rules/rule-table.ts';

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
  readonly decisions = new Uint32Array(DECISIONS.length);
  /** Five points each; the last one has 95 to 100. */
  readonly scores = new Uint32Array(SCORE_BUCKETS);
  readonly latency = new Uint32Array(LATENCY_BUCKETS);
  readonly eventTypes = new Map<string, number>();
  readonly #reasons = new Map<string, number>();
  /** By the position in `RULES`: rules that fired and are not in `#reasons` yet; null if there are none. */
  #fired: Uint32Array | null = null;
  /** By problem code. */
  readonly refusals = new Map<string, number>();

  /** Counts a decision, without its reasons. */
  decided(decision: number, score: number, latencyMs: number, eventType: string): void {
    bump(this.decisions, decision);
    bump(this.scores, Math.min(SCORE_BUCKETS - 1, Math.floor(score / (100 / SCORE_BUCKETS))));
    bump(this.latency, latencyBucket(latencyMs));
    this.#addType(eventType, 1);
  }

  get reasons(): ReadonlyMap<string, number> {
    const fired = this.#fired;
    this.#fired = null;
    for (const [rule, count] of fired?.entries() ?? [])
      if (count > 0) add(this.#reasons, RULES[rule]?.code ?? '', count);
    return this.#reasons;
  }

  reason(code: string): void {
    add(this.#reasons, code, 1);
  }

  /** Counts the rules of a decision by their bits. On the hot path: names are looked up only when the counts are read. */
  fired(low: number, high: number, top: number): void {
    const fired = (this.#fired ??= new Uint32Array(RULES.length));
    for (let bits = low; bits !== 0; bits &= bits - 1) bump(fired, 31 - Math.clz32(bits & -bits));
    for (let bits = high; bits !== 0; bits &= bits - 1) bump(fired, 63 - Math.clz32(bits & -bits));
    for (let bits = top; bits !== 0; bits &= bits - 1) bump(fired, 95 - Math.clz32(bits & -bits));
  }

  refused(code: string): void {
    add(this.refusals, code, 1);
  }

  merge(other: PeriodCounts): void {
    sum(this.decisions, other.decisions);
    sum(this.scores, other.scores);
    sum(this.latency, other.latency);
    for (const [name, count] of other.eventTypes) this.#addType(name, count);
    for (const [code, count] of other.reasons) add(this.#reasons, code, count);
    for (const [code, count] of other.refusals) add(this.refusals, code, count);
  }

  /** Adds what `encodeCounts` returned; false, without a change, for bytes of another form. */
  mergeEncoded(bytes: Uint8Array): boolean {
    const lists = listsIn(bytes);
    if (lists === null) return false;
    const [decisions, scores, latency, eventTypes, reasons, refusals] = lists;
    for (let at = 0; at < Math.min(decisions.length, DECISIONS.length); at++) {
      this.decisions[at] = (this.decisions[at] ?? 0) + Number(decisions[at]);
    }
    fill(this.scores, scores);
    fill(this.latency, latency);
    for (let n = 0; n + 1 < eventTypes.length; n += 2) this.#addType(String(eventTypes[n]), Number(eventTypes[n + 1]));
    for (let n = 0; n + 1 < reasons.length; n += 2) add(this.#reasons, String(reasons[n]), Number(reasons[n + 1]));
    for (let n = 0; n + 1 < refusals.length; n += 2) add(this.refusals, String(refusals[n]), Number(refusals[n + 1]));
    return true;
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
    const isRoom = this.eventTypes.size < EVENT_TYPES_MAX || this.eventTypes.has(name);
    add(this.eventTypes, isRoom ? name : OTHER, count);
  }
}

export function encodeCounts(counts: PeriodCounts): Buffer {
  return pack([
    [...counts.decisions],
    sparse(counts.scores),
    sparse(counts.latency),
    flat(counts.eventTypes),
    flat(counts.reasons),
    flat(counts.refusals),
  ]);
}

/** Returns null for bytes of another form. */
export function decodeCounts(bytes: Uint8Array): PeriodCounts | null {
  const counts = new PeriodCounts();
  return counts.mergeEncoded(bytes) ? counts : null;
}

type List = readonly unknown[];

function listsIn(bytes: Uint8Array): [List, List, List, List, List, List] | null {
  try {
    const [decisions, scores, latency, eventTypes, reasons, refusals] = unpack(bytes);
    return [decisions, scores, latency, eventTypes, reasons, refusals].map(listOf) as [
      List,
      List,
      List,
      List,
      List,
      List,
    ];
  } catch {
    return null;
  }
}

function latencyBucket(latencyMs: number): number {
  const bucket = Math.floor(Math.log2(Math.max(latencyMs, LATENCY_MS_MIN) / LATENCY_MS_MIN) * LATENCY_PER_DOUBLING);
  return Math.min(LATENCY_BUCKETS - 1, bucket);
}

function sum(into: Uint32Array, from: Uint32Array): void {
  for (let at = 0; at < into.length; at++) into[at] = (into[at] ?? 0) + (from[at] ?? 0);
}

function bump(counts: Uint32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function sparse(counts: Uint32Array): number[] {
  return [...counts.entries()].flatMap(([at, count]) => (count === 0 ? [] : [at, count]));
}

function fill(counts: Uint32Array, list: readonly unknown[]): void {
  for (let n = 0; n + 1 < list.length; n += 2) {
    const at = Number(list[n]);
    if (at < counts.length) counts[at] = (counts[at] ?? 0) + Number(list[n + 1]);
  }
}

function flat(counts: ReadonlyMap<string, number>): (string | number)[] {
  return [...counts.entries()].flat();
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('these bytes are not the counts of a period');
  return value;
}
