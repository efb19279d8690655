import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { watchDisk } from './disk-room.ts';
import { type EnvironmentName, type TableName, TABLES_MAX } from './table-names.ts';

/** An opened environment, for rooms that do not import the library. */
export type Environment = RootDatabase<Buffer, Buffer>;

/**
 * Initial size of the memory map, not a limit: LMDB extends the map when the file outgrows it.
 * Measured: growing in small steps keeps the old maps; an import of 1,000,000 rows peaks at 464 MB that way, at 279 MB this way.
 */
const MAP_BYTES = 2 ** 32;

export function openEnvironment(
  dataDir: string,
  environment: EnvironmentName,
  readOnly: boolean,
): RootDatabase<Buffer, Buffer> {
  const path = join(dataDir, environment);
  if (readOnly && !existsSync(join(path, 'data.mdb'))) throw new Error(`${path} has no data file`);
  const root = open<Buffer, Buffer>({
    path,
    readOnly,
    maxDbs: TABLES_MAX,
    mapSize: MAP_BYTES,
    // With it the library creates internal promises; when a commit fails they reject unhandled, which ends the process.
    eventTurnBatching: false,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  watchDisk(root, path);
  return root;
}

/** Opens a sub-database; the first read-write opening creates it. */
export function table(root: RootDatabase<Buffer, Buffer>, name: TableName): Database<Buffer, Buffer> {
  // Returns undefined, which the library's types omit, when a read-only environment lacks the sub-database.
  const opened: Database<Buffer, Buffer> | undefined = root.openDB<Buffer, Buffer>({
    name,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  if (opened === undefined) throw new Error(`the sub-database ${name} is missing`);
  return opened;
}
