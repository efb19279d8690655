import { closeSync, fsyncSync, openSync, readdirSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces a file atomically: writes a temporary file beside it, syncs it and renames it. */
export function writeWhole(path: string, content: string, mode: number): void {
  const beside = `${path}.new-${process.pid}`;
  const file = openSync(beside, 'w', mode);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
  syncPath(dirname(path));
}

/** Syncs a file, or a folder so that its directory entries persist. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Returns the names in a folder; empty if it does not exist. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return [];
    throw error;
  }
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

const STAMP_FORM = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/;

/** Returns the time of a stamp, Unix milliseconds; null if the text is not a stamp. */
export function parseStamp(stamp: string): number | null {
  const ms = Date.parse(stamp.replace(STAMP_FORM, '$1-$2-$3T$4:$5:$6.$7Z'));
  return STAMP_FORM.test(stamp) && Number.isFinite(ms) ? ms : null;
}

/** Formats a time as part of a file name that sorts by time, `20260721T101500123Z`. */
export function stampOf(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[-:.]/g, '');
}
