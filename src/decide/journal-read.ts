import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { FileState } from './due-reader.ts';
import { dueIn, ENTRY_BYTES, HEAD_BYTES, MAGIC_DUE, MAGIC_IDS } from './journal-blocks.ts';
import type { ReplayEntry } from './replay-guard.ts';

/** How a start reads the journal's files back; `journal.ts` says what is in them. */

const FILE_NAME = /^replay-(\d{10})\.log$/;
/** Choice: some hundred batches, which tell what share of a file is ids. */
const SAMPLE_BYTES = 65_536;
/** Choice: no block has so many zeros in a row. */
const ESTIMATE_BYTES = 256;

/** The journal's files in a folder, in their order. */
export function listFiles(folder: string): { number: number; name: string }[] {
  const found: { number: number; name: string }[] = [];
  for (const name of readdirSync(folder)) {
    const match = FILE_NAME.exec(name);
    if (match) found.push({ number: Number(match[1]), name });
  }
  return found.sort((a, b) => a.number - b.number);
}

/** About how many ids a file holds, by its beginning and how much of it is written. */
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
  while (at + HEAD_BYTES <= sample.length && sample.readUInt32LE(at) !== 0) {
    const payloadBytes = sample.readUInt32LE(at + 4);
    if (sample.readUInt32LE(at) === MAGIC_IDS) ids += payloadBytes / ENTRY_BYTES;
    at += HEAD_BYTES + payloadBytes;
  }
  // A damaged beginning says anything; more than this fits into no file.
  return at === 0 ? 0 : Math.min(Math.ceil((ids * used) / at), used / ENTRY_BYTES);
}

/** About how much of a laid-out file is written: what is written comes first, and is nowhere zero for so long. */
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

/** A file's bytes, read as far as they are asked for: of a laid-out file most may be zeros. */
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

  /** Whether the file has so many bytes; they can be read from `bytes` then. */
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

/** Reads a file up to its end or its damage. */
export function readFile(
  file: string,
  nowSeconds: number,
  visit: (entry: ReplayEntry) => void,
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
  visit: (entry: ReplayEntry) => void,
): FileState & { entries: number; damaged: boolean } {
  const { bytes } = opened;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let entries = 0;
  let newestExpirySeconds = 0;
  let newestDue = 0;
  let at = 0;
  let isEnd = false;
  const entry = { hashLow: 0, hashHigh: 0, expiresAtSeconds: 0, keyNumber: 0 };
  while (opened.has(at + HEAD_BYTES)) {
    const magic = view.getUint32(at, true);
    const size = view.getUint32(at + 4, true);
    const sum = view.getUint32(at + 8, true);
    const from = at + HEAD_BYTES;
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
