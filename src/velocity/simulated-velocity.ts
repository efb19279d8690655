import type { Velocity } from '../ports/velocity.ts';
import type { HistoryEvent, HistoryFacts } from '../risk/history.ts';
import { HEAD_GROUPS, HEAD_MAGIC, HEAD_VERSION } from './layout.ts';
import { LocalVelocity } from './local-velocity.ts';
import { createVelocityMemory, type VelocityMemory } from './memory.ts';
import { Table } from './table.ts';

/**
 * The velocity store for simulations: returns the history that an event would have, and counts it nowhere. Each call works on a small table
 * of its own, which starts empty and into which records of the shared table are copied when they are looked up. The shared table is only
 * read, without marking anything as seen.
 *
 * Where the shared table is full, an event that counts could find no room for a new record; a simulation always does.
 */
export class SimulatedVelocity implements Velocity {
  readonly #words: Uint32Array;
  readonly #velocity: LocalVelocity;

  /** `bytes` is the size of its own table. */
  constructor(shared: VelocityMemory, bytes: number) {
    const own = createVelocityMemory(bytes, shared.hashKey);
    this.#words = new Uint32Array(own.words);
    this.#velocity = new LocalVelocity(own, new Table(own, new Table(shared)));
  }

  observe(events: readonly HistoryEvent[]): readonly (HistoryFacts | null)[] {
    this.#empty();
    return this.#velocity.observe(events);
  }

  #empty(): void {
    const words = this.#words;
    const kept = [HEAD_MAGIC, HEAD_VERSION, HEAD_GROUPS].map((at) => [at, words[at] ?? 0] as const);
    words.fill(0);
    for (const [at, word] of kept) words[at] = word;
  }
}
