import { hash } from 'node:crypto';
import type { JsonObject } from '../../connector.ts';

/** Choice: a job's 1,000,000 records in the smallest pages of these interfaces. A chain that is longer is a source gone wrong. */
const PAGES_MAX = 100_000;
/** Choice: pages in a row of which nothing is kept, after which there is nothing to be found. */
const EMPTY_PAGES_MAX = 50;

/** What the steps of a list carry from page to page, so that a source that never ends is left. */
export interface Trail extends JsonObject {
  /** Pages from 1, this one included. */
  readonly turn: number;
  /** Stands for an earlier page; see `isPowerOfTwo`. */
  readonly mark: string;
  /** Pages in a row without anything on them. */
  readonly empty: number;
}

export const TRAIL_START: Trail = { turn: 1, mark: '', empty: 0 };

/** The trail of the page after one that holds what these ids name; null where the list has to end here. */
export function onward({ turn, mark, empty }: Trail, ids: readonly string[]): Trail | null {
  const here = hash('sha256', ids.join('\n'), 'hex').slice(0, 16);
  const isEmpty = ids.length === 0;
  if (turn >= PAGES_MAX || (isEmpty && empty >= EMPTY_PAGES_MAX) || (!isEmpty && here === mark)) return null;
  return {
    turn: turn + 1,
    mark: !isEmpty && isPowerOfTwo(turn) ? here : mark,
    empty: isEmpty ? empty + 1 : 0,
  };
}

/**
 * Sources that begin again after their last page, or that send the same page under every cursor, would be read for ever. So the
 * mark of one page is kept, and replaced at every turn that is a power of two: a round of any length is met again within three
 * times its length. Source: Brent's algorithm for cycles.
 */
function isPowerOfTwo(turn: number): boolean {
  return Number.isInteger(Math.log2(turn));
}
