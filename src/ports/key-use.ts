import type { Coverage } from './decision-history.ts';

/** How often a key was used in the last 24 hours. */
export interface KeyUse {
  /** Accepted calls. */
  readonly calls: number;
  /** Refused calls, by problem code. */
  readonly refusals: ReadonlyMap<string, number>;
  /** The last accepted call, Unix seconds; null without one. */
  readonly lastUsedSeconds: number | null;
  /** Counted from then on, Unix seconds; by all nodes. */
  readonly sinceSeconds: number;
}

export interface KeyUseReader {
  /** Returns the use of each key, in their order. */
  readAll(keyNumbers: readonly number[], nowSeconds: number, coverage?: Coverage): Promise<readonly KeyUse[]>;
}
