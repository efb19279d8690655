import type { GuardedClient } from '../../egress/guarded-client.ts';
import type { RobotsCache } from './robots-cache.ts';
import type { BodyCache } from './body-cache.ts';

/** What all sources of one worker share. */
export interface FetchParts {
  readonly client: Pick<GuardedClient, 'request'>;
  readonly polite: DomainTokens;
  readonly robots: RobotsCache;
  readonly bodies: BodyCache;
  readonly clock: FetchClock;
  /** From 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Begins with `Gatehouse`, the product token by which robots.txt files name this service. */
  readonly userAgent: string;
}

/** The worker's side of the rate limiter, which all jobs of all workers share. `domain` is the result of `politeDomain`. */
export interface DomainTokens {
  /** Resolves when a request to the domain may start. Each call is followed by one `release`. A rejection ends the fetch. */
  permit(domain: string, url: string): Promise<void>;
  release(domain: string): void;
  /** Reports what the source asks for. */
  report(domain: string, wish: DomainRequest): void;
}

export interface DomainRequest {
  readonly retryAfterMs?: number;
  readonly crawlDelayMs?: number;
}

export interface FetchClock {
  /** Unix milliseconds. */
  nowMs(): number;
  wait(ms: number): Promise<void>;
}

/** Counters of one source since its creation. */
export interface SourceUsage {
  /** Pages and API calls that succeeded. */
  readonly pages: number;
  readonly credits: number;
  /** The most expensive tier used; null before the first success. */
  readonly tier: 'basic' | 'standard' | null;
  /** Fetches that failed after all their retries. */
  readonly errors: number;
  /** Bytes of response bodies on the wire. */
  readonly bytes: number;
}
