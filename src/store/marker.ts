import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { isCode, writeWhole } from './files.ts';

/** Choice: 1 until a layout in `tables.ts` changes in a way that older programs would misread. */
export const FORMAT_VERSION = 1;
export const MARKER_NAME = 'gatehouse.json';

const markerSchema = z.object({
  format_version: z.number().int(),
  created_at: z.number(),
  simulated: z.boolean(),
  /** What shows the master key, base64: see `proveMasterKey`. Absent until a server has run, and in directories of older versions. */
  master_key_check: z.string().optional(),
  /** Only in the copy inside a backup, Unix seconds: a start that finds it knows that the directory was copied from one. */
  backed_up_at: z.number().optional(),
});

/**
 * The marker says that this data directory has been started once, so that lost data is told apart from a first start. It is
 * written after the store was made and before anything is acknowledged.
 */
export type Marker = z.infer<typeof markerSchema>;

export type MarkerRead =
  | { readonly kind: 'absent' }
  | { readonly kind: 'found'; readonly marker: Marker }
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
    const parsed = markerSchema.safeParse(JSON.parse(text));
    return parsed.success ? { kind: 'found', marker: parsed.data } : { kind: 'damaged' };
  } catch {
    return { kind: 'damaged' };
  }
}

export function writeMarker(dataDir: string, simulated: boolean, nowMs: number): void {
  putMarker(dataDir, { format_version: FORMAT_VERSION, created_at: Math.floor(nowMs / 1000), simulated });
}

export function putMarker(dataDir: string, marker: Marker): void {
  writeWhole(join(dataDir, MARKER_NAME), `${JSON.stringify(marker)}\n`, 0o600);
}
