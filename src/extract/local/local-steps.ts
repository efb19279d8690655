import type { ExtractNext } from '../base/extract-messages.ts';
import { type UnpackedStep, unpackSteps } from '../base/pack-steps.ts';

export interface LocalStep {
  readonly key: string;
  readonly stateJson: string;
}

export interface LocalStepBounds {
  /** Limit for the keys and states of all waiting steps together. */
  readonly waitingCharactersMax: number;
  /** Maximum number of distinct steps, including completed ones. */
  readonly knownMax: number;
}

const BOUNDS: LocalStepBounds = {
  /** Choice: 64 MiB. A step of a crawl has some 300 characters, so 200,000 pages may wait. */
  waitingCharactersMax: 67_108_864,
  /** Choice: as many pages as a job may have records. Measured: each takes 52 bytes here, so 52 MB at most. */
  knownMax: 1_000_000,
};

/** Bytes of a key's hash. */
const HASH_BYTES = 16;

/** In-memory queue of a job's steps, in the order in which the service runs them. Each key is accepted once, and the size is limited. */
export class LocalSteps {
  readonly #bounds: LocalStepBounds;
  readonly #known = new Set<string>();
  #waiting: LocalStep[] = [];
  /** Lists, of which the last one found is read first, when no page waits. */
  readonly #lists: LocalStep[] = [];
  /** Index of the next step in `#waiting`. Earlier entries are done and are removed by the next compaction. */
  #at = 0;
  #characters = 0;
  #leftOut = 0;

  constructor(bounds: Partial<LocalStepBounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds };
  }

  get waiting(): number {
    return this.#waiting.length - this.#at + this.#lists.length;
  }

  /** Number of steps for which there was no room. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Adds the steps whose key is new. */
  add(next: ExtractNext): void {
    const { hashes } = next;
    const bytes = Buffer.from(hashes.buffer, hashes.byteOffset, hashes.byteLength);
    for (const [i, step] of unpackSteps(next).entries()) {
      const mark = bytes.toString('latin1', i * HASH_BYTES, (i + 1) * HASH_BYTES);
      if (!this.#known.has(mark)) this.#append(mark, step);
    }
  }

  take(): LocalStep | null {
    const step = this.#waiting[this.#at] ?? this.#lists.pop();
    if (step === undefined) return null;
    this.#characters -= charactersOf(step);
    if (this.#at === this.#waiting.length) return step;
    this.#at++;
    if (this.#at * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#at);
      this.#at = 0;
    }
    return step;
  }

  #append(mark: string, { key, stateJson, isList }: UnpackedStep): void {
    const step = { key, stateJson };
    const characters = this.#characters + charactersOf(step);
    if (characters > this.#bounds.waitingCharactersMax || this.#known.size >= this.#bounds.knownMax) {
      this.#leftOut++;
      return;
    }
    this.#known.add(mark);
    this.#characters = characters;
    (isList ? this.#lists : this.#waiting).push(step);
  }
}

function charactersOf({ key, stateJson }: LocalStep): number {
  return key.length + stateJson.length;
}
