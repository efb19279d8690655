import {
  closeSync,
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
import { REVOCATIONS_KEPT_MAX } from '../limits.ts';
import { isCode, namesIn, syncPath, writeWhole } from './files.ts';

/** SHA-256 of a revoked key's text, lower-case hex → when it was revoked, Unix seconds. */
export type Revocations = ReadonlyMap<string, number>;

const NAME = 'revoked-keys.log';
/** Name of the copy inside a backup: a backup that is copied over a data directory never replaces the newer file there. */
export const BACKUP_COPY_NAME = 'revoked-keys.backup.log';
const COPY_FORM = /^revoked-keys\..+\.log$/;
const LINE_FORM = /^([0-9a-f]{64}) (\d{1,10}) ([0-9a-f]{8})$/;
const LINE_FEED = 10;

/**
 * The revoked keys of a data directory, in a file outside the LMDB environment: a restored backup of `state` knows nothing of keys
 * that were revoked after it was made, and would accept them again.
 *
 *   line   SHA-256 of the key's text (64 hex digits)   Unix seconds   CRC-32 of what stands before it (8 hex digits)
 *
 * Lines are only appended, each with one write and a sync, so the server and the command line can append at the same time. A line
 * that is cut or damaged is passed over; it costs no other line.
 */
export class RevocationFile {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** Appends and syncs. Throws what the file system throws. */
  append(revocations: Iterable<readonly [hash: string, atSeconds: number]>): void {
    const text = [...revocations].map(([hash, atSeconds]) => lineOf(hash, atSeconds)).join('');
    if (text === '') return;
    const path = join(this.#dataDir, NAME);
    const isNew = statSync(path, { throwIfNoEntry: false }) === undefined;
    const file = openSync(path, 'a+', 0o600);
    try {
      const bytes = Buffer.from(endsWithinLine(file) ? `\n${text}` : text);
      if (writeSync(file, bytes) !== bytes.length) throw new Error(`${NAME} was written in part`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isNew) syncPath(this.#dataDir);
  }

  /** Reads the file and the copies that came with backups; empty without any. */
  read(): Revocations {
    const all = new Map<string, number>();
    for (const name of [NAME, ...this.#copies()]) merge(all, readRevocations(join(this.#dataDir, name)));
    return all;
  }

  /**
   * Takes over the copies that came with backups, and what else is given. Past the bound the oldest revocations go; they are still
   * in `state`.
   */
  settle(more: Revocations): void {
    const own = readRevocations(join(this.#dataDir, NAME));
    const all = new Map(this.read());
    merge(all, more);
    if (all.size > REVOCATIONS_KEPT_MAX) {
      const newest = [...all].sort((a, b) => b[1] - a[1]).slice(0, REVOCATIONS_KEPT_MAX / 2);
      writeWhole(join(this.#dataDir, NAME), newest.map(([hash, at]) => lineOf(hash, at)).join(''), 0o600);
    } else this.append([...all].filter(([hash]) => !own.has(hash)));
    for (const name of this.#copies()) rmSync(join(this.#dataDir, name));
  }

  /** Writes a copy into a folder that becomes a backup. */
  copyInto(folder: string): void {
    const lines = [...this.read()].map(([hash, atSeconds]) => lineOf(hash, atSeconds));
    writeWhole(join(folder, BACKUP_COPY_NAME), lines.join(''), 0o600);
  }

  #copies(): string[] {
    return namesIn(this.#dataDir).filter((name) => COPY_FORM.test(name));
  }
}

/** The valid lines of a file; none when it does not exist. */
export function readRevocations(path: string): Revocations {
  const found = new Map<string, number>();
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return found;
    throw error;
  }
  for (const line of text.split('\n')) {
    const [, hash, seconds, sum] = LINE_FORM.exec(line) ?? [];
    if (hash === undefined || seconds === undefined || sum !== sumOf(`${hash} ${seconds}`)) continue;
    if (!found.has(hash)) found.set(hash, Number(seconds));
  }
  return found;
}

function merge(into: Map<string, number>, from: Revocations): void {
  for (const [hash, atSeconds] of from) if (!into.has(hash)) into.set(hash, atSeconds);
}

function lineOf(hash: string, atSeconds: number): string {
  const content = `${hash} ${atSeconds}`;
  return `${content} ${sumOf(content)}\n`;
}

function sumOf(content: string): string {
  return crc32(content).toString(16).padStart(8, '0');
}

/** Whether the file's last line was cut off, by a full disk or a kill. */
function endsWithinLine(file: number): boolean {
  const last = Buffer.alloc(1);
  const { size } = fstatSync(file);
  return size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== LINE_FEED;
}
