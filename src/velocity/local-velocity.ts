import type { EntityHistory, HistoryEvent, HistoryFacts, Velocity } from '../core/history.ts';
import { AddressRecords } from './address-record.ts';
import { DeviceRecords } from './device-record.ts';
import { EntityRecords } from './entity-record.ts';
import { EventKeys } from './event-keys.ts';
import type { VelocityMemory } from './memory.ts';
import { SessionRecords } from './session-record.ts';
import { Table } from './table.ts';

/**
 * The memory of a single node: one for each thread, all over the same table. What it counts, how exactly and in how much
 * memory is in the files of its records; the order of reading is `layout.ts`, `table.ts`, `session-record.ts`.
 *
 * Direction of failure: open. A record that cannot be had leaves out its part; without the session's record an event gives null.
 */
export class LocalVelocity implements Velocity {
  /** Nobody reads it; it keeps the reads of `#prefetch` from being left out. */
  #prefetched = 0;
  readonly #keys: EventKeys;
  readonly #table: Table;
  readonly #sessions: SessionRecords;
  readonly #addresses: AddressRecords;
  readonly #entities: EntityRecords;
  readonly #devices: DeviceRecords;

  constructor(memory: VelocityMemory) {
    this.#keys = new EventKeys(memory.hashKey);
    this.#table = new Table(memory);
    this.#sessions = new SessionRecords(this.#table);
    this.#addresses = new AddressRecords(this.#table);
    this.#entities = new EntityRecords(this.#table);
    this.#devices = new DeviceRecords(this.#table);
  }

  /** Measured: in a table of 256 MB TODO. */
  #prefetch({ networks, device }: HistoryEvent): number {
    const keys = this.#keys;
    const table = this.#table;
    let read = table.prefetch(keys.sessionLow, keys.sessionHigh);
    if (networks !== null) read ^= table.prefetch(keys.hostLow, keys.hostHigh);
    for (let n = 0; n < keys.entities; n++) {
      read ^= table.prefetch(keys.entityLow[n] ?? 0, keys.entityHigh[n] ?? 0);
      if (device !== null) read ^= this.#devices.prefetch(keys, n);
    }
    return read;
  }

  observe(events: readonly HistoryEvent[]): (HistoryFacts | null)[] {
    return events.map((event) => this.#observe(event));
  }

  #observe(event: HistoryEvent): HistoryFacts | null {
    const keys = this.#keys;
    keys.read(event);
    this.#prefetched ^= this.#prefetch(event);
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
