import type { CustomerNumber } from '../kernel/brand.ts';
import type { Coverage, History, KeptDecision, Position } from '../ports/decision-history.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type {
  FingerprintOutcome,
  FingerprintQuery,
  ScanOutcome,
  ScanQuery,
  SearchOutcome,
  SearchQuery,
} from './decision-log/log-query.ts';
import type { RowPlace, RowScanner } from './decision-log/scan.ts';

/**
 * The port `History` with the reads that count decisions over their stored form. The decision log implements it for its own node, the
 * cluster for all nodes; a call with `coverage` learns there whether a node did not answer.
 */
export interface DecisionReader extends History {
  search(customer: CustomerNumber, query: SearchQuery): Promise<SearchOutcome>;
  /** Returns the position of a decision, for `loggedAfter`; null as for `find`. */
  positionOf(
    customer: CustomerNumber,
    requestId: string,
    nowMs: number,
    coverage?: Coverage,
  ): MaybeLater<Position | null>;
  /** Returns a page of the fingerprints of flagged decisions, ordered by their newest matching decision. */
  fingerprints(customer: CustomerNumber, query: FingerprintQuery): Promise<FingerprintOutcome>;
  /** Passes the newest decisions of a time to a visitor. In a cluster each node gives its part of `rowsMax`. */
  scan(customer: CustomerNumber, query: ScanQuery, visit: RowScanner): Promise<ScanOutcome>;
  /** Returns the row at a place that a scan passed; null if it was removed since. */
  readAt(place: RowPlace): DecisionRecord | null;
}

export type MaybeLater<T> = T | Promise<T>;
export type FoundDecision = MaybeLater<KeptDecision | null>;
