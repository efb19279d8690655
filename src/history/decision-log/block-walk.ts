import type { Block, Span, Stream } from './block.ts';
import type { CustomerLog } from './log-index.ts';
import { comparePlaces, newestOf, type LogPlace, reachesBefore } from './order.ts';

/** The blocks of one stream, and the time since which its rows are unexpired. */
interface Source {
  readonly spans: readonly Span[];
  readonly blocks: readonly Block[];
  readonly sinceMs: number;
  at: number;
}

export interface WalkOptions {
  readonly streams: readonly Stream[];
  /** Only blocks with rows older than this; null for all. */
  readonly before: LogPlace | null;
  /** By stream: rows of this time and older have expired. */
  readonly endedMs: readonly [number, number];
  /** By stream: the only sealed blocks to visit; null for all. */
  readonly only?: readonly [readonly Block[], readonly Block[]] | null;
  /** Only blocks with rows of a later arrival; absent for all. */
  readonly afterArrival?: number;
}

/**
 * Iterates over a customer's blocks by their newest row, newest first, as they were at the start: blocks added later are not included;
 * blocks removed later are marked as gone.
 */
export class BlockWalk {
  readonly #sources: Source[] = [];
  readonly #before: LogPlace | null;
  readonly #afterArrival: number;

  constructor(log: CustomerLog, { streams, before, endedMs, only = null, afterArrival = 0 }: WalkOptions) {
    this.#before = before;
    this.#afterArrival = afterArrival;
    for (const stream of streams) {
      const sealed = only === null ? log.sealed[stream].slice() : only[stream];
      this.#sources.push({ spans: sealed, blocks: sealed, sinceMs: endedMs[stream], at: sealed.length - 1 });
      const open = log.open[stream];
      if (open === null) continue;
      // It may grow while the walk yields, so its present range is copied.
      const { oldestMs, newestMs, firstArrival, lastArrival } = open;
      const span: Span = { oldestMs, newestMs, firstArrival, lastArrival };
      this.#sources.push({ spans: [span], blocks: [open], sinceMs: endedMs[stream], at: 0 });
    }
  }

  /** Upper bound of all remaining rows; null when none remain. */
  newest(): LogPlace | null {
    const source = this.#first();
    const span = source?.spans[source.at];
    return span === undefined ? null : newestOf(span);
  }

  /** Returns the next block. */
  next(): Block | null {
    const source = this.#first();
    return source?.blocks[source.at--] ?? null;
  }

  #first(): Source | null {
    let first: Source | null = null;
    let newest: LogPlace | null = null;
    for (const source of this.#sources) {
      const span = this.#skip(source);
      if (span === null) continue;
      const place = newestOf(span);
      if (newest !== null && comparePlaces(place, newest) <= 0) continue;
      first = source;
      newest = place;
    }
    return first;
  }

  /** Returns the source's next block that can contain a wanted row. */
  #skip(source: Source): Span | null {
    for (; source.at >= 0; source.at--) {
      const span = source.spans[source.at];
      if (span === undefined || span.newestMs <= source.sinceMs) break;
      if (span.lastArrival <= this.#afterArrival) continue;
      if (this.#before === null || reachesBefore(span, this.#before)) return span;
    }
    source.at = -1;
    return null;
  }
}
