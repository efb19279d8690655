import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { FILE_FORMATS } from '../../kernel/formats.ts';
import { isCode, writeWhole } from '../tables/write-files.ts';

export const FORMAT_VERSION = FILE_FORMATS.directory.version;
export const MARKER_NAME = 'gatehouse.json';

/**
 * The marker of a directory that a restore is writing. It has no version, so that builds which do not know it take the marker for damaged
 * and refuse the directory too.
 */
const restoringSchema = z.strictObject({ restoring: z.literal(true) });
const versionSchema = z.object({ format_version: z.number().int() });
const markerSchema = versionSchema.extend({
  created_at: z.number(),
  simulated: z.boolean(),
  /**
   * Value that verifies the master key, base64: see `proveMasterKey`. Absent until a server has run, and in directories of older versions.
   */
  master_key_check: z.string().optional(),
  /** Only in the copy inside a backup, Unix seconds: shows a start that the directory was copied from a backup. */
  backed_up_at: z.number().optional(),
  /** Only in the copy inside a backup: the environments that it contains. Backups of older versions do not say. */
  backup_environments: z.array(z.string()).optional(),
});

/**
 * Marks a data directory as started once, so that lost data is distinguished from a first start. Written after the store was created and
 * before anything is acknowledged.
 */
export type Marker = z.infer<typeof markerSchema>;

export type MarkerRead =
  | { readonly kind: 'absent' }
  | { readonly kind: 'found'; readonly marker: Marker }
  /** A newer build wrote it and may have changed the other fields. */
  | { readonly kind: 'newer'; readonly version: number }
  /** A restore into the directory has begun and not ended. */
  | { readonly kind: 'restoring' }
  | { readonly kind: 'damaged' };

export function readMarker(dataDir: string): MarkerRead {
  let text: string;
  try {
    text = readFileSync(join(dataDir, MARKER_NAME), 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return { kind: 'absent' };
    throw error;
  }
  try {
    const content: unknown = JSON.parse(text);
    if (restoringSchema.safeParse(content).success) return { kind: 'restoring' };
    const versioned = versionSchema.safeParse(content);
    if (versioned.success && versioned.data.format_version > FORMAT_VERSION) {
      return { kind: 'newer', version: versioned.data.format_version };
    }
    const parsed = markerSchema.safeParse(content);
    return parsed.success ? { kind: 'found', marker: parsed.data } : { kind: 'damaged' };
  } catch {
    return { kind: 'damaged' };
  }
}

export function writeMarker(dataDir: string, simulated: boolean, nowMs: number): void {
  putMarker(dataDir, { format_version: FORMAT_VERSION, created_at: Math.floor(nowMs / 1000), simulated });
}

/** Marks a directory as one that a restore is writing: neither a start nor a command uses it until `putMarker` replaces the mark. */
export function markRestoring(dataDir: string): void {
  writeWhole(join(dataDir, MARKER_NAME), '{"restoring":true}\n', 0o600);
}

export function putMarker(dataDir: string, marker: Marker): void {
  writeWhole(join(dataDir, MARKER_NAME), `${JSON.stringify(marker)}\n`, 0o600);
}
