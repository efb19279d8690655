import type { DeviceHistory } from '../core/history.ts';
import type { EventKeys } from './event-keys.ts';
import { mix, SALT_DEVICE } from './keys.ts';
import { KIND_SET } from './layout.ts';
import { SetRecords } from './set-record.ts';
import type { Table } from './table.ts';
import { DAY_SET, memberOf } from './timed-set.ts';

/** A collector's fingerprint: for each name of an entity's key a set of entities (`set-record.ts`), 24 h. */
export class DeviceRecords {
  readonly #entities: SetRecords;

  constructor(table: Table) {
    this.#entities = new SetRecords(table, KIND_SET, DAY_SET);
  }

  observe({ deviceLow, deviceHigh, entities, nameHash, entityHigh }: EventKeys, nowMs: number): DeviceHistory {
    let most = 0;
    for (let n = 0; n < entities; n++) {
      const name = nameHash[n] ?? 0;
      const low = mix(deviceLow, name, SALT_DEVICE);
      const high = mix(deviceHigh, name, SALT_DEVICE);
      most = Math.max(most, this.#entities.see(low, high, memberOf(entityHigh[n] ?? 0), nowMs));
    }
    return { entities24h: most };
  }
}
