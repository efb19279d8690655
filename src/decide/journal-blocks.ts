import { BATCH_REQUESTS_MAX, JOURNAL_FILE_BYTES } from '../limits.ts';

/** The form of the journal's files, for what writes and for what reads them; `journal.ts` says what is in them. */
export const MAGIC_IDS = 0x314a4847; // "GHJ1"
export const MAGIC_DUE = 0x31444847; // "GHD1"
export const HEAD_BYTES = 12;
export const ENTRY_BYTES = 16;
export const DUE_HEAD_BYTES = 12;
/** Choice: an event and its twenty targets have some 2 KB; a larger entry than this is not journalled. */
export const DUE_ENTRY_BYTES_MAX = 65_536;
export const DUE_BYTES_MAX = HEAD_BYTES + BATCH_REQUESTS_MAX * (DUE_HEAD_BYTES + DUE_ENTRY_BYTES_MAX);

if (HEAD_BYTES + BATCH_REQUESTS_MAX * ENTRY_BYTES + DUE_BYTES_MAX > JOURNAL_FILE_BYTES)
  throw new Error('a file of the journal must hold the largest batch');

export interface DueEntryRead {
  readonly sequence: number;
  readonly bytes: Buffer;
}

/** The entries of a block's payload, their bytes borrowed. */
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
