import { isValueKey, type ValuesHistory } from '../core/crowds.ts';
import type { HistoryEvent } from '../core/history.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_VALUES } from './keys.ts';
import { KIND_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { DAY_SET, memberOf } from './timed-set.ts';

/**
 * Distinct cards, gift cards and bank accounts with a person, a session, a device and an address, 24 h, only for events that name one:
 *
 * - With the first person that the event names, a record for each name of such a key.
 * - With a session a record where nobody is named, or from its second payment on: its first value does not count then.
 * - With a device nothing more: its own record has a set for each name (`device-record.ts`).
 * - With an address a record from its first declined payment of the hour on.
 *
 * Of several such keys the first two count. Mostly it is one record for a day on which somebody pays.
 */
const KEYS_MAX = 2;

/** What the records of the event's session, device and address say. */
export interface ValueActors {
  readonly sessionPayments1h: number;
  readonly addressDeclined1h: number;
  /** For each of the event's entities how many of its name came with the device in 24 h; empty without a device. */
  readonly ofDevice24h: readonly number[];
}

export class ValueRecords {
  readonly #sets: SetRecords;

  constructor(table: Table) {
    this.#sets = new SetRecords(table, KIND_SET, DAY_SET);
  }

  /** null for an event that names none. */
  observe(event: HistoryEvent, keys: EventKeys, actors: ValueActors): ValuesHistory | null {
    let most: ValuesHistory | null = null;
    for (let n = 0, found = 0; n < keys.entities && found < KEYS_MAX; n++) {
      const name = event.entities[n]?.name ?? '';
      if (!isValueKey(name)) continue;
      found++;
      const one = this.#observe(event, keys, actors, n, name);
      const isMore = one.ofActor24h > (most?.ofActor24h ?? 0) || one.ofAddress24h > (most?.ofAddress24h ?? 0);
      if (isMore) most = one;
    }
    return most;
  }

  #observe(event: HistoryEvent, keys: EventKeys, actors: ValueActors, n: number, name: string): ValuesHistory {
    const { nowMs } = event;
    const { sessionPayments1h, addressDeclined1h, ofDevice24h } = actors;
    const person = event.entities.findIndex((entity, at) => at < keys.entities && !isValueKey(entity.name));
    let ofActor24h = 1;
    let actor: ValuesHistory['actor'] = 'session';
    if (person < 0 || sessionPayments1h > 1) ofActor24h = this.#see(keys.sessionLow, keys.sessionHigh, keys, n, nowMs);
    if (person >= 0) {
      const count = this.#see(keys.entityLow[person] ?? 0, keys.entityHigh[person] ?? 0, keys, n, nowMs);
      if (count >= ofActor24h) actor = 'person';
      ofActor24h = Math.max(ofActor24h, count);
    }
    const ofDevice = ofDevice24h[n] ?? 0;
    if (ofDevice > ofActor24h) {
      actor = 'device';
      ofActor24h = ofDevice;
    }
    const isAddressAsked = event.networks !== null && addressDeclined1h > 0;
    const ofAddress24h = isAddressAsked ? this.#see(keys.hostLow, keys.hostHigh, keys, n, nowMs) : 0;
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
