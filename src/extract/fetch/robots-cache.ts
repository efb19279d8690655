import type { SourceFailure } from '../connector.ts';
import type { RobotsRules } from './robots-rules.ts';

/** What asking for a robots.txt came to. */
export type RobotsAnswer =
  | { readonly kind: 'rules'; readonly rules: RobotsRules }
  /** Nothing may be fetched for the time being. */
  | { readonly kind: 'unknown'; readonly failure: SourceFailure };

/** Source: RFC 9309, section 2.4: not longer than 24 hours. */
const KEEP_MS = 86_400_000;
/** Choice: long enough that a source in trouble is not asked with every page, short enough that a job goes on after it. */
const KEEP_UNKNOWN_MS = 15_000;
/** Choice: of a worker; the files are small, and what they become is some five times as large. */
const ORIGINS_MAX = 2_000;
const BYTES_MAX = 4 * 1_048_576;

interface Entry {
  readonly answer: RobotsAnswer;
  readonly untilMs: number;
}

/** Rules by origin, those not used for longest dropped first. Pages of one origin that ask at the same time share one fetch. */
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
    // What stopped another's fetch, its job's end for example, is no answer for this one: it fetches by itself then.
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
