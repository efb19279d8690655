import type { EntityHistory, HistoryEvent, HistoryFacts, Velocity } from '../core/history.ts';
import { AddressRecords } from './address-record.ts';
import { DeviceRecords } from './device-record.ts';
import { EntityRecords } from './entity-record.ts';
import { EventKeys } from './event-keys.ts';
import type { VelocityMemory } from './memory.ts';
import { SessionRecords } from './session-record.ts';
import { Table } from './table.ts';
import { Warmer } from './warmer.ts';

/**
 * The memory of a single node: one for each thread, all over the same table. What it counts, how exactly and in how much
 * memory is in the files of its records; the order of reading is `layout.ts`, `table.ts`, `session-record.ts`.
 *
 * Windows are half-open and slide. The bounds of their errors:
 * - counts are exact up to 12 events in the window (sign-ups up to 30), but for an edge that is up to 1/24,000 of the window early;
 *   beyond, those in the oldest ninth of the window count by the part of it that is inside (`ring.ts`, `buckets.ts`);
 * - distinct numbers are exact up to 30 and more, but for an edge that is early by up to 1 s (windows of 1 h), 2 s (of a day) or
 *   45 s (an entity's devices and networks), and for two members taken for one in 1 of 32,767 (`timed-set.ts`); beyond, a
 *   sketch errs by 5 to 11 % and ends at some 1,370 (`sketch.ts`);
 * - up to three cold events of an address in the last hour, or a fifth more, are that many cold entities, whatever their names;
 * - cold shares count by fifths of the window (`arrivals.ts`); places are known to 0.003° and a minute (`places.ts`);
 * - what workers that stand in each other's way lose is at `Table`: measured, under 1 in 1,000 first touches by four threads at
 *   once, and nothing of hot subjects.
 *
 * Times before 3 January 1970 are none. Measured: 2.2 µs a usual event in cache, 4 µs in a full table of 256 MB, in batches of 16 (two
 * cores shared with others); 300,000 strangers a day fit into 256 MB, of 1,000,000 every other record goes early.
 *
 * Direction of failure: open. A record that cannot be had leaves out its part; without the session's record an event gives null.
 */
export class LocalVelocity implements Velocity {
  readonly #hashKey: Uint8Array;
  readonly #names = new Map<string, number>();
  /** Those of a batch's events, made once and used again. */
  readonly #keys: EventKeys[] = [];
  readonly #warmer: Warmer;
  readonly #table: Table;
  readonly #sessions: SessionRecords;
  readonly #addresses: AddressRecords;
  readonly #entities: EntityRecords;
  readonly #devices: DeviceRecords;

  constructor(memory: VelocityMemory) {
    this.#hashKey = memory.hashKey;
    this.#table = new Table(memory);
    this.#warmer = new Warmer(this.#table);
    this.#sessions = new SessionRecords(this.#table);
    this.#addresses = new AddressRecords(this.#table);
    this.#entities = new EntityRecords(this.#table);
    this.#devices = new DeviceRecords(this.#table);
  }

  observe(events: readonly HistoryEvent[]): (HistoryFacts | null)[] {
    const warmer = this.#warmer;
    warmer.begin();
    let at = 0;
    for (const event of events) {
      const keys = this.#keysAt(at++);
      keys.read(event);
      warmer.note(keys, event.networks !== null, event.device !== null);
    }
    warmer.warm();
    const facts: (HistoryFacts | null)[] = [];
    for (const event of events) facts.push(this.#observe(event, this.#keysAt(facts.length)));
    return facts;
  }

  #keysAt(i: number): EventKeys {
    return (this.#keys[i] ??= new EventKeys(this.#hashKey, this.#names));
  }

  #observe(event: HistoryEvent, keys: EventKeys): HistoryFacts | null {
    const nowSeconds = Math.floor(event.nowMs / 1_000);
    const session = this.#sessions.observe(event, keys, nowSeconds);
    const entities: EntityHistory[] = [];
    let isStranger = keys.entities > 0;
    for (let n = 0; n < keys.entities; n++) {
      const entity = this.#entities.observe(event, keys, n, nowSeconds);
      if (entity === null || this.#entities.knewNetwork) isStranger = false;
      if (entity !== null) entities.push(entity);
    }
    const isCold = isStranger && this.#sessions.isFirst;
    const ip =
      event.networks === null ? null : this.#addresses.observe(event, keys, nowSeconds, isCold, this.#sessions);
    const device = event.device === null ? null : this.#devices.observe(keys, event.nowMs);
    return session === null ? null : { session, ip, entities, device };
  }
}
