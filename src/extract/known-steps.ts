import { SlotMap } from '../base/slot-map.ts';
import type { Step } from './connector.ts';

/** Choice: characters that a worker keeps of the keys of all its jobs; those of some 20,000 pages. */
const CHARACTERS_MAX = 2 * 1_048_576;
/** Choice: pages have fewer links that are followed; longer results are lists, which name each page once. */
const KEYS_PER_RESULT_MAX = 1_000;
/** Choice: what a key costs beside its characters. */
const KEY_CHARACTERS = 32;

/** How much the jobs of one worker may keep of their steps' keys. */
export class KeyRoom {
  #left: number;

  constructor(charactersMax: number = CHARACTERS_MAX) {
    this.#left = charactersMax;
  }

  /** Whether there is room for it. */
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
 * The keys of steps that the store has of a job, as far as its worker knows: those need not be sent again, and most links of a page
 * lead to pages that others have led to. What a step found counts only when the scheduler says that it is written: a result that was
 * lost on its way, refused or passed over leaves nothing here. When the room is used up no more are kept; the links of a site's menus
 * are among the first.
 */
export class KnownSteps {
  readonly #room: KeyRoom;
  readonly #keys = new Set<string>();
  /** Lease → what its result held. */
  readonly #sent = new SlotMap<readonly string[]>();

  constructor(room: KeyRoom) {
    this.#room = room;
  }

  /** Those of them that the store may not have. */
  unknown(steps: readonly Step[]): readonly Step[] {
    return this.#keys.size === 0 ? steps : steps.filter(({ key }) => !this.#keys.has(key));
  }

  sent(lease: number, keys: readonly string[]): void {
    if (keys.length > 0 && keys.length <= KEYS_PER_RESULT_MAX) this.#sent.set(lease, keys);
  }

  /** The results of these leases are in the store. */
  written(leases: readonly number[]): void {
    for (const lease of leases) {
      for (const key of this.#sent.get(lease) ?? [])
        if (!this.#keys.has(key) && this.#room.take(key)) this.#keys.add(key);
      this.#sent.delete(lease);
    }
  }

  /** Gives its room back. */
  forget(): void {
    for (const key of this.#keys) this.#room.give(key);
    this.#keys.clear();
    this.#sent.clear();
  }
}
