import type { CustomerNumber, FingerprintHash } from '../kernel/brand.ts';
import { KeyedHash } from '../kernel/keyed-hash.ts';
import type { HistoryEvent } from '../risk/history.ts';
import { parseV4 } from '../kernel/ip-text.ts';
import { VELOCITY_ENTITIES_MAX } from '../kernel/velocity-limits.ts';
import { mix, SALT_HOST, SALT_NONCE, SALT_POPULATION, SALT_REGION, SALT_SITE } from './keys.ts';
import { setMemberOf } from './timed-set.ts';

/**
 * Choice: number of key names whose hashes are cached. Customers use a handful; the limit stops requests with ever new names from growing
 * the cache.
 */
const NAMES_KEPT = 256;
/** Choice: a fingerprint is a SHA-256 in hexadecimal, and half of it is unique enough. */
const DEVICE_CHARACTERS = 32;

/**
 * Hashes of all texts of an event, each computed once. They include the customer and the kind of key, so the keys of two customers never
 * match. Halves are signed 32-bit numbers.
 */
export class EventKeys {
  sessionLow = 0;
  sessionHigh = 0;
  hostLow = 0;
  hostHigh = 0;
  deviceLow = 0;
  deviceHigh = 0;
  browserLow = 0;
  browserHigh = 0;
  nonceLow = 0;
  nonceHigh = 0;
  /**
   * What stands for the device in the sets of entities and contexts: the browser's own id, without one the fingerprint. 0 without a device,
   * and for one that the entities know under another id (`local-velocity.ts`).
   */
  device = 0;
  /** 0 without networks. */
  site = 0;
  region = 0;
  populationLow = 0;
  populationHigh = 0;
  entities = 0;
  /**
   * Index of the entity whose contexts are kept as the account's: the first that is an e-mail address, else the first; -1 without entities.
   * Choice: login forms know the address, and one record per person is enough.
   */
  account = -1;
  readonly entityLow = new Int32Array(VELOCITY_ENTITIES_MAX);
  readonly entityHigh = new Int32Array(VELOCITY_ENTITIES_MAX);
  readonly nameHash = new Int32Array(VELOCITY_ENTITIES_MAX);
  readonly #hash: KeyedHash;
  /** For values that are hashed as numbers. */
  readonly #secretLow: number;
  readonly #secretHigh: number;
  readonly #names: Map<string, number>;

  /** `hashKey` holds at least 16 secret bytes; `names` caches the hashes of key names and may be shared by instances. */
  constructor(hashKey: Uint8Array, names: Map<string, number>) {
    const key = Buffer.from(hashKey);
    this.#hash = new KeyedHash(key);
    this.#secretLow = key.readInt32LE(8);
    this.#secretHigh = key.readInt32LE(12);
    this.#names = names;
  }

  read(event: HistoryEvent): void {
    const hash = this.#hash;
    const scope = scopeOf(event.customer, event.publicKey);
    this.#readSession(event.sessionId, scope);
    this.#readNetworks(event.networks, scope);
    this.#readPopulation(scope);
    this.device = 0;
    if (event.device !== null) {
      this.#readDevice(event.device, scope);
      this.device = setMemberOf(this.deviceHigh);
    }
    if (event.browser !== null) this.#readBrowser(event.browser, scope);
    if (event.grant !== null) {
      this.nonceLow = mix(event.grant.nonceLow, this.#secretLow ^ scope, SALT_NONCE);
      this.nonceHigh = mix(event.grant.nonceHigh, this.#secretHigh ^ scope, SALT_NONCE + 1);
    }
    this.entities = Math.min(event.entities.length, VELOCITY_ENTITIES_MAX);
    this.account = this.entities === 0 ? -1 : 0;
    for (let n = this.entities - 1; n >= 0; n--) {
      const entity = event.entities[n];
      if (entity === undefined) break;
      if (entity.value.includes('@')) this.account = n;
      const name = this.#name(entity.name);
      this.nameHash[n] = name;
      hash.update(mix(name, scope, 0), entity.value);
      this.entityLow[n] = hash.low | 0;
      this.entityHigh[n] = hash.high | 0;
    }
  }

  /** Computes only the key that covers all events of the customer's keys of one kind. */
  readPopulation(of: Pick<HistoryEvent, 'customer' | 'publicKey'>): void {
    this.#readPopulation(scopeOf(of.customer, of.publicKey));
  }

  /** Two mixed numbers: cheaper than to find out whether the event needs them. */
  #readPopulation(scope: number): void {
    this.populationLow = mix(scope, this.#secretLow, SALT_POPULATION);
    this.populationHigh = mix(scope, this.#secretHigh, SALT_POPULATION + 1);
  }

  /** Computes the keys of a fingerprint: as a device, and as the session of a token that is not the collector's. */
  readFingerprint(customer: CustomerNumber, publicKey: boolean, fingerprintHash: FingerprintHash): void {
    const scope = scopeOf(customer, publicKey);
    this.#readSession(fingerprintHash, scope);
    this.#readDevice(fingerprintHash, scope);
  }

  /** Computes the keys of one entity, as index 0. */
  readEntity(customer: CustomerNumber, publicKey: boolean, name: string, value: string): void {
    const scope = scopeOf(customer, publicKey);
    this.nameHash[0] = this.#name(name);
    this.#hash.update(mix(this.nameHash[0], scope, 0), value);
    this.entityLow[0] = this.#hash.low | 0;
    this.entityHigh[0] = this.#hash.high | 0;
  }

  /** Computes the keys of an address. */
  readAddress(customer: CustomerNumber, publicKey: boolean, networks: HistoryEvent['networks']): void {
    this.#readNetworks(networks, scopeOf(customer, publicKey));
  }

  /** Computes the keys of a browser with an id. */
  readBrowser(customer: CustomerNumber, publicKey: boolean, browser: string): void {
    this.#readBrowser(browser, scopeOf(customer, publicKey));
  }

  #readSession(sessionId: string, scope: number): void {
    const hash = this.#hash;
    hash.update(scope, sessionId);
    this.sessionLow = hash.low | 0;
    this.sessionHigh = hash.high | 0;
  }

  #readDevice(device: string, scope: number): void {
    const hash = this.#hash;
    hash.update(scope, device, Math.min(device.length, DEVICE_CHARACTERS));
    this.deviceLow = hash.low | 0;
    this.deviceHigh = hash.high | 0;
  }

  #readBrowser(browser: string, scope: number): void {
    const hash = this.#hash;
    hash.update(scope, browser, Math.min(browser.length, DEVICE_CHARACTERS));
    this.browserLow = hash.low | 0;
    this.browserHigh = hash.high | 0;
    this.device = setMemberOf(this.browserHigh);
  }

  #readNetworks(networks: HistoryEvent['networks'], scope: number): void {
    this.site = 0;
    this.region = 0;
    if (networks === null) return;
    const address = parseV4(networks.host);
    if (address >= 0) return this.#readV4(address, scope);
    const hash = this.#hash;
    hash.update(scope, networks.host);
    this.hostLow = hash.low | 0;
    this.hostHigh = hash.high | 0;
    hash.update(scope, networks.site);
    this.site = hash.low | 0 || 1;
    hash.update(scope, networks.region);
    this.region = hash.low | 0 || 1;
  }

  /** Mixes one number four times instead of hashing three texts: an IPv4 network is part of its address. */
  #readV4(address: number, scope: number): void {
    const low = this.#secretLow ^ scope;
    const high = this.#secretHigh ^ scope;
    this.hostLow = mix(address, low, SALT_HOST);
    this.hostHigh = mix(address, high, SALT_HOST + 1);
    this.site = mix(address & 0xffffff00, low, SALT_SITE) || 1;
    this.region = mix(address & 0xffff0000, low, SALT_REGION) || 1;
  }

  #name(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    this.#hash.update(0, name);
    const hash = this.#hash.low | 0;
    if (this.#names.size >= NAMES_KEPT) this.#names.clear();
    this.#names.set(name, hash);
    return hash;
  }
}

/** Separates customers and kinds of key. */
function scopeOf(customer: CustomerNumber, publicKey: boolean): number {
  return publicKey ? ~customer : customer | 0;
}
