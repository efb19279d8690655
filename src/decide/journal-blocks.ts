import { FILE_FORMATS } from '../kernel/formats.ts';
import { BATCH_REQUESTS_MAX, JOURNAL_FILE_BYTES } from '../kernel/limits.ts';

/** A digit rather than a number, as the first version has it; versions above 9 continue with the bytes after "9". */
const DIGIT_ZERO = 0x30;

/** Format of the journal's files, shared by writer and readers; `journal.ts` describes the contents. */
export const MAGIC_IDS = toMagic('GHJ', FILE_FORMATS.journal.version);
export const MAGIC_DUE = toMagic('GHD', FILE_FORMATS.journal.version);
export const JOURNAL_HEAD_BYTES = 12;
export const ENTRY_BYTES = 16;
export const DUE_HEAD_BYTES = 12;
/** Choice: an event with its twenty targets has some 2 KB; a larger entry than this is not journalled. */
export const DUE_ENTRY_BYTES_MAX = 65_536;
export const DUE_BYTES_MAX = JOURNAL_HEAD_BYTES + BATCH_REQUESTS_MAX * (DUE_HEAD_BYTES + DUE_ENTRY_BYTES_MAX);

if (JOURNAL_HEAD_BYTES + BATCH_REQUESTS_MAX * ENTRY_BYTES + DUE_BYTES_MAX > JOURNAL_FILE_BYTES)
  throw new Error('a file of the journal must hold the largest batch');

export interface DueEntryRead {
  readonly sequence: number;
  readonly bytes: Buffer;
}

/** Yields the entries of a block's payload. Their bytes are views into it. */
export function* dueIn(payload: Buffer): Generator<DueEntryRead> {
  let at = 0;
  while (at + DUE_HEAD_BYTES <= payload.length) {
    const sequence = payload.readDoubleLE(at);
    const from = at + DUE_HEAD_BYTES;
    at = from + payload.readUInt32LE(from - 4);
    yield { sequence, bytes: payload.subarray(from, at) };
  }
}

export function fileName(number: number): string {
  return `replay-${String(number).padStart(10, '0')}.log`;
}

/** Returns three letters and the format version, as a digit, in the order of the file's bytes. */
function toMagic(letters: 'GHJ' | 'GHD', version: number): number {
  return Buffer.from([...Buffer.from(letters, 'latin1'), DIGIT_ZERO + version]).readUInt32LE(0);
}

/** Returns the format version that a block's magic names; null if it is not a magic of the journal. */
export function versionInMagic(magic: number): number | null {
  const version = (magic >>> 24) - DIGIT_ZERO;
  if (version < 1 || (magic !== toMagic('GHJ', version) && magic !== toMagic('GHD', version))) return null;
  return version;
}
