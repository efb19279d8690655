/**
 * Format versions of everything in the data directory: what this build writes, and the steps that lead there from older versions. An
 * environment or a file without a version has version 1.
 *
 * To change a format: raise its version, add a step, and raise `directory` as well, because older builds check only `directory`. The table
 * in docs/operating.md states what a start does with each of them.
 *
 * Migrations lead forwards only. `src/state/repair/migrate.ts` runs the steps of an environment; each step commits in one transaction
 * together with its version. A file has no steps: its reader reads older versions as well, and its next write has the present version.
 */

/**
 * Rewrites one row of a sub-database. Receives key and value without check sum; returns the new value, or null to remove the row. Must be
 * pure.
 */
export type RowRewrite = (key: Uint8Array, value: Uint8Array) => Uint8Array | null;

/** Leads from one version of an environment to the next. */
export interface MigrationStep {
  readonly from: number;
  /** Rewrites by sub-database; sub-databases that are not named stay as they are. */
  readonly rows: Readonly<Record<string, RowRewrite>>;
}

export interface FileFormat {
  /** Path in the data directory. */
  readonly path: string;
  /** The version that this build writes, and the newest one that it reads. */
  readonly version: number;
}

export interface EnvironmentFormat extends FileFormat {
  /** In order and without a gap, from version 1 up to `version`. */
  readonly steps: readonly MigrationStep[];
}

/** Since version 2 the version is recorded; all rows are as before. */
const RECORDED: MigrationStep = { from: 1, rows: {} };
/** Since version 3 records of decisions have fields that older builds do not read. Readers read the records of all versions. */
const DETAILED: MigrationStep = { from: 2, rows: {} };

/** Since version 3 the review queue holds every REVIEW, and what people do about a row. Readers read the rows of all versions. */
const REVIEWED: MigrationStep = { from: 2, rows: {} };

/** LMDB environments. Their version is row 0 of their table of counters (`src/state/repair/format-version.ts`). */
export const ENVIRONMENT_FORMATS = {
  state: { path: 'state', version: 3, steps: [RECORDED, REVIEWED] },
  hot: { path: 'hot', version: 3, steps: [RECORDED, DETAILED] },
  extract: { path: 'extract', version: 2, steps: [RECORDED] },
} as const satisfies Readonly<Record<string, EnvironmentFormat>>;

export const FILE_FORMATS = {
  /** `format_version` in the marker. It is raised first, so that an older build refuses a directory that is partly migrated. */
  directory: { path: 'gatehouse.json', version: 4 },
  /** A line of the file; the file may lack it, because older builds append to it. */
  revocations: { path: 'revoked-keys.log', version: 2 },
  /** The last byte of each block's magic, as a digit. */
  journal: { path: 'hot/replay/replay-*.log', version: 1 },
  /**
   * A word of the head: the layout of the velocity table. Versions 1 and 2 were never released; they are quarantined. Version 4 adds how
   * far a node has read the events of other nodes.
   */
  velocity: { path: 'hot/velocity/velocity.snapshot', version: 4 },
} as const satisfies Readonly<Record<string, FileFormat>>;

/** Version of what was written before versions were recorded. */
export const UNRECORDED_VERSION = 1;

/** An environment or file that a newer build has written. */
export interface NewerFormat {
  /** Path of the environment or the file. */
  readonly path: string;
  readonly version: number;
  /** The newest version that this build reads. */
  readonly readsVersion: number;
}

/** Returns the public sentence about a format that this build must neither read nor replace. */
export function describeNewer({ path, version, readsVersion }: NewerFormat): string {
  return (
    `${path} has format version ${version}, and this build reads versions up to ${readsVersion}: a newer build of Gatehouse wrote it. ` +
    'Nothing was changed. Start the newer build again, or restore a backup that was made before the upgrade ' +
    '(docs/operating.md, "Upgrading and rolling back").'
  );
}
