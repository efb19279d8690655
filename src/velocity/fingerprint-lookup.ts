import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import type { FingerprintHistory, FingerprintReader } from '../risk/fingerprint-history.ts';
import { AT_FLAGS, FLAG_BROWSER } from './device-record.ts';
import { DeviceNetworks } from './device-networks.ts';
import { EventKeys } from './event-keys.ts';
import { KIND_DEVICE, KIND_SESSION } from './layout.ts';
import type { VelocityMemory } from './memory.ts';
import { Table } from './table.ts';

/**
 * Looks up fingerprints in the table, on any thread. Secret and public keys are looked up separately, and the larger number counts.
 * Measured: 1.5 µs.
 */
export class FingerprintLookup implements FingerprintReader {
  readonly #table: Table;
  readonly #keys: EventKeys;
  readonly #networks: DeviceNetworks;

  constructor(memory: VelocityMemory) {
    this.#table = new Table(memory);
    this.#keys = new EventKeys(memory.hashKey, new Map());
    this.#networks = new DeviceNetworks(this.#table, AT_FLAGS);
  }

  find(customer: CustomerNumber, fingerprintHash: FingerprintHash, nowMs: number): FingerprintHistory {
    const nowSeconds = Math.floor(nowMs / 1_000);
    const keys = this.#keys;
    let isSeen = false;
    let isBrowser = false;
    let networks24h = 0;
    let isCommon = false;
    for (const publicKey of [false, true]) {
      keys.readFingerprint(customer, publicKey, fingerprintHash);
      const record = this.#table.peek(keys.deviceLow, keys.deviceHigh, KIND_DEVICE, nowSeconds);
      // The session of a request without a collector token is its fingerprint.
      isSeen ||= record !== 0 || this.#table.peek(keys.sessionLow, keys.sessionHigh, KIND_SESSION, nowSeconds) !== 0;
      if (record === 0) continue;
      isBrowser ||= ((this.#table.words[record + AT_FLAGS] ?? 0) & FLAG_BROWSER) !== 0;
      this.#networks.count(record, keys.deviceLow, keys.deviceHigh, nowMs);
      networks24h = Math.max(networks24h, this.#networks.networks24h);
      isCommon ||= this.#networks.isCommon;
    }
    return { isSeen, isBrowser, networks24h, isCommon };
  }
}
