import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SendPlan } from './plan.ts';

export interface MakerInput {
  readonly plan: SendPlan;
  /** Prefix of the request ids, unique to this phase. */
  readonly runId: string;
  readonly blockRequests: number;
  /** Timestamp of the first request, Unix seconds. */
  readonly startSeconds: number;
}

/** Choice: one message per block, about 4 MB. */
const BLOCK_REQUESTS = 5_000;
/**
 * Choice: the number of requests signed before the phase begins and kept ahead during it, about 80 MB. Shorter phases are signed completely
 * before they begin.
 */
const AHEAD_REQUESTS = 100_000;

/** Signed requests in due order. */
export class RequestFeed {
  readonly #worker: Worker;
  readonly #blocks: Uint8Array[][] = [];
  readonly #count: number;
  #at = 0;
  #ready = 0;
  #ordered = 0;

  private constructor(plan: SendPlan, runId: string) {
    this.#count = Math.round(plan.arrivals.perSecond * plan.arrivals.seconds);
    const startSeconds = Math.floor(Date.now() / 1_000);
    const workerData: MakerInput = { plan, runId, blockRequests: BLOCK_REQUESTS, startSeconds };
    this.#worker = new Worker(new URL('request-maker.js', import.meta.url), { workerData });
    this.#worker.on('message', (block: Uint8Array[]) => {
      this.#blocks.push(block);
      this.#ready += block.length;
    });
  }

  /** Resolves when the first `AHEAD_REQUESTS` requests are signed. */
  static async open(plan: SendPlan, runId: string): Promise<RequestFeed> {
    const feed = new RequestFeed(plan, runId);
    feed.#orderAhead();
    while (feed.#ready < Math.min(feed.#count, AHEAD_REQUESTS)) await once(feed.#worker, 'message');
    return feed;
  }

  /** Returns the next request, or null when the maker has fallen behind; the caller counts the delay as its own lateness. */
  next(): Uint8Array | null {
    const request = this.#blocks[0]?.[this.#at];
    if (request === undefined) return null;
    this.#at++;
    if (this.#at === this.#blocks[0]?.length) {
      this.#blocks.shift();
      this.#ready -= this.#at;
      this.#ordered -= this.#at;
      this.#at = 0;
      this.#orderAhead();
    }
    return request;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #orderAhead(): void {
    for (; this.#ordered < AHEAD_REQUESTS; this.#ordered += BLOCK_REQUESTS) this.#worker.postMessage('block');
  }
}
