import { isValueKey, type ValuesHistory } from '../core/crowds.ts';
import type { HistoryEvent } from '../core/history.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_VALUES } from './keys.ts';
import { KIND_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { DAY_SET, memberOf } from './timed-set.ts';

/**
 * Distinct cards, gift cards and bank accounts with a person, a session, a device and an address, 24 h: a record each for every name of
 * such a key, only for events that name one. Of a person with several names the first two count, and of several such keys the first two.
 */
const PERSONS_MAX = 2;
const KEYS_MAX = 2;

export class ValueRecords {
  readonly #sets: SetRecords;

  constructor(table: Table) {
    this.#sets = new SetRecords(table, KIND_SET, DAY_SET);
  }

  /** null for an event that names none. */
  observe(event: HistoryEvent, keys: EventKeys): ValuesHistory | null {
    let most: ValuesHistory | null = null;
    for (let n = 0, found = 0; n < keys.entities && found < KEYS_MAX; n++) {
      const name = event.entities[n]?.name ?? '';
      if (!isValueKey(name)) continue;
      found++;
      const one = this.#observe(event, keys, n, name);
      const isMore = one.ofActor24h > (most?.ofActor24h ?? 0) || one.ofAddress24h > (most?.ofAddress24h ?? 0);
      if (isMore) most = one;
    }
    return most;
  }

  #observe(event: HistoryEvent, keys: EventKeys, n: number, name: string): ValuesHistory {
    const { nowMs } = event;
    let ofActor24h = this.#see(keys.sessionLow, keys.sessionHigh, keys, n, nowMs);
    let actor: ValuesHistory['actor'] = 'session';
    for (let p = 0, persons = 0; p < keys.entities && persons < PERSONS_MAX; p++) {
      if (isValueKey(event.entities[p]?.name ?? '')) continue;
      persons++;
      const count = this.#see(keys.entityLow[p] ?? 0, keys.entityHigh[p] ?? 0, keys, n, nowMs);
      if (count >= ofActor24h) actor = 'person';
      ofActor24h = Math.max(ofActor24h, count);
    }
    if (event.device !== null) {
      const count = this.#see(keys.deviceLow, keys.deviceHigh, keys, n, nowMs);
      if (count > ofActor24h) actor = 'device';
      ofActor24h = Math.max(ofActor24h, count);
    }
    const ofAddress24h = event.networks === null ? 0 : this.#see(keys.hostLow, keys.hostHigh, keys, n, nowMs);
    return { name, actor, ofActor24h, ofAddress24h };
  }

  #see(low: number, high: number, { nameHash, entityHigh }: EventKeys, n: number, nowMs: number): number {
    const name = nameHash[n] ?? 0;
    return this.#sets.see(
      mix(low, name, SALT_VALUES),
      mix(high, name, SALT_VALUES),
      memberOf(entityHigh[n] ?? 0),
      nowMs,
    );
  }
}
