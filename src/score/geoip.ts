import { BoundedCache } from '../kernel/bounded-cache.ts';
import { sampleHash, SecondSight } from '../kernel/second-sight.ts';
import type { GeoFacts } from '../risk/facts.ts';
import { mergeGeoParts, parseGeoRecord } from '../risk/signals/geo.ts';
import type { GeoPart } from '../risk/signals/geo.ts';
import { mailDomainAddress, type MailLists, readMailRecord } from '../risk/signals/mail-domains.ts';
import { builtInHostingTable } from '../risk/signals/hosting-networks.ts';
import type { HostingOutcome } from '../risk/signals/hosting-networks.ts';
import { collectShared } from '../assets/collect.ts';
import { type AssetStatus, GEO_SLOTS, type GeoContent, type GeoSlot, SHIPPED } from '../assets/asset-messages.ts';
import { openMmdb } from '../assets/mmdb.ts';
import type { Mmdb } from '../assets/mmdb.ts';

/**
 * Choice: addresses cached with their facts; at most twice this, about 4 MB a worker.
 * Measured: 0.02 to 0.08 µs for a cached address, 1.2 µs for another; with 100,000 addresses of which some come far more often than others
 * (Zipf), 70 % are cached.
 */
const CACHED_ADDRESSES = 8_192;
/**
 * Choice: twice this many records of a file are cached, at most 6 MB a worker and file. A city file has the same record for many networks.
 * Measured: an address that is not cached takes 1.2 instead of 3.4 to 4.3 µs (bench/micro, city file).
 */
const CACHED_RECORDS = 16_384;
/** Choice: consecutive look-ups without a failure after which a failed database counts as healthy again. */
const RECOVERED_AFTER = 1_024;

/** The state of a slot in this worker. */
export interface SlotStatus extends AssetStatus {
  readonly generation: number;
}

/** GeoIP look-ups of one worker. Synchronous: a swap happens between two look-ups, never during one. */
export interface GeoIp {
  /**
   * Returns the databases' facts about an address in canonical text; null when they have none, or when there is no database. Total: a
   * database that throws counts as having no record, and its slot is failed until it has worked for a while.
   */
  lookup(ip: string, version: 4 | 6): GeoFacts | null;
  /** Installs a newer content; ignores one of an older generation. If a content cannot be opened, the databases in use stay. */
  swap(slot: GeoSlot, content: GeoContent): void;
  status(slot: GeoSlot): SlotStatus;
  /** Operators of crawlers whose published addresses a database has. */
  crawlers(): ReadonlySet<string>;
  /** Null without a database of mail domains. */
  mailLists(): MailLists | null;
  /** Increases with every swap: facts of an older epoch may be outdated. */
  epoch(): number;
}

/** Calls `changed` after each later swap, and whenever a slot fails or recovers. */
export function createGeoIp(
  initial: Readonly<Record<GeoSlot, GeoContent>>,
  changed: (slot: GeoSlot) => void = () => {},
  hosting: HostingOutcome = builtInHostingTable(),
): GeoIp {
  const table = hosting.kind === 'ok' ? hosting.table : null;
  const slots: Readonly<Record<GeoSlot, Slot>> = {
    city: new Slot(() => changed('city')),
    country: new Slot(() => changed('country')),
    asn: new Slot(() => changed('asn')),
    anonymiser: new Slot(() => changed('anonymiser')),
    networks: new Slot(() => changed('networks')),
    domains: new Slot(() => changed('domains')),
  };
  let epoch = 0;
  const known = new BoundedCache<string, { readonly facts: GeoFacts | null }>(CACHED_ADDRESSES);
  const seen = new SecondSight(4 * CACHED_ADDRESSES);

  /** The shipped networks are too old for what they do not name to be none. */
  const anonymisersKnown = (): boolean =>
    !slots.anonymiser.isEmpty() || (!slots.networks.isEmpty() && !isShipped(slots.networks));

  const find = (ip: string, version: 4 | 6): GeoFacts | null => {
    const city = slots.city.find(ip, version);
    const parts = [city];
    if (city.country === undefined) parts.push(slots.country.find(ip, version));
    parts.push(slots.asn.find(ip, version), slots.anonymiser.find(ip, version), slots.networks.find(ip, version));
    // The built-in table is used only without an operator's database: if that has no network for the address, the gap may be intended.
    if (slots.asn.isEmpty() && slots.anonymiser.isEmpty() && city.asn === undefined) {
      const network = table?.find(ip, version) ?? null;
      if (network !== null) parts.push(network);
    }
    // Measured: a copy of the facts with this field took 4.5 µs, more than all look-ups of an address that is not cached.
    return mergeGeoParts(parts, anonymisersKnown());
  };

  const geo: GeoIp = {
    lookup(ip, version) {
      const kept = known.get(ip);
      if (kept !== undefined) return kept.facts;
      const facts = find(ip, version);
      if (seen.see(sampleHash(ip))) known.set(ip, { facts });
      return facts;
    },
    swap(slot, content) {
      const replacedBytes = slots[slot].bytes();
      if (!slots[slot].take(content)) return;
      known.clear();
      epoch++;
      collectShared(replacedBytes);
      changed(slot);
    },
    status: (slot) => slots[slot].status(),
    crawlers: () => slots.networks.crawlers(),
    mailLists: () =>
      slots.domains.isEmpty()
        ? null
        : {
            find: (domain) => readMailRecord(slots.domains.record(mailDomainAddress(domain))),
            withBuiltIn: isShipped(slots.domains),
          },
    epoch: () => epoch,
  };
  for (const slot of GEO_SLOTS) slots[slot].take(initial[slot]);
  return geo;
}

/** Returns whether the database came with the service. */
function isShipped(slot: Slot): boolean {
  return slot.status().version?.startsWith(SHIPPED) === true;
}

const NOTHING: GeoPart = {};

interface OpenDatabase {
  readonly database: Mmdb;
  /** Position of a record → what it says. */
  readonly parts: BoundedCache<number, GeoPart>;
}

class Slot {
  /** Newest first. */
  #databases: readonly OpenDatabase[] = [];
  #crawlers: ReadonlySet<string> = new Set();
  #status: SlotStatus = { generation: -1, state: 'absent', version: null, detail: '' };
  /** Consecutive successes required to leave the failed state; 0 when healthy. */
  #mending = 0;
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  status(): SlotStatus {
    return this.#status;
  }

  /** Returns the shared memory that the databases occupy. */
  bytes(): number {
    return this.#databases.reduce((sum, { database }) => sum + database.bytes, 0);
  }

  /** Returns the operators that the databases name. */
  crawlers(): ReadonlySet<string> {
    return this.#crawlers;
  }

  /** Returns whether no database is in use. */
  isEmpty(): boolean {
    return this.#databases.length === 0;
  }

  /** Returns whether the content was newer than the previous one. */
  take(content: GeoContent): boolean {
    const { generation } = content;
    if (generation <= this.#status.generation) return false;
    switch (content.kind) {
      case 'absent':
      case 'refused':
        this.#databases = [];
        this.#crawlers = new Set();
        this.#mending = 0;
        this.#status = {
          generation,
          state: content.kind === 'absent' ? 'absent' : 'broken',
          version: null,
          detail: content.detail,
        };
        return true;
      case 'ready': {
        const opened: OpenDatabase[] = [];
        for (const file of content.files) {
          const outcome = openMmdb(file.bytes);
          if (outcome.kind === 'fault') {
            const serves = this.#databases.length > 0;
            this.#status = {
              ...this.#status,
              generation,
              state: serves ? this.#status.state : 'broken',
              detail: `${file.name} was refused: ${outcome.detail}`,
            };
            return true;
          }
          opened.push({ database: outcome.database, parts: new BoundedCache(CACHED_RECORDS) });
        }
        this.#databases = opened;
        this.#crawlers = new Set(opened.flatMap(({ database }) => database.crawlers));
        this.#mending = 0;
        this.#status = { generation, state: 'ok', version: content.version, detail: '' };
        return true;
      }
    }
  }

  find(ip: string, version: 4 | 6): GeoPart {
    for (const { database, parts } of this.#databases) {
      // For an IPv6 address an IPv4 tree returns the record of an unrelated network.
      if (version === 6 && database.ipVersion === 4) continue;
      const at = database.locate(ip, version);
      if (at === 0) continue;
      try {
        let part = parts.get(at);
        if (part === undefined) {
          part = parseGeoRecord(database.find(ip));
          parts.set(at, part);
        }
        this.#succeeded();
        return part;
      } catch (error) {
        this.#failed(error);
      }
    }
    return NOTHING;
  }

  /** Returns the record for an IPv6 address as it is in the file; null when there is none, and when the file is corrupt. */
  record(ip: string): unknown {
    for (const { database } of this.#databases) {
      try {
        const record = database.find(ip);
        this.#succeeded();
        if (record !== null) return record;
      } catch (error) {
        this.#failed(error);
      }
    }
    return null;
  }

  #succeeded(): void {
    if (this.#mending === 0) return;
    this.#mending -= 1;
    if (this.#mending > 0) return;
    this.#status = { ...this.#status, state: 'ok', detail: '' };
    this.#changed();
  }

  #failed(error: unknown): void {
    const wasRunning = this.#mending === 0;
    this.#mending = RECOVERED_AFTER;
    if (!wasRunning) return;
    const reason = error instanceof Error ? error.message : String(error);
    this.#status = { ...this.#status, state: 'broken', detail: `a look-up failed: ${reason}` };
    this.#changed();
  }
}
