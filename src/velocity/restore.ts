import {
  GROUP_WORDS,
  HEAD_EVICTED,
  HEAD_LOST,
  HEAD_MADE,
  HEAD_USED,
  HEAD_WORDS,
  RECORD_WORDS,
  SEEN_MIN,
} from './layout.ts';
import type { VelocityMemory } from './memory.ts';
import { VELOCITY_KEEP_SECONDS } from '../limits.ts';
import { recordAt, Table } from './table.ts';

/** Puts records of a snapshot back into an empty table of any size, while nobody else uses it. */
export class Restorer {
  records = 0;
  skipped = 0;
  readonly #table: Table;
  readonly #nowSeconds: number;

  constructor(memory: VelocityMemory, nowSeconds: number) {
    this.#table = new Table(memory);
    this.#nowSeconds = nowSeconds;
  }

  /** An entry of `source` from word `at` on: tag, state, the record's words. The more recently seen ones win a full group. */
  add(source: Uint32Array, at: number): void {
    const { words } = this.#table;
    const tag = source[at] ?? 0;
    const seen = Math.min(source[at + 1] ?? 0, this.#nowSeconds);
    const isOver = seen < SEEN_MIN || tag === 0 || this.#nowSeconds - seen > VELOCITY_KEEP_SECONDS;
    const to = isOver ? -1 : this.#table.placeFor(source[at + 2] ?? 0, tag >>> 4, tag, seen, this.#nowSeconds);
    if (to < 0) {
      this.skipped++;
      return;
    }
    if (words[to + 1] === 0) this.records++;
    else this.skipped++;
    words[to] = tag;
    words[to + 1] = seen;
    const record = recordAt(to);
    for (let i = 0; i < RECORD_WORDS; i++) words[record + i] = source[at + 2 + i] ?? 0;
    words[HEAD_USED] = this.records;
  }

  /** Empties the table, for a snapshot that turns out to be damaged. */
  clear(): void {
    // Memory that nothing was written to is not even taken from the system.
    if (this.records + this.skipped === 0) return;
    const { words } = this.#table;
    for (let at = HEAD_WORDS; at < words.length; at += GROUP_WORDS) words.fill(0, at, at + GROUP_WORDS);
    for (const counter of [HEAD_USED, HEAD_MADE, HEAD_EVICTED, HEAD_LOST]) words[counter] = 0;
    this.records = 0;
    this.skipped = 0;
  }
}
