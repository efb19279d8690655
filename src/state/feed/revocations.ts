import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { FILE_FORMATS, type NewerFormat } from '../../kernel/formats.ts';
import { REVOCATIONS_KEPT_MAX } from '../../kernel/limits.ts';
import { isCode, namesIn, syncPath, writeWhole } from '../tables/write-files.ts';

/** SHA-256 of a revoked key's text, lower-case hex → revocation time, Unix seconds. */
export type Revocations = ReadonlyMap<string, number>;

export const REVOCATIONS_NAME = 'revoked-keys.log';
/** Name of the copy inside a backup: copying a backup over a data directory then never replaces the newer file there. */
export const BACKUP_COPY_NAME = 'revoked-keys.backup.log';
const COPY_FORM = /^revoked-keys\..+\.log$/;
const LINE_FORM = /^([0-9a-f]{64}) (\d{1,10}) ([0-9a-f]{8})$/;
const VERSION_FORM = /^format (\d{1,9}) ([0-9a-f]{8})$/gm;
const VERSION_LINE = lineOf(`format ${FILE_FORMATS.revocations.version}`);
const LINE_FEED = 10;

/**
 * The revoked keys of a data directory, in a file outside the LMDB environment: a restored backup of `state` does not contain the
 * revocations made after it, and would accept those keys again.
 *
 *   line   SHA-256 of the key's text (64 hex digits)   Unix seconds   CRC-32 of the text before it (8 hex digits)
 *   line   "format"   version of the format   CRC-32 of the text before it; anywhere, the highest one counts
 *
 * Lines are only appended, each with one write and a sync, so the server and the command line can append at the same time. A truncated or
 * corrupt line is skipped and does not affect other lines.
 */
export class RevocationFile {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Appends and syncs. Throws file system errors. */
  append(revocations: Iterable<readonly [hash: string, atSeconds: number]>): void {
    this.#appendLines(linesOf(revocations));
  }

  /** Records the version in a file of an older build. A line is appended, because the command line may append at the same time. */
  migrate(): void {
    const text = readText(join(this.#dataDir, REVOCATIONS_NAME));
    if (text !== null && versionIn(text) === null) this.#appendLines(VERSION_LINE);
  }

  /** Returns the first of the file and the copies from backups that a newer build has written; null without any. */
  newerFile(): NewerFormat | null {
    const readsVersion = FILE_FORMATS.revocations.version;
    for (const name of [REVOCATIONS_NAME, ...this.#copies()]) {
      const path = join(this.#dataDir, name);
      const version = versionIn(readText(path) ?? '') ?? readsVersion;
      if (version > readsVersion) return { path, version, readsVersion };
    }
    return null;
  }

  #appendLines(text: string): void {
    if (text === '') return;
    const path = join(this.#dataDir, REVOCATIONS_NAME);
    const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
    const file = openSync(path, 'a+', 0o600);
    try {
      const lines = isNew ? VERSION_LINE + text : text;
      const bytes = Buffer.from(endsWithinLine(file) ? `\n${lines}` : lines);
      if (writeSync(file, bytes) !== bytes.length) throw new Error(`${REVOCATIONS_NAME} was only written in part`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isNew) syncPath(this.#dataDir);
  }

  /** Reads the file and the copies from backups; empty without any. */
  read(): Revocations {
    const all = new Map<string, number>();
    for (const name of [REVOCATIONS_NAME, ...this.#copies()]) merge(all, readRevocations(join(this.#dataDir, name)));
    return all;
  }

  /**
   * Merges the copies from backups and the given revocations into the file. Beyond the limit, the oldest revocations are removed; they are
   * still in `state`.
   */
  settle(more: Revocations): void {
    const own = readRevocations(join(this.#dataDir, REVOCATIONS_NAME));
    const all = new Map(this.read());
    merge(all, more);
    if (all.size > REVOCATIONS_KEPT_MAX) {
      const newest = [...all].sort((a, b) => b[1] - a[1]).slice(0, REVOCATIONS_KEPT_MAX / 2);
      writeWhole(join(this.#dataDir, REVOCATIONS_NAME), VERSION_LINE + linesOf(newest), 0o600);
    } else this.append([...all].filter(([hash]) => !own.has(hash)));
    for (const name of this.#copies()) rmSync(join(this.#dataDir, name));
  }

  /** Writes a copy into a folder that becomes a backup. */
  copyInto(folder: string): void {
    writeWhole(join(folder, BACKUP_COPY_NAME), VERSION_LINE + linesOf(this.read()), 0o600);
  }

  #copies(): string[] {
    return namesIn(this.#dataDir).filter((name) => COPY_FORM.test(name));
  }
}

/** Returns the valid lines of a file; empty if it does not exist. */
export function readRevocations(path: string): Revocations {
  return readLines(path).revocations;
}

/** Returns whether the file exists and all of its lines are valid. */
export function isWholeRevocations(path: string): boolean {
  return existsSync(path) && readLines(path).skipped === 0;
}

function readLines(path: string): { readonly revocations: Revocations; readonly skipped: number } {
  const revocations = new Map<string, number>();
  let skipped = 0;
  for (const line of (readText(path) ?? '').split('\n')) {
    const [, hash, seconds, sum] = LINE_FORM.exec(line) ?? [];
    if (hash === undefined || seconds === undefined || sum !== sumOf(`${hash} ${seconds}`)) {
      if (line !== '' && versionIn(line) === null) skipped++;
    } else if (!revocations.has(hash)) revocations.set(hash, Number(seconds));
  }
  return { revocations, skipped };
}

/** Returns null if the file does not exist. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/** Returns the highest version recorded in the text; null without any. */
function versionIn(text: string): number | null {
  let newest: number | null = null;
  for (const [, version, sum] of text.matchAll(VERSION_FORM)) {
    if (sum === sumOf(`format ${version}`)) newest = Math.max(newest ?? 0, Number(version));
  }
  return newest;
}

function merge(into: Map<string, number>, from: Revocations): void {
  for (const [hash, atSeconds] of from) if (!into.has(hash)) into.set(hash, atSeconds);
}

function linesOf(revocations: Iterable<readonly [hash: string, atSeconds: number]>): string {
  return [...revocations].map(([hash, atSeconds]) => lineOf(`${hash} ${atSeconds}`)).join('');
}

function lineOf(content: string): string {
  return `${content} ${sumOf(content)}\n`;
}

function sumOf(content: string): string {
  return crc32(content).toString(16).padStart(8, '0');
}

/** Returns whether the file's last line is truncated, by a full disk or a kill. */
function endsWithinLine(file: number): boolean {
  const last = Buffer.alloc(1);
  const { size } = fstatSync(file);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== LINE_FEED;
}
