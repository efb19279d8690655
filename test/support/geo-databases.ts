import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Double, MARK, writeMmdb } from './mmdb-writer.ts';

/** Small databases in the formats of known producers. All addresses belong to documentation networks or are well known. */
export function cityDatabase(country = 'DE', builtAtSeconds = 1_780_000_000): Buffer {
  return writeMmdb({
    type: 'GeoLite2-City',
    ipVersion: 6,
    builtAtSeconds,
    networks: {
      '203.0.113.0/24': {
        country: { iso_code: country, names: { en: 'somewhere' } },
        location: { latitude: 52.5, longitude: 13.25, accuracy_radius: 20, time_zone: 'Europe/Berlin' },
      },
      '198.51.100.0/25': { country: { iso_code: 'JP' }, location: { latitude: 35.5, longitude: 139.5 } },
      // Has only coordinates, so the country database is queried.
      '192.0.2.0/24': { location: { latitude: new Double(1), longitude: new Double(2) } },
      '2001:db8::/32': { country: { iso_code: 'FR' }, location: { latitude: 48.5, longitude: 2.25 } },
    },
  });
}

export function countryDatabase(): Buffer {
  return writeMmdb({
    type: 'country ipvAll',
    ipVersion: 6,
    networks: { '192.0.2.0/24': { country_code: 'NL' }, '203.0.113.0/24': { country_code: 'BE' } },
  });
}

export function asnDatabase(): Buffer {
  return writeMmdb({
    type: 'GeoLite2-ASN',
    ipVersion: 4,
    networks: {
      '203.0.113.0/24': { autonomous_system_number: 64_500, autonomous_system_organization: 'Example Net' },
    },
  });
}

export function anonymousDatabase(): Buffer {
  return writeMmdb({
    type: 'GeoIP2-Anonymous-IP',
    ipVersion: 6,
    networks: {
      '203.0.113.7/32': { is_anonymous: true, is_tor_exit_node: true },
      '203.0.113.8/32': { is_anonymous: true, is_hosting_provider: true, is_anonymous_vpn: true },
    },
  });
}

/**
 * A file of some 290 bytes whose metadata never ends: each map has two pointers to the next one, so decoding doubles the work 30 times.
 * Both stand under one name, so only one result is kept and memory stays small: the deadline ends it, however fast the machine.
 */
export function endlessDatabase(): Buffer {
  const levels = 30;
  const levelBytes = 9;
  const maps = Array.from({ length: levels }, (_none, level) => {
    const next = (level + 1) * levelBytes;
    const member = [0x41, 0x6b, 0x20 | (next >> 8), next & 255];
    return Buffer.from([0xe2, ...member, ...member]);
  });
  return Buffer.concat([MARK, ...maps, Buffer.from([0xa0])]);
}

/** A file of 100 KB whose metadata takes 700 MB when it is decoded: three levels of pointers to one text. */
export function swellingDatabase(): Buffer {
  let end = 0;
  const arrays = [28, 28, 9].map((pointers) => {
    end += 2 + pointers * 2;
    const pointer = Buffer.from([0x20, end]);
    return Buffer.concat([Buffer.from([pointers, 4]), ...Array.from({ length: pointers }, () => pointer)]);
  });
  const text = Buffer.alloc(100_000, 'x');
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.length - 65_821);
  size.writeUInt8((2 << 5) | 31);
  return Buffer.concat([MARK, ...arrays, size, text]);
}

let folder = '';

/**
 * Returns a folder with a city database of the addresses used by tests of whole servers; created once per process and removed with it. The
 * installed databases have 134 MB, which each server would read at start.
 */
export function geoFolderOfTests(): string {
  if (folder !== '') return folder;
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-geoip-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const london = { country: { iso_code: 'GB' }, location: { latitude: 51.5, longitude: -0.1 } };
  const bytes = writeMmdb({
    type: 'GeoLite2-City',
    ipVersion: 6,
    networks: {
      '81.2.0.0/16': london,
      '82.0.0.0/10': london,
      '86.0.0.0/11': london,
      '90.192.0.0/12': london,
      '1.1.1.0/24': { country: { iso_code: 'AU' }, location: { latitude: -33.9, longitude: 151.2 } },
      '2.2.2.0/24': { country: { iso_code: 'FR' }, location: { latitude: 48.85, longitude: 2.35 } },
    },
  });
  writeFileSync(join(folder, 'GeoLite2-City.mmdb'), bytes);
  return folder;
}
