import type { CustomerNumber } from '../kernel/brand.ts';
import type { Decision } from '../risk/decision.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';

/**
 * The decisions of one installation. Its single-node adapter is the decision log (`src/history`), which is in the data directory; a cluster
 * asks each node for its own part and merges the answers by `Position`.
 *
 * Every call is about one customer, and never returns anything of another. Direction of failure: open; what cannot be written or read is
 * absent, and decisions go on.
 */
export interface History {
  /** Keeps a decision; copies `record`. On the hot path. `isFlagged`: an ALLOW that is kept as long as the other decisions. */
  append(customer: CustomerNumber, record: Uint8Array, latencyMs: number, isFlagged?: boolean): void;
  /** Returns the decision with that id; null if it belongs to another customer or has expired. */
  find(
    customer: CustomerNumber,
    requestId: string,
    nowMs: number,
    coverage?: Coverage,
  ): KeptDecision | null | Promise<KeptDecision | null>;
  /** Returns a page of decisions, newest first. It may be short, or empty, although there is a next one. */
  search(customer: CustomerNumber, query: HistoryQuery): Promise<HistoryPage>;
}

/** Belongs to one call: an adapter sets `isPartial` if a node that may have more to show did not answer. */
export interface Coverage {
  isPartial: boolean;
}

export interface KeptDecision {
  readonly record: DecisionRecord;
  /** Latency as reported in the response. */
  readonly latencyMs: number;
}

/** A position in the order of a customer's decisions: by time, then by source, then by arrival. The three are unique. */
export interface Position {
  readonly occurredAtMs: number;
  /** Order of arrival at the source. */
  readonly arrival: number;
  /** Number of the node that has the decision, a safe integer; absent on a single node. */
  readonly source?: number;
}

export interface HistoryQuery {
  /** null for all. */
  readonly decision: Decision | null;
  /** Part of the address, the country code or a reason; null for all. */
  readonly text: string | null;
  /** Where the previous page ended; null for the first one. */
  readonly after: Position | null;
  /** At least 1. */
  readonly limit: number;
  readonly nowMs: number;
  readonly filter?: Partial<HistoryFilter>;
  readonly coverage?: Coverage;
}

/** All given criteria apply together. */
export interface HistoryFilter {
  /** Decisions of this time and later. */
  readonly sinceMs: number | null;
  /** Decisions before this time. */
  readonly untilMs: number | null;
  readonly eventType: string | null;
  readonly reason: string | null;
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  /** Number of the address's network (ASN). */
  readonly asn: number | null;
  /** Beginning of the path. */
  readonly path: string | null;
  /** Domain of an e-mail address among the identities, lower case; found only where the policy keeps masked or plain ones. */
  readonly emailDomain: string | null;
  /** The decision has all of these links. */
  readonly links: readonly SoughtLink[];
  /** Decisions that were logged after this one; those of other sources by their time, and of the second before. */
  readonly loggedAfter: Position | null;
}

export interface SoughtLink {
  /** The keyed hash that ends the records of decisions with this link. */
  readonly hash: Buffer;
  /** Returns whether a record of an older build, which has no hashes, has the link. */
  readonly isIn: (record: DecisionRecord) => boolean;
}

/** `busy`: too many searches are running; retry in a second. */
export type HistoryPage =
  | { readonly kind: 'page'; readonly rows: readonly KeptDecision[]; readonly next: Position | null }
  | { readonly kind: 'busy' };

/** Counts of a customer's requests. The single-node adapter is `DecisionStats`. */
export interface HistoryStats<Slices> {
  /** Visits the periods of `stepSeconds` in which something happened, oldest first. `visit` must be short. */
  read(
    customer: CustomerNumber,
    fromSeconds: number,
    toSeconds: number,
    stepSeconds: number,
    slices: Slices,
    visit: (point: HistoryStatsPoint) => void,
    coverage?: Coverage,
  ): Promise<void>;
}

export interface HistoryStatsPoint {
  /** Start of the period, Unix seconds. */
  readonly at: number;
  readonly counts: {
    /** By the position in `DECISIONS`. */
    readonly decisions: ArrayLike<number>;
    readonly scores: ArrayLike<number>;
    readonly eventTypes: HistoryNamedCounts;
    readonly reasons: HistoryNamedCounts;
    readonly refusals: HistoryNamedCounts;
    latencyAt(share: number): number | null;
  };
}

export interface HistoryNamedCounts extends Iterable<readonly [string, number]> {
  readonly names: readonly string[];
  /** By the position in `names`. */
  readonly counts: readonly number[];
}
