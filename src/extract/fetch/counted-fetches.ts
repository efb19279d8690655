import { mayFetchAgain, type Patience } from './attempt.ts';
import type { FetchParts, SourceUsage } from './fetch-parts.ts';
import type { SessionJar } from './fetch-session.ts';
import { follow, type Followed, type FollowRequest } from './follow.ts';
import { readFetchUrl } from './redirects.ts';
import { holdToRobots } from './robots.ts';
import { FetchFailure } from './source-failure.ts';

/** One request to a source: its headers, its bounds, and how its response is judged. */
export interface FetchAsk extends Pick<
  FollowRequest,
  'accept' | 'headers' | 'bytesMax' | 'opensGzip' | 'leavesPacked'
> {
  readonly robots: boolean;
  readonly allowStatuses: readonly number[];
  readonly tier: 'basic' | 'standard';
}

export type Answered = Extract<Followed, { kind: 'answer' }>;

/**
 * One job's fetches, with what they cost. Credits: one for each page and each API call that succeeded, even if the source responded that
 * nothing has changed, because the cost of a job must not depend on earlier fetches. An error status that a connector accepts as a response
 * is free.
 */
export class CountedFetches {
  readonly #parts: FetchParts;
  readonly #session: SessionJar | null;
  readonly #usage = { pages: 0, credits: 0, errors: 0, bytes: 0 };
  #tier: SourceUsage['tier'] = null;

  /** `session`: null if not logged in. */
  constructor(parts: FetchParts, session: SessionJar | null) {
    this.#parts = parts;
    this.#session = session;
  }

  get usage(): SourceUsage {
    return { ...this.#usage, tier: this.#tier };
  }

  /** Counts received bytes. */
  readonly onBytes = (bytes: number): void => {
    this.#usage.bytes += bytes;
  };

  /** Fetches and reads; repeats both if the body was incomplete. A failure on the way counts as one error. */
  async fetch<T>(
    url: string,
    ask: FetchAsk,
    read: (answer: Answered) => T | Promise<T>,
    tierOf: (value: T) => 'basic' | 'standard' = () => ask.tier,
  ): Promise<T> {
    const patience: Patience = { retries: 0 };
    for (;;) {
      try {
        const answer = await this.#answerOf(url, ask, patience);
        const value = await read(answer);
        if (answer.status >= 200 && answer.status < 300) {
          this.#usage.pages++;
          this.#usage.credits++;
          if (this.#tier !== 'standard') this.#tier = tierOf(value);
        }
        return value;
      } catch (error) {
        if (await mayFetchAgain(this.#parts, error, patience)) continue;
        this.#usage.errors++;
        throw error;
      }
    }
  }

  /** Takes back the page and the credit of a fetch that succeeded, but only led to another page. */
  refund(): void {
    this.#usage.pages--;
    this.#usage.credits--;
  }

  /** Counts an error found in what was fetched, and returns it. */
  failed(failure: FetchFailure): FetchFailure {
    this.#usage.errors++;
    return failure;
  }

  async #answerOf(url: string, { robots, allowStatuses, ...ask }: FetchAsk, patience: Patience): Promise<Answered> {
    const parts = this.#parts;
    const { onBytes } = this;
    const target = readFetchUrl(url);
    if (target === null) throw new FetchFailure('content', `${url}: not an http or https URL`);
    const beforeHop = robots ? (hop: string) => holdToRobots(parts, hop, onBytes) : () => Promise.resolve();
    const isAnswer = (status: number): boolean => allowStatuses.includes(status);
    const session = this.#session;
    const followed = await follow(parts, { ...ask, url: target, session, patience, beforeHop, isAnswer, onBytes });
    if (followed.kind === 'astray') throw new FetchFailure('refused', followed.detail);
    const isSuccess = followed.status >= 200 && followed.status < 300;
    if (isSuccess || isAnswer(followed.status)) return followed;
    throw new FetchFailure('refused', `${followed.url}: status ${followed.status}`);
  }
}
