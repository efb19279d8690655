import { CONNECTIONS_CENSUS_GAP_MS } from '../kernel/limits.ts';
import type { SourceCounts } from './connection-room.ts';

/** Counts the open connections of each source; null if they cannot be counted. */
export type Census = () => Promise<ReadonlyMap<string, number> | null>;

/**
 * Counts for uWebSockets.js, which reports that a connection closed, but not whose. While all open connections together are fewer than half
 * of one source's bound, no source can have reached its bound, and nothing is counted. From there on, a census of the operating system
 * counts the connections by source, and those opened since are added. Connections that closed since the census are still included, so an
 * estimate may be too high by their number. If the system offers no census, the estimate is 0, and only the bound of all connections
 * applies.
 */
export class EstimatedCounts implements SourceCounts {
  readonly #census: Census;
  readonly #watchedFrom: number;
  readonly #nowMs: () => number;
  readonly #threads: number;
  /** Result of the last census; null before the first one. */
  #counted: ReadonlyMap<string, number> | null = null;
  /** Opened since the last census began and before a running one did. */
  #before = new Map<string, number>();
  /** Opened since the newest census began. */
  #since = new Map<string, number>();
  #isWatching = false;
  #isRunning = false;
  #isBlind = false;
  /** Increases whenever watching stops, so that the result of a census from before is discarded. */
  #watch = 0;
  #nextAtMs = 0;

  /** `threads` share the port: each knows the connections that it has accepted since the census, about this part of all. */
  constructor(
    census: Census,
    sourceConnectionsMax: number,
    nowMs: () => number = () => performance.now(),
    threads = 1,
  ) {
    this.#census = census;
    this.#threads = threads;
    this.#watchedFrom = Math.ceil(sourceConnectionsMax / 2);
    this.#nowMs = nowMs;
  }

  of(source: string, open: number): number {
    if (open < this.#watchedFrom) {
      if (this.#isWatching) this.#stopWatching();
      return open;
    }
    this.#isWatching = true;
    if (!this.#isRunning && this.#nowMs() >= this.#nextAtMs) void this.#count();
    if (this.#isBlind) return 0;
    const counted = this.#counted === null ? this.#watchedFrom : (this.#counted.get(source) ?? 0);
    const opened = (this.#before.get(source) ?? 0) + (this.#since.get(source) ?? 0);
    return Math.min(open, counted + opened * this.#threads);
  }

  opened(source: string): void {
    if (this.#isWatching) this.#since.set(source, (this.#since.get(source) ?? 0) + 1);
  }

  /** Does nothing: the source is not known. The next census counts one connection less. */
  closed(): void {}

  async #count(): Promise<void> {
    this.#isRunning = true;
    const watch = this.#watch;
    this.#before = this.#since;
    this.#since = new Map();
    const counted = await this.#census();
    this.#isRunning = false;
    this.#nextAtMs = this.#nowMs() + CONNECTIONS_CENSUS_GAP_MS;
    if (watch !== this.#watch) return;
    this.#isBlind = counted === null;
    this.#counted = counted;
    this.#before = new Map();
  }

  #stopWatching(): void {
    this.#isWatching = false;
    this.#watch++;
    this.#counted = null;
    this.#before = new Map();
    this.#since = new Map();
  }
}
