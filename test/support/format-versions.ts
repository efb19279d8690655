import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { ENVIRONMENT_FORMATS, FILE_FORMATS } from '../../src/kernel/formats.ts';
import { openEnvironment } from '../../src/state/tables/environment.ts';
import { putVersion, readVersion, VERSION_TABLES } from '../../src/state/repair/format-version.ts';
import type { EnvironmentName } from '../../src/state/tables/table-names.ts';

/** Reads and changes the format versions of a data directory that nothing uses. */

export const ENVIRONMENT_NAMES = Object.keys(ENVIRONMENT_FORMATS) as readonly EnvironmentName[];

export type Versioned = keyof typeof ENVIRONMENT_FORMATS | keyof typeof FILE_FORMATS;
export const VERSIONED = [...Object.keys(FILE_FORMATS), ...ENVIRONMENT_NAMES] as readonly Versioned[];

/** Gives an environment or a file another version, as a build of that version would. Returns its path. */
export async function setVersion(dataDir: string, what: Versioned, version: number): Promise<string> {
  switch (what) {
    case 'directory': {
      const path = join(dataDir, 'gatehouse.json');
      const marker = JSON.parse(readFileSync(path, 'utf8')) as object;
      writeFileSync(path, JSON.stringify({ ...marker, format_version: version }));
      return path;
    }
    case 'revocations': {
      const path = join(dataDir, 'revoked-keys.log');
      const text = `format ${version}`;
      appendFileSync(path, `${text} ${crc32(text).toString(16).padStart(8, '0')}\n`);
      return path;
    }
    case 'journal': {
      const folder = join(dataDir, 'hot', 'replay');
      const path = join(
        folder,
        readdirSync(folder)
          .sort()
          .find((name) => name.startsWith('replay-')) ?? '',
      );
      return rewrite(path, (bytes) => bytes.writeUInt8('0'.charCodeAt(0) + version, 3));
    }
    case 'velocity':
      return rewrite(join(dataDir, 'hot', 'velocity', 'velocity.snapshot'), (bytes) => {
        bytes.writeUInt32LE(version, 8);
        return bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24);
      });
    case 'state':
    case 'hot':
    case 'extract':
      return setEnvironmentVersion(dataDir, what, version);
  }
}

function rewrite(path: string, change: (bytes: Buffer) => unknown): string {
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
  return path;
}

/** `null` removes the record, as in an environment of the first version. */
export async function setEnvironmentVersion(
  dataDir: string,
  name: EnvironmentName,
  version: number | null,
): Promise<string> {
  const root = openEnvironment(dataDir, name, false);
  const table = root.openDB<Buffer, Buffer>({ name: VERSION_TABLES[name], encoding: 'binary', keyEncoding: 'binary' });
  root.transactionSync(() => {
    if (version === null) void table.remove(Buffer.from([0]));
    else putVersion(table, version);
  });
  await root.close();
  return join(dataDir, name);
}

export async function environmentVersion(dataDir: string, name: EnvironmentName): Promise<number | null> {
  const root = openEnvironment(dataDir, name, true);
  const table = root.openDB<Buffer, Buffer>({ name: VERSION_TABLES[name], encoding: 'binary', keyEncoding: 'binary' });
  const version = readVersion(table);
  await root.close();
  return version;
}

export function environmentVersions(dataDir: string): Promise<(number | null)[]> {
  return Promise.all(ENVIRONMENT_NAMES.map((name) => environmentVersion(dataDir, name)));
}

/** Turns a data directory into one that was written before versions were recorded. */
export async function forgetVersions(dataDir: string): Promise<void> {
  await setVersion(dataDir, 'directory', 1);
  for (const name of ENVIRONMENT_NAMES) await setEnvironmentVersion(dataDir, name, null);
}

/** Returns path → digest of all files, without locks, which every process that reads writes to. */
export function contentOf(folder: string): Readonly<Record<string, string>> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => !/lock/.test(name) && statSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  );
}
