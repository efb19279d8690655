import { pack, unpack } from '../../kernel/pack.ts';
import { DECISIONS } from '../../risk/decision.ts';

export const SCORE_BUCKETS = 20;
/** Four for each doubling, from 1/16 ms to 4 s: a percentile is off by at most a tenth. */
const LATENCY_BUCKETS = 64;
const LATENCY_PER_DOUBLING = 4;
const LATENCY_MS_MIN = 1 / 16;
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
  readonly reasons = new Map<string, number>();
  /** By problem code. */
  readonly refusals = new Map<string, number>();

  /** Counts a decision, without its reasons. */
  decided(decision: number, score: number, latencyMs: number, eventType: string): void {
    bump(this.decisions, decision);
    bump(this.scores, Math.min(SCORE_BUCKETS - 1, Math.floor(score / (100 / SCORE_BUCKETS))));
    bump(this.latency, latencyBucket(latencyMs));
    const isRoom = this.eventTypes.has(eventType) || this.eventTypes.size < EVENT_TYPES_MAX;
    add(this.eventTypes, isRoom ? eventType : OTHER, 1);
  }

  reason(code: string): void {
    add(this.reasons, code, 1);
  }

  refused(code: string): void {
    add(this.refusals, code, 1);
  }

  merge(other: PeriodCounts): void {
    for (const [into, from] of [
      [this.decisions, other.decisions],
      [this.scores, other.scores],
      [this.latency, other.latency],
    ] as const) {
      for (const [at, count] of from.entries()) into[at] = (into[at] ?? 0) + count;
    }
    for (const [name, count] of other.eventTypes) {
      const isRoom = this.eventTypes.has(name) || this.eventTypes.size < EVENT_TYPES_MAX;
      add(this.eventTypes, isRoom ? name : OTHER, count);
    }
    for (const [code, count] of other.reasons) add(this.reasons, code, count);
    for (const [code, count] of other.refusals) add(this.refusals, code, count);
  }

  /** Returns the latency that this share of the decisions did not exceed, ms; null without a decision. */
  latencyAt(share: number): number | null {
    let left = share * this.latency.reduce((sum, count) => sum + count, 0);
    if (left === 0) return null;
    for (const [bucket, count] of this.latency.entries()) {
      left -= count;
      if (left > 0) continue;
      const ms = LATENCY_MS_MIN * 2 ** ((bucket + 0.5) / LATENCY_PER_DOUBLING);
      return Number(ms.toPrecision(2));
    }
    return null;
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
  try {
    const [decisions, scores, latency, eventTypes, reasons, refusals] = unpack(bytes);
    for (const [at, count] of listOf(decisions).entries())
      if (at < DECISIONS.length) counts.decisions[at] = Number(count);
    fill(counts.scores, listOf(scores));
    fill(counts.latency, listOf(latency));
    for (const [into, from] of [
      [counts.eventTypes, eventTypes],
      [counts.reasons, reasons],
      [counts.refusals, refusals],
    ] as const) {
      const list = listOf(from);
      for (let n = 0; n + 1 < list.length; n += 2) add(into, String(list[n]), Number(list[n + 1]));
    }
    return counts;
  } catch {
    return null;
  }
}

function latencyBucket(latencyMs: number): number {
  const bucket = Math.floor(Math.log2(Math.max(latencyMs, LATENCY_MS_MIN) / LATENCY_MS_MIN) * LATENCY_PER_DOUBLING);
  return Math.min(LATENCY_BUCKETS - 1, bucket);
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
    if (at < counts.length) counts[at] = Number(list[n + 1]);
  }
}

function flat(counts: ReadonlyMap<string, number>): (string | number)[] {
  return [...counts.entries()].flat();
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('these bytes are not the counts of a period');
  return value;
}
