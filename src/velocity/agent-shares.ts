import { mix, SALT_AGENT_SHARES } from './keys.ts';
import { KIND_POPULATION } from './layout.ts';
import type { Table } from './table.ts';

/**
 * Counts how many sessions of a customer's known accounts use each agent, so that a crowd of unknown accounts with one agent stands out.
 * Only known accounts count: an attack cannot make its own agent usual, while a new browser version becomes usual as people update.
 *
 *   a record of totals: 0 hash   1 day   2 sessions of the day   3 of the days before
 *   16 records of cells: 0 hash   1 day   2-31 a cell for one or a few agents: of the day << 16 | of the days before
 *
 * The counts of earlier days are halved every day. 17 records of 137 bytes, 2.3 KB a customer. A cell's count for one day stops at 65,535,
 * so for larger customers the share of the most frequent agents is too small.
 */
const RECORDS = 16;
const AT_DAY = 1;
const AT_CELLS = 2;
const CELLS_PER_RECORD = 30;
const AT_TOTAL_NOW = 2;
const AT_TOTAL_BEFORE = 3;
const DAY_MS = 86_400_000;
const MASK = 0xffff;
/** Choice: with fewer known sessions a share is not significant. */
const SESSIONS_MIN = 50;
const TRIES_MAX = 64;

export class AgentShares {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  /** Counts a session of a known account. `low` and `high` are the customer's key. */
  note(low: number, high: number, agent: number, nowMs: number): void {
    const { words } = this.#table;
    const totals = this.#totals(low, high, nowMs);
    const record = totals === 0 ? 0 : this.#cells(low, high, agent, nowMs);
    if (record === 0) return;
    Atomics.add(words, totals + AT_TOTAL_NOW, 1);
    const at = record + cellOf(agent);
    for (let n = 0; n < TRIES_MAX; n++) {
      const word = words[at] ?? 0;
      if (word >>> 16 === MASK || Atomics.compareExchange(words, at, word, word + 0x10000) === word) return;
    }
    this.#table.lose();
  }

  /** Returns the agent's share of today or of the days before, whichever is larger; null while too few sessions are known. */
  shareOf(low: number, high: number, agent: number, nowMs: number): number | null {
    const { words } = this.#table;
    const totals = this.#totals(low, high, nowMs);
    if (totals === 0) return null;
    const now = words[totals + AT_TOTAL_NOW] ?? 0;
    const before = words[totals + AT_TOTAL_BEFORE] ?? 0;
    const record = now + before < SESSIONS_MIN ? 0 : this.#cells(low, high, agent, nowMs);
    if (record === 0) return null;
    const cell = words[record + cellOf(agent)] ?? 0;
    const shareNow = now < SESSIONS_MIN ? 0 : (cell >>> 16) / now;
    const shareBefore = before < SESSIONS_MIN ? 0 : (cell & MASK) / before;
    if (now < SESSIONS_MIN && before < SESSIONS_MIN) return ((cell >>> 16) + (cell & MASK)) / (now + before);
    return Math.min(1, Math.max(shareNow, shareBefore));
  }

  #totals(low: number, high: number, nowMs: number): number {
    const { words } = this.#table;
    const record = this.#take(low, high, RECORDS, nowMs);
    const days = record === 0 ? 0 : this.#daysOver(record, nowMs);
    if (days === 0) return record;
    const now = Atomics.exchange(words, record + AT_TOTAL_NOW, 0);
    Atomics.store(words, record + AT_TOTAL_BEFORE, halved((words[record + AT_TOTAL_BEFORE] ?? 0) + now, days));
    return record;
  }

  #cells(low: number, high: number, agent: number, nowMs: number): number {
    const { words } = this.#table;
    const record = this.#take(low, high, (agent >>> 8) % RECORDS, nowMs);
    const days = record === 0 ? 0 : this.#daysOver(record, nowMs);
    if (days === 0) return record;
    for (let at = record + AT_CELLS; at < record + AT_CELLS + CELLS_PER_RECORD; at++) {
      const word = words[at] ?? 0;
      // An event that another worker counts at the same moment is lost.
      Atomics.store(words, at, halved((word >>> 16) + (word & MASK), days) & MASK);
    }
    return record;
  }

  /** Returns the days elapsed since the record's day. Only one caller gets them, and only once; all others get 0. */
  #daysOver(record: number, nowMs: number): number {
    const { words } = this.#table;
    const day = Math.floor(nowMs / DAY_MS);
    const was = words[record + AT_DAY] ?? 0;
    if (was >= day) return 0;
    return Atomics.compareExchange(words, record + AT_DAY, was, day) === was && was !== 0 ? day - was : 0;
  }

  #take(low: number, high: number, n: number, nowMs: number): number {
    const salt = SALT_AGENT_SHARES + (n << 8);
    const nowSeconds = Math.floor(nowMs / 1_000);
    return this.#table.take(mix(low, high, salt), mix(high, low, salt), KIND_POPULATION, nowSeconds);
  }
}

function cellOf(agent: number): number {
  return AT_CELLS + ((agent >>> 12) % CELLS_PER_RECORD);
}

/** Halves the count once per elapsed day, so yesterday's sessions count half. */
function halved(count: number, days: number): number {
  return Math.floor(count / 2 ** Math.min(30, days));
}
