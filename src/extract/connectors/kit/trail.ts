import { hash } from 'node:crypto';
import type { JsonObject } from '../../base/connector.ts';

/** Choice: a job's 1,000,000 records in the smallest pages of these interfaces. A longer chain means that the source is broken. */
const PAGES_MAX = 100_000;
/** Choice: number of consecutive empty pages after which nothing more is expected. */
const EMPTY_PAGES_MAX = 50;

/** Data that the steps of a list carry from page to page, to detect a source that never ends. */
export interface Trail extends JsonObject {
  /** Number of pages so far, including this one; starts at 1. */
  readonly turn: number;
  /** Hash of an earlier page; see `isPowerOfTwo`. */
  readonly mark: string;
  /** Number of consecutive empty pages. */
  readonly empty: number;
}

export const TRAIL_START: Trail = { turn: 1, mark: '', empty: 0 };

/** Returns the trail of the page after the one with these ids; null if the list must end here. */
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
 * A source that starts again after its last page, or that sends the same page for every cursor, would be read forever. The hash of one
 * page is therefore kept, and replaced at every turn that is a power of two. A cycle of any length is detected within three times its
 * length. Source: Brent's algorithm for cycles.
 */
function isPowerOfTwo(turn: number): boolean {
  return Number.isInteger(Math.log2(turn));
}
