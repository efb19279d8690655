import { SlotMap } from '../../kernel/slot-map.ts';
import type { Step } from '../base/connector.ts';

/** Choice: characters of step keys that a worker keeps for all its jobs; enough for about 20,000 pages. */
const CHARACTERS_MAX = 2 * 1_048_576;
/** Choice: pages have fewer links that are followed. Longer results are lists, which name each page once. */
const KEYS_PER_RESULT_MAX = 1_000;
/** Choice: overhead of a key besides its characters. */
const KEY_CHARACTERS = 32;

/** Limits the step keys kept for all jobs of one worker. */
export class KeyRoom {
  #left: number;

  constructor(charactersMax: number = CHARACTERS_MAX) {
    this.#left = charactersMax;
  }

  /** Reserves space for a key; false if there is none. */
  take(key: string): boolean {
    const cost = costOf(key);
    if (cost > this.#left) return false;
    this.#left -= cost;
    return true;
  }

  give(key: string): void {
    this.#left += costOf(key);
  }
}

function costOf(key: string): number {
  return key.length + KEY_CHARACTERS;
}

/**
 * Deduplication cache: the step keys of a job that its worker knows to be in the store. These steps need not be sent again, and most links
 * of a page lead to pages that were already found. The keys of a result are added only when the scheduler confirms that it is stored, so a
 * result that was lost, rejected or ignored leaves nothing here. When the space is used up, no more keys are kept; the links of a site's
 * menus are among the first.
 */
export class KnownSteps {
  readonly #room: KeyRoom;
  readonly #keys = new Set<string>();
  /** Lease → step keys of its result. */
  readonly #sent = new SlotMap<readonly string[]>();

  constructor(room: KeyRoom) {
    this.#room = room;
  }

  /** Returns the steps that the store may not have. */
  unknown(steps: readonly Step[]): readonly Step[] {
    return this.#keys.size === 0 ? steps : steps.filter(({ key }) => !this.#keys.has(key));
  }

  /** Returns whether the store may lack one of these steps. */
  lacks(keys: readonly string[]): boolean {
    return keys.some((key) => !this.#keys.has(key));
  }

  sent(lease: number, keys: readonly string[]): void {
    if (keys.length > 0 && keys.length <= KEYS_PER_RESULT_MAX) this.#sent.set(lease, keys);
  }

  /** Records that the results of these leases are stored. */
  written(leases: readonly number[]): void {
    for (const lease of leases) {
      for (const key of this.#sent.get(lease) ?? [])
        if (!this.#keys.has(key) && this.#room.take(key)) this.#keys.add(key);
      this.#sent.delete(lease);
    }
  }

  /** Clears the cache and frees its space. */
  forget(): void {
    for (const key of this.#keys) this.#room.give(key);
    this.#keys.clear();
    this.#sent.clear();
  }
}
