import type { GuardedClient } from '../../egress/client.ts';
import type { RobotsCache } from './robots-cache.ts';
import type { BodyCache } from './body-cache.ts';

/** What all sources of one worker share. */
export interface FetchParts {
  readonly client: Pick<GuardedClient, 'request'>;
  readonly polite: PolitePermits;
  readonly robots: RobotsCache;
  readonly bodies: BodyCache;
  readonly clock: FetchClock;
  /** 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Begins with the product token that robots.txt knows this service by, `Gatehouse`. */
  readonly userAgent: string;
}

/** The worker's side of the polite clock, which all jobs of all workers share. `domain` is what `politeDomain` says. */
export interface PolitePermits {
  /** Resolves when a request to the domain may begin; each is followed by one `release`. A rejection ends the fetch. */
  permit(domain: string, url: string): Promise<void>;
  release(domain: string): void;
  /** What the source asks for. */
  report(domain: string, wish: PoliteWish): void;
}

export interface PoliteWish {
  readonly retryAfterMs?: number;
  readonly crawlDelayMs?: number;
}

export interface FetchClock {
  /** Unix milliseconds. */
  nowMs(): number;
  wait(ms: number): Promise<void>;
}

/** Counts of one source since it was made. */
export interface SourceUsage {
  /** Pages and API calls that succeeded. */
  readonly pages: number;
  readonly credits: number;
  /** The dearest that was used; null before the first success. */
  readonly tier: 'basic' | 'standard' | null;
  /** Fetches that failed after all their retries. */
  readonly errors: number;
  /** Of bodies, as they came over the wire. */
  readonly bytes: number;
}
