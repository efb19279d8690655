import { mix, SALT_CONTEXTS } from './keys.ts';
import { KIND_POPULATION } from './layout.ts';
import type { Table } from './table.ts';

/**
 * Estimates how common agents and locations are among a customer's sessions. A count-min sketch with two rows of 2,046 cells of 16 bits
 * holds both kinds of values. A row has up to 33 records, created on demand, and one more record holds the number of sessions: at most 9.2
 * KB a customer and kind of key.
 *
 *   0 hash   1-31 two cells each; in the record of the number: 1 sessions
 *
 * After 60,000 sessions all counts are halved, so that the sketch follows the customer. A count errs upwards, by about 1/1,000 of the
 * sessions.
 */
const ROWS = 2;
const CELLS_PER_RECORD = 62;
const RECORDS_PER_ROW = 33;
const CELLS = CELLS_PER_RECORD * RECORDS_PER_ROW;
const NUMBER_PART = ROWS * RECORDS_PER_ROW;
const AT_CELLS = 1;
const AT_SESSIONS = 1;
const SESSIONS_MAX = 60_000;
const TRIES_MAX = 16;

export interface PopulationKey {
  readonly populationLow: number;
  readonly populationHigh: number;
}

export class ContextPopulation {
  readonly #table: Table;
  #record = 0;
  #word = 0;
  #shift = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Counts a session with these values, or reverts it; 0 means that the session has no such value. */
  change(key: PopulationKey, agent: number, place: number, by: 1 | -1, nowSeconds: number): void {
    const { words } = this.#table;
    const record = this.#part(key, NUMBER_PART, nowSeconds, by === 1);
    if (record === 0 || (by === -1 && words[record + AT_SESSIONS] === 0)) return;
    const sessions = Atomics.add(words, record + AT_SESSIONS, by) + by;
    if (agent !== 0) this.#count(key, agent, by, nowSeconds);
    if (place !== 0) this.#count(key, ~place, by, nowSeconds);
    if (sessions < SESSIONS_MAX) return;
    if (Atomics.compareExchange(words, record + AT_SESSIONS, sessions, sessions >> 1) === sessions)
      this.#halve(key, nowSeconds);
  }

  agentShare(key: PopulationKey, agent: number, nowSeconds: number): number {
    return this.#share(key, agent, nowSeconds);
  }

  placeShare(key: PopulationKey, place: number, nowSeconds: number): number {
    return this.#share(key, ~place, nowSeconds);
  }

  /** Returns the share of sessions with the value, 0 to 1. A value never seen counts as half a session. */
  #share(key: PopulationKey, value: number, nowSeconds: number): number {
    const { words } = this.#table;
    const record = this.#part(key, NUMBER_PART, nowSeconds, false);
    const sessions = record === 0 ? 0 : (words[record + AT_SESSIONS] ?? 0);
    let least = Infinity;
    for (let row = 0; row < ROWS; row++) {
      this.#find(key, value, row, nowSeconds, false);
      const count = this.#record === 0 ? 0 : ((words[this.#record + this.#word] ?? 0) >>> this.#shift) & 0xffff;
      least = Math.min(least, count);
    }
    return Math.min(1, Math.max(least, 0.5) / Math.max(sessions, 1));
  }

  #count(key: PopulationKey, value: number, by: 1 | -1, nowSeconds: number): void {
    const { words } = this.#table;
    const limit = by === 1 ? 0xffff : 0;
    for (let row = 0; row < ROWS; row++) {
      this.#find(key, value, row, nowSeconds, by === 1);
      if (this.#record === 0) continue;
      const at = this.#record + this.#word;
      for (let n = 0; n < TRIES_MAX; n++) {
        const word = words[at] ?? 0;
        if (((word >>> this.#shift) & 0xffff) === limit) break;
        if (Atomics.compareExchange(words, at, word, (word + by * (1 << this.#shift)) >>> 0) === word) break;
      }
    }
  }

  /** Sets `#record`, `#word` and `#shift` to the value's cell in a row; `#record` is 0 when there is no such record. */
  #find(key: PopulationKey, value: number, row: number, nowSeconds: number, makes: boolean): void {
    const hash = mix(value, row === 0 ? key.populationLow : key.populationHigh, SALT_CONTEXTS + 2 + row) >>> 0;
    const cell = hash % CELLS;
    const inRecord = cell % CELLS_PER_RECORD;
    this.#record = this.#part(key, row * RECORDS_PER_ROW + Math.floor(cell / CELLS_PER_RECORD), nowSeconds, makes);
    this.#word = AT_CELLS + (inRecord >> 1);
    this.#shift = (inRecord & 1) * 16;
  }

  /** Runs on the thread that halved the number of sessions. Counts added at the same time may be lost. */
  #halve(key: PopulationKey, nowSeconds: number): void {
    const { words } = this.#table;
    for (let part = 0; part < NUMBER_PART; part++) {
      const record = this.#part(key, part, nowSeconds, false);
      if (record === 0) continue;
      for (let i = record + AT_CELLS; i < record + AT_CELLS + CELLS_PER_RECORD / 2; i++) {
        const word = words[i] ?? 0;
        Atomics.compareExchange(words, i, word, (word >>> 1) & 0x7fff7fff);
      }
    }
  }

  #part({ populationLow: low, populationHigh: high }: PopulationKey, part: number, nowSeconds: number, makes: boolean) {
    const salt = SALT_CONTEXTS + (part << 8);
    const ownLow = mix(low, high, salt);
    const ownHigh = mix(high, low, salt + 1);
    return makes
      ? this.#table.take(ownLow, ownHigh, KIND_POPULATION, nowSeconds)
      : this.#table.find(ownLow, ownHigh, KIND_POPULATION, nowSeconds);
  }
}
