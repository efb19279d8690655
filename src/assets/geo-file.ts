import { isUsable, parseGeoRecord } from '../risk/signals/geo.ts';
import { isMailRecord } from '../risk/signals/mail-domains.ts';
import type { GeoSlot, SharedFile } from './asset-messages.ts';
import { openMmdb } from './mmdb.ts';

/** Choice: look-ups that a database must pass before it is used; under 5 ms. */
const SAMPLE_LOOKUPS = 200;

/** What a valid database file says about itself. */
export interface CheckedGeoFile {
  readonly kind: 'ok';
  readonly slot: GeoSlot;
  readonly ipVersion: 4 | 6;
  readonly builtAtSeconds: number;
  /** Type and build date. */
  readonly version: string;
}

export interface GeoFileFault {
  readonly kind: 'fault';
  /** The slot for which the file was meant but cannot be used; null for a valid file of an unused type. */
  readonly slot: GeoSlot | null;
  readonly detail: string;
}

/**
 * Checks a database: its metadata, then a sample of look-ups that must not throw and must return data. A hostile file may block this thread
 * or exhaust its memory, so the server calls it in a child process (`GeoCheck`).
 */
export function checkGeoFile(file: SharedFile): CheckedGeoFile | GeoFileFault {
  const outcome = openMmdb(file.bytes);
  if (outcome.kind === 'fault') return { kind: 'fault', slot: slotOfName(file.name), detail: outcome.detail };
  const { database } = outcome;
  const slot = slotOfType(database.type);
  if (slot === null) return { kind: 'fault', slot: null, detail: `its type "${printable(database.type)}" is not used` };
  try {
    const addresses = database.sample(SAMPLE_LOOKUPS);
    const hasData = (record: unknown): boolean =>
      slot === 'domains' ? isMailRecord(record) : isUsable(parseGeoRecord(record));
    if (!addresses.some((ip) => hasData(database.find(ip))))
      return { kind: 'fault', slot, detail: `none of ${addresses.length} sample look-ups returned data` };
    for (const ip of addresses) database.find(ip);
  } catch (error) {
    return { kind: 'fault', slot, detail: `a sample look-up failed: ${messageOf(error)}` };
  }
  const day = new Date(database.builtAtSeconds * 1000).toISOString().slice(0, 10);
  return {
    kind: 'ok',
    slot,
    ipVersion: database.ipVersion,
    builtAtSeconds: database.builtAtSeconds,
    version: `${printable(database.type)} ${day}`,
  };
}

/**
 * Returns the slot of a database by its type, which the producer names. The order matters: names such as `geo-whois-asn-country` and
 * `ipinfo country_asn` contain two words, and the first match here is the more informative one.
 */
export function slotOfType(type: string): GeoSlot | null {
  if (/^Gatehouse-Networks$/i.test(type)) return 'networks';
  if (/^Gatehouse-Domains$/i.test(type)) return 'domains';
  if (/anonym|proxy|privacy|vpn/i.test(type)) return 'anonymiser';
  if (/city|location|enterprise/i.test(type)) return 'city';
  if (/country/i.test(type)) return 'country';
  if (/asn|isp(?![a-z])/i.test(type)) return 'asn';
  return null;
}

/** For a file whose type cannot be read. Choice: a file without an informative name was most likely meant as the main database. */
export function slotOfName(name: string): GeoSlot {
  return slotOfType(name) ?? 'city';
}

/** Makes text from a file safe to print. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
