import type { DeviceHistory } from '../risk/history.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_DEVICE } from './keys.ts';
import { DeviceNetworks } from './device-networks.ts';
import { KIND_DEVICE, KIND_SET } from './layout.ts';
import { OverflowingSet } from './overflowing-set.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { DAY_SET, setMemberOf } from './timed-set.ts';

/**
 * A device, which is a collector fingerprint or a browser's own id: for each entity key name a set of the entities of 24 h, and the
 * networks it came from.
 *
 *   0 hash   1 flags, 8 bits; the first network, 24 bits (`device-networks.ts`)
 *   2-11, 12-21, 22-30 one key name each: its hash, then nine entities (eight for the third name) (`timed-set.ts`)
 *   31 day of the last event & 0xffff << 16 | distinct days
 *
 * Further entities of a name are in an overflow record, and so are all entities of a fourth name.
 */
/** Index of the flags word. */
export const AT_FLAGS = 1;
const AT_NAMES = 2;
const NAMES = 3;
const NAME_WORDS = 10;
const AT_DAYS = 31;
const DAY_MS = 86_400_000;
const DAYS_MAX = 0xffff;
/** Choice: more than the number of workers that could claim a name's words at the same time. */
const CLAIMS_MAX = 64;
/** Flag of a record of a browser: bits 0 to 4 are those of the sets. */
export const FLAG_BROWSER = 32;

/** A device as its record shows it. */
export type DeviceCounts = Omit<DeviceHistory, 'browser'>;

const NOTHING_KNOWN: DeviceCounts = { entities24h: 0, networks24h: 0, days: 0, isCommon: false };

export class DeviceRecords {
  /** Set by the last `observe`: for each of the event's entities, how many entities of that key name came with the device in 24 h. */
  readonly ofName24h: number[] = [];
  /** Set by the last `observe`: whether one of the event's entities came with the device in the last 24 h. */
  knewEntity = false;
  readonly #table: Table;
  readonly #isBrowser: boolean;
  readonly #sets: readonly OverflowingSet[];
  readonly #further: SetRecords;
  readonly #networks: DeviceNetworks;

  /** `isBrowser`: its devices are browsers with an id of their own, which their records show. */
  constructor(table: Table, isBrowser: boolean) {
    this.#table = table;
    this.#isBrowser = isBrowser;
    this.#sets = Array.from({ length: NAMES }, (_none, n) => {
      const at = AT_NAMES + n * NAME_WORDS + 1;
      const place = {
        at,
        words: NAME_WORDS - (n === NAMES - 1 ? 2 : 1),
        flagsAt: AT_FLAGS,
        flag: 1 << n,
        salt: SALT_DEVICE + (n << 8),
      };
      return new OverflowingSet(table, { ...place, span: DAY_SET, kind: KIND_SET });
    });
    this.#further = new SetRecords(table, KIND_SET, DAY_SET);
    this.#networks = new DeviceNetworks(table, AT_FLAGS);
  }

  /** `low` and `high` are the device's key. */
  observe(low: number, high: number, keys: EventKeys, nowMs: number): DeviceCounts {
    const { entities, nameHash, entityHigh, site } = keys;
    const table = this.#table;
    let most = 0;
    this.ofName24h.length = 0;
    this.knewEntity = false;
    const record = table.take(low, high, KIND_DEVICE, Math.floor(nowMs / 1_000));
    if (record === 0) return NOTHING_KNOWN;
    const rest = table.restSeconds;
    if (this.#isBrowser && table.isNew) Atomics.or(table.words, record + AT_FLAGS, FLAG_BROWSER);
    for (let n = 0; n < entities; n++) {
      const name = (nameHash[n] ?? 0) >>> 0 || 1;
      const member = setMemberOf(entityHigh[n] ?? 0);
      const set = this.#setOf(record, name);
      const count =
        set === undefined
          ? this.#further.see(mix(low, name, SALT_DEVICE), mix(high, name, SALT_DEVICE), member, nowMs)
          : set.see(record, low, high, member, nowMs, rest);
      this.ofName24h.push(count);
      if ((set ?? this.#further).wasKnown) this.knewEntity = true;
      most = Math.max(most, count);
    }
    // A phone whose only person is named may use many networks without a record for them.
    if (most !== 1) this.#networks.see(record, low, high, site, nowMs);
    else this.#networks.begin(record, low, high, site, nowMs);
    const { networks24h, isCommon } = this.#networks;
    return { entities24h: most, networks24h, days: this.#countDays(record, nowMs), isCommon };
  }

  /** When two workers see the first event of a day at the same time, one of them counts it. */
  #countDays(record: number, nowMs: number): number {
    const { words } = this.#table;
    const word = words[record + AT_DAYS] ?? 0;
    const day = Math.floor(nowMs / DAY_MS) & 0xffff;
    const days = word & DAYS_MAX;
    if (days !== 0 && word >>> 16 === day) return days;
    const next = Math.min(days + 1, DAYS_MAX);
    Atomics.compareExchange(words, record + AT_DAYS, word, ((day << 16) | next) >>> 0);
    return next;
  }

  /** Returns the set of a name, claiming a slot for a new name; undefined when other names hold all slots. */
  #setOf(record: number, name: number): OverflowingSet | undefined {
    const { words } = this.#table;
    for (let n = 0, tries = 0; n < NAMES && tries < CLAIMS_MAX; tries++) {
      const at = record + AT_NAMES + n * NAME_WORDS;
      const word = words[at] ?? 0;
      if (word === name) return this.#sets[n];
      if (word !== 0) n++;
      else if (Atomics.compareExchange(words, at, 0, name) === 0) return this.#sets[n];
    }
    return undefined;
  }
}
