import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { FILE_FORMATS, type NewerFormat } from '../kernel/formats.ts';
import type { FileState } from './due-reader.ts';
import { dueIn, ENTRY_BYTES, JOURNAL_HEAD_BYTES, MAGIC_DUE, MAGIC_IDS, versionInMagic } from './journal-blocks.ts';
import type { AdmittedId } from '../ports/admission.ts';

/** Reads the journal's files back at a start; `journal.ts` describes the contents. */

const FILE_NAME = /^replay-(\d{10})\.log$/;
/** Choice: some hundred batches, enough to estimate how much of a file is ids. */
const SAMPLE_BYTES = 65_536;
/** Choice: no block has this many zeros in a row. */
const ESTIMATE_BYTES = 256;

/** Lists the journal's files in a folder, in order. */
export function listJournalFiles(folder: string): { number: number; name: string }[] {
  const found: { number: number; name: string }[] = [];
  for (const name of readdirSync(folder)) {
    const match = FILE_NAME.exec(name);
    if (match) found.push({ number: Number(match[1]), name });
  }
  return found.sort((a, b) => a.number - b.number);
}

/**
 * Returns the first file of a newer build; null without any. Its ids cannot be read, so a start that skipped it would accept them again.
 * The first block decides, because each start begins a new file. Every version must keep the block's head, check sum included: without a
 * matching check sum the block is damaged, not newer.
 */
export function findNewerFile(folder: string): NewerFormat | null {
  if (!existsSync(folder)) return null;
  const readsVersion = FILE_FORMATS.journal.version;
  for (const { name } of listJournalFiles(folder)) {
    const path = join(folder, name);
    const version = firstVersionIn(path);
    if (version !== null && version > readsVersion) return { path, version, readsVersion };
  }
  return null;
}

function firstVersionIn(file: string): number | null {
  const opened = new FileBytes(file);
  try {
    if (!opened.has(JOURNAL_HEAD_BYTES)) return null;
    const { bytes } = opened;
    const end = JOURNAL_HEAD_BYTES + bytes.readUInt32LE(4);
    const isComplete = opened.has(end) && crc32(bytes.subarray(JOURNAL_HEAD_BYTES, end)) === bytes.readUInt32LE(8);
    return isComplete ? versionInMagic(bytes.readUInt32LE(0)) : null;
  } finally {
    opened.close();
  }
}

/** Estimates how many ids the files of a folder hold. */
export function idsInFolder(folder: string): number {
  return listJournalFiles(folder).reduce((ids, { name }) => ids + idsIn(join(folder, name)), 0);
}

/** Estimates how many ids a file holds, from its first blocks and its written length. */
export function idsIn(file: string): number {
  const sample = Buffer.alloc(Math.min(statSync(file).size, SAMPLE_BYTES));
  const descriptor = openSync(file, 'r');
  let used: number;
  try {
    used = writtenBytes(descriptor, statSync(file).size);
    readSync(descriptor, sample, 0, sample.length, 0);
  } finally {
    closeSync(descriptor);
  }
  let ids = 0;
  let at = 0;
  while (at + JOURNAL_HEAD_BYTES <= sample.length && sample.readUInt32LE(at) !== 0) {
    const payloadBytes = sample.readUInt32LE(at + 4);
    if (sample.readUInt32LE(at) === MAGIC_IDS) ids += payloadBytes / ENTRY_BYTES;
    at += JOURNAL_HEAD_BYTES + payloadBytes;
  }
  // A corrupt beginning may give any number; no file holds more ids than this.
  return at === 0 ? 0 : Math.min(Math.ceil((ids * used) / at), used / ENTRY_BYTES);
}

/** Estimates how much of a preallocated file is written: written data comes first and never contains this many zeros in a row. */
function writtenBytes(descriptor: number, size: number): number {
  const piece = Buffer.alloc(ESTIMATE_BYTES);
  let low = 0;
  let high = size;
  while (high - low > SAMPLE_BYTES / 16) {
    const middle = Math.floor((low + high) / 2);
    const read = readSync(descriptor, piece, 0, piece.length, middle);
    if (piece.subarray(0, read).some((byte) => byte !== 0)) low = middle;
    else high = middle;
  }
  return high;
}

/** A file's bytes, read only as far as requested: most of a preallocated file may be zeros. */
class FileBytes {
  readonly size: number;
  readonly bytes: Buffer;
  readonly #descriptor: number;
  #read = 0;

  constructor(file: string) {
    this.#descriptor = openSync(file, 'r');
    this.size = fstatSync(this.#descriptor).size;
    this.bytes = Buffer.allocUnsafeSlow(this.size);
  }

  /** Reads up to `end`; returns whether the file is that long. If so, the bytes are available in `bytes`. */
  has(end: number): boolean {
    while (this.#read < end && end <= this.size) {
      const want = Math.min(this.size, Math.max(end, 2 * this.#read, SAMPLE_BYTES)) - this.#read;
      const got = readSync(this.#descriptor, this.bytes, this.#read, want, this.#read);
      if (got === 0) return false;
      this.#read += got;
    }
    return end <= this.size;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Reads a file up to its end or its first corrupt block. */
export function readFile(
  file: string,
  nowSeconds: number,
  visit: (entry: AdmittedId) => void,
): FileState & { entries: number; damaged: boolean } {
  const opened = new FileBytes(file);
  try {
    return readBlocks(opened, nowSeconds, visit);
  } finally {
    opened.close();
  }
}

function readBlocks(
  opened: FileBytes,
  nowSeconds: number,
  visit: (entry: AdmittedId) => void,
): FileState & { entries: number; damaged: boolean } {
  const { bytes } = opened;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let entries = 0;
  let newestExpirySeconds = 0;
  let newestDue = 0;
  let at = 0;
  let isEnd = false;
  const entry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: 0, keyNumber: 0 };
  while (opened.has(at + JOURNAL_HEAD_BYTES)) {
    const magic = view.getUint32(at, true);
    const size = view.getUint32(at + 4, true);
    const sum = view.getUint32(at + 8, true);
    const from = at + JOURNAL_HEAD_BYTES;
    isEnd = magic === 0 && size === 0 && sum === 0;
    const isBlock = (magic === MAGIC_IDS || magic === MAGIC_DUE) && opened.has(from + size);
    if (!isBlock || crc32(bytes.subarray(from, from + size)) !== sum) break;
    at = from + size;
    if (magic === MAGIC_DUE) {
      for (const { sequence } of dueIn(bytes.subarray(from, at))) newestDue = Math.max(newestDue, sequence);
      continue;
    }
    for (let i = from; i + ENTRY_BYTES <= at; i += ENTRY_BYTES) {
      entry.expiresAtSeconds = view.getUint32(i + 8, true);
      if (entry.expiresAtSeconds > newestExpirySeconds) newestExpirySeconds = entry.expiresAtSeconds;
      if (entry.expiresAtSeconds <= nowSeconds) continue;
      entry.hashLow = view.getUint32(i, true);
      entry.hashHigh = view.getUint32(i + 4, true);
      entry.keyNumber = view.getUint32(i + 12, true);
      entries++;
      visit(entry);
    }
  }
  return { entries, newestExpirySeconds, newestDue, damaged: at < opened.size && !isEnd };
}
