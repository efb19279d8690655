import { isContextAsked } from '../risk/context-steps.ts';
import type { HistoryEvent } from '../risk/history.ts';
import type { EventKeys } from './event-keys.ts';
import {
  KIND_ADDRESS,
  KIND_DEVICE,
  KIND_ENTITY,
  KIND_ENTITY_OUTCOMES as KIND_CONTEXT,
  KIND_HOUR_SET,
  KIND_SESSION,
  RECORD_WORDS,
} from './layout.ts';
import type { Table } from './table.ts';

/** Choice: the keys of 32 events with a few entities each; further keys are not warmed. */
const KEYS_MAX = 256;

/**
 * Prefetches the groups and records that a batch will need, one right after the other, before any of them is used. A record lies anywhere
 * in the table, so each costs a cache miss and a TLB miss. The processor overlaps many of them if no compare-and-swap stands in between.
 * Changes nothing, and no result depends on what was read.
 * Measured: 7.1 µs → 5.8 µs an event in a full table of 256 MB (bench/micro, batches of 16).
 */
export class Warmer {
  readonly #table: Table;
  readonly #firstGroups = new Int32Array(KEYS_MAX);
  readonly #secondGroups = new Int32Array(KEYS_MAX);
  readonly #highs = new Int32Array(KEYS_MAX);
  readonly #kinds = new Uint8Array(KEYS_MAX);
  #keys = 0;
  /** Prevents the reads from being optimised away. */
  #sum = 0;

  constructor(table: Table) {
    this.#table = table;
  }

  begin(): void {
    this.#keys = 0;
  }

  /** Notes the keys that an event will look up. */
  note(keys: EventKeys, event: HistoryEvent): void {
    this.#add(keys.sessionLow, keys.sessionHigh, KIND_SESSION);
    if (event.networks !== null) this.#add(keys.hostLow, keys.hostHigh, KIND_ADDRESS);
    if (event.device !== null) this.#add(keys.deviceLow, keys.deviceHigh, KIND_DEVICE);
    if (event.browser !== null) this.#add(keys.browserLow, keys.browserHigh, KIND_DEVICE);
    if (event.grant !== null) this.#add(keys.nonceLow, keys.nonceHigh, KIND_HOUR_SET);
    for (let n = 0; n < keys.entities; n++) {
      this.#add(keys.entityLow[n] ?? 0, keys.entityHigh[n] ?? 0, KIND_ENTITY);
    }
    const { account } = keys;
    if (isContextAsked(event.eventType) && account >= 0)
      this.#add(keys.entityLow[account] ?? 0, keys.entityHigh[account] ?? 0, KIND_CONTEXT);
  }

  /** Reads the lines of all groups, then the records that they contain. */
  warm(): void {
    const { words } = this.#table;
    let sum = this.#sum;
    for (let i = 0; i < this.#keys; i++) {
      sum ^= (words[this.#firstGroups[i] ?? 0] ?? 0) ^ (words[this.#secondGroups[i] ?? 0] ?? 0);
    }
    for (let i = 0; i < this.#keys; i++) {
      const high = this.#highs[i] ?? 0;
      const kind = this.#kinds[i] ?? 0;
      const record =
        this.#table.recordIn(this.#firstGroups[i] ?? 0, high, kind) ||
        this.#table.recordIn(this.#secondGroups[i] ?? 0, high, kind);
      sum ^= (words[record] ?? 0) ^ (words[record + RECORD_WORDS / 2] ?? 0);
    }
    this.#sum = sum;
  }

  #add(low: number, high: number, kind: number): void {
    const at = this.#keys;
    if (at === KEYS_MAX) return;
    this.#firstGroups[at] = this.#table.firstGroupOf(low);
    this.#secondGroups[at] = this.#table.secondGroupOf(high);
    this.#highs[at] = high;
    this.#kinds[at] = kind;
    this.#keys = at + 1;
  }
}
