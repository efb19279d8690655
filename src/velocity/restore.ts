import {
  GROUP_WORDS,
  HEAD_EVICTED,
  HEAD_LOST,
  HEAD_MADE,
  HEAD_REFUSED,
  HEAD_USED,
  HEAD_WORDS,
  OWNERS,
  RECORD_WORDS,
  SEEN_MIN,
} from './layout.ts';
import type { VelocityMemory } from './memory.ts';
import { VELOCITY_KEEP_SECONDS } from '../kernel/velocity-limits.ts';
import { StreamMarks } from './stream-marks.ts';
import { Table } from './table.ts';

/** Puts the records of a snapshot back into an empty table of any size. Nothing else may use the table meanwhile. */
export class Restorer {
  records = 0;
  skipped = 0;
  readonly #table: Table;
  readonly #marks: StreamMarks;
  readonly #nowSeconds: number;

  constructor(memory: VelocityMemory, nowSeconds: number) {
    this.#table = new Table(memory);
    this.#marks = new StreamMarks(memory.marks);
    this.#nowSeconds = nowSeconds;
  }

  /**
   * Adds the entry of `source` from word `at` on: tag, state, the record's words, owner. In a full group the owners' shares decide; among
   * records of one owner those that are kept longer, and then the more recently seen ones.
   */
  add(source: Uint32Array, at: number): void {
    const { words } = this.#table;
    const tag = source[at] ?? 0;
    const seen = Math.min(source[at + 1] ?? 0, this.#nowSeconds);
    const isOver = seen < SEEN_MIN || tag === 0 || this.#nowSeconds - seen > VELOCITY_KEEP_SECONDS;
    const word = source[at + 2 + RECORD_WORDS] ?? 0;
    const of = { owner: word & (OWNERS - 1), isKept: (word & OWNERS) !== 0 };
    const before = isOver ? -1 : this.#table.putBack(source, at, seen, of, this.#nowSeconds);
    if (before === 0) this.records++;
    else this.skipped++;
    words[HEAD_USED] = this.records;
  }

  /** Takes over how far the records contain the events of other nodes. */
  addMarks(bytes: Uint8Array): void {
    this.#marks.restore(bytes);
  }

  /** Empties the table after a corrupt snapshot. */
  clear(): void {
    this.#marks.clear();
    // Memory that was never written to has not been allocated by the system.
    if (this.records + this.skipped === 0) return;
    const { words } = this.#table;
    for (let at = HEAD_WORDS; at < words.length; at += GROUP_WORDS) words.fill(0, at, at + GROUP_WORDS);
    for (const counter of [HEAD_USED, HEAD_MADE, HEAD_EVICTED, HEAD_LOST, HEAD_REFUSED]) words[counter] = 0;
    this.#table.clearShares();
    this.records = 0;
    this.skipped = 0;
  }
}
