import type { SourceFailure } from '../base/connector.ts';
import type { RobotsRules } from './robots-rules.ts';

/** The result of fetching a robots.txt. */
export type RobotsAnswer =
  | { readonly kind: 'rules'; readonly rules: RobotsRules }
  /** Nothing may be fetched for the time being. */
  | { readonly kind: 'unknown'; readonly failure: SourceFailure };

/** Source: RFC 9309, section 2.4: not longer than 24 hours. */
const KEEP_MS = 86_400_000;
/** Choice: long enough that a failing source is not asked for every page, and short enough that a job continues soon after it recovers. */
const KEEP_UNKNOWN_MS = 15_000;
/** Choice: limits for one worker. The files are small, but their parsed form is about five times as large. */
const ORIGINS_MAX = 2_000;
const BYTES_MAX = 4 * 1_048_576;

interface Entry {
  readonly answer: RobotsAnswer;
  readonly untilMs: number;
}

/** Rules by origin. Evicts the least recently used first. Concurrent requests for one origin share a fetch. */
export class RobotsCache {
  readonly #entries = new Map<string, Entry>();
  readonly #loading = new Map<string, Promise<RobotsAnswer>>();
  #bytes = 0;

  async find(origin: string, nowMs: () => number, load: () => Promise<RobotsAnswer>): Promise<RobotsAnswer> {
    const entry = this.#entries.get(origin);
    if (entry !== undefined && entry.untilMs > nowMs()) {
      this.#entries.delete(origin);
      this.#entries.set(origin, entry);
      return entry.answer;
    }
    // If another caller's fetch is aborted, for example because its job ended, this caller fetches by itself.
    for (let loading = this.#loading.get(origin); loading !== undefined; loading = this.#loading.get(origin)) {
      const answer = await loading.catch(() => null);
      if (answer !== null) return answer;
    }
    const started = load();
    this.#loading.set(origin, started);
    try {
      const answer = await started;
      this.#keep(origin, answer, nowMs());
      return answer;
    } finally {
      this.#loading.delete(origin);
    }
  }

  #keep(origin: string, answer: RobotsAnswer, nowMs: number): void {
    this.#drop(origin);
    this.#entries.set(origin, { answer, untilMs: nowMs + (answer.kind === 'rules' ? KEEP_MS : KEEP_UNKNOWN_MS) });
    this.#bytes += bytesOf(answer);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= BYTES_MAX && this.#entries.size <= ORIGINS_MAX) break;
      this.#drop(oldest);
    }
  }

  #drop(origin: string): void {
    const entry = this.#entries.get(origin);
    if (entry === undefined) return;
    this.#entries.delete(origin);
    this.#bytes -= bytesOf(entry.answer);
  }
}

function bytesOf(answer: RobotsAnswer): number {
  return answer.kind === 'rules' ? answer.rules.bytes : 0;
}
