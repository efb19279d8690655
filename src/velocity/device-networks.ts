import { DEVICE_COMMON_NETWORKS_24H, DEVICE_COMMON_NETWORKS_30D } from '../kernel/velocity-limits.ts';
import { mix, SALT_DEVICE_DAY, SALT_DEVICE_MONTH } from './keys.ts';
import { KIND_LONG_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { LONG_DAY_SET, setMemberOf, MONTH_SET } from './timed-set.ts';

/**
 * The networks of a device. The first one is in the flags word of the device's record (bits 8-31, part of its hash). A separate set is
 * created with the second, so a device that stays at home needs no further record. Networks of 24 h are exact up to 30, then estimated with
 * a sketch (`set-record.ts`); from 10 in a day on, networks of 30 days are counted in the same way.
 *
 * The number serves to detect a fingerprint that all devices of a model share. So events of a device for which only one person was named
 * add no further networks.
 *
 * Bytes: none for one network; 137 from the second on; 137 more from 10 in 24 h on; 274 more for each of the two sets with over 30.
 * Error: the first network counts for as long as the second, so up to a day, or 30 days, too long.
 */
const FLAG_DAY = 8;
const FLAG_MONTH = 16;
const FIRST_SHIFT = 8;
/** Choice: most devices have fewer, and need no second set. */
const MONTH_FROM = 10;

export class DeviceNetworks {
  networks24h = 0;
  isCommon = false;
  readonly #table: Table;
  readonly #flagsAt: number;
  readonly #day: SetRecords;
  readonly #month: SetRecords;

  /** `flagsAt` is the index of the flags word in the device's record. */
  constructor(table: Table, flagsAt: number) {
    this.#table = table;
    this.#flagsAt = flagsAt;
    this.#day = new SetRecords(table, KIND_LONG_SET, LONG_DAY_SET);
    this.#month = new SetRecords(table, KIND_LONG_SET, MONTH_SET);
  }

  /** Adds the network with the hash `site`, 0 for none. `low` and `high` are the device's key. */
  see(record: number, low: number, high: number, site: number, nowMs: number): void {
    if (site === 0) return this.count(record, low, high, nowMs);
    const { words } = this.#table;
    const at = record + this.#flagsAt;
    const own = site >>> FIRST_SHIFT || 1;
    let flags = words[at] ?? 0;
    if (flags >>> FIRST_SHIFT === 0) {
      // When two workers write at the same time, the first one's network stays first and the other becomes an additional one.
      const was = Atomics.compareExchange(words, at, flags, (flags | (own << FIRST_SHIFT)) >>> 0);
      if (was === flags) return this.#tell(1, 0);
      flags = was;
    }
    const first = flags >>> FIRST_SHIFT;
    if ((flags & FLAG_DAY) === 0) {
      if (first === own) return this.#tell(1, 0);
      Atomics.or(words, at, FLAG_DAY);
      this.#add(this.#day, low, high, SALT_DEVICE_DAY, first, nowMs);
    }
    const day = this.#add(this.#day, low, high, SALT_DEVICE_DAY, own, nowMs);
    if (day >= MONTH_FROM && (flags & FLAG_MONTH) === 0) Atomics.or(words, at, FLAG_MONTH);
    const hasMonth = ((words[at] ?? 0) & FLAG_MONTH) !== 0;
    this.#tell(day, hasMonth ? this.#add(this.#month, low, high, SALT_DEVICE_MONTH, own, nowMs) : 0);
  }

  /** Stores the network if it is the first, and counts. */
  begin(record: number, low: number, high: number, site: number, nowMs: number): void {
    const { words } = this.#table;
    const at = record + this.#flagsAt;
    const flags = words[at] ?? 0;
    if (site !== 0 && flags >>> FIRST_SHIFT === 0) {
      Atomics.compareExchange(words, at, flags, (flags | ((site >>> FIRST_SHIFT || 1) << FIRST_SHIFT)) >>> 0);
    }
    this.count(record, low, high, nowMs);
    if (site !== 0 && this.networks24h === 0) this.networks24h = 1;
  }

  count(record: number, low: number, high: number, nowMs: number): void {
    const flags = this.#table.words[record + this.#flagsAt] ?? 0;
    if ((flags & FLAG_DAY) === 0) return this.#tell(flags >>> FIRST_SHIFT === 0 ? 0 : 1, 0);
    const day = this.#day.count(mix(low, high, SALT_DEVICE_DAY), mix(high, low, SALT_DEVICE_DAY), nowMs);
    if ((flags & FLAG_MONTH) === 0) return this.#tell(day, 0);
    this.#tell(day, this.#month.count(mix(low, high, SALT_DEVICE_MONTH), mix(high, low, SALT_DEVICE_MONTH), nowMs));
  }

  #add(set: SetRecords, low: number, high: number, salt: number, network: number, nowMs: number): number {
    return set.see(mix(low, high, salt), mix(high, low, salt), setMemberOf(network), nowMs);
  }

  #tell(networks24h: number, networks30d: number): void {
    this.networks24h = networks24h;
    this.isCommon = networks24h > DEVICE_COMMON_NETWORKS_24H || networks30d > DEVICE_COMMON_NETWORKS_30D;
  }
}
