import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { LAYOUT_VERSION, RECORD_WORDS } from './layout.ts';
import { MARKS_BYTES } from './stream-marks.ts';

/**
 * File format of a snapshot of the table; all numbers are unsigned 32-bit, little-endian.
 *
 *   head    magic   format   layout   hash key's check (two)   saved at, Unix seconds   CRC-32 of these 24 bytes
 *   block   magic   bytes of the payload   CRC-32 of the payload   payload: records of 35 words: tag, state, the record's 32,
 *           owner, plus 256 if it is kept longer (`shares.ts`)
 *   marks   magic   bytes of the payload   CRC-32 of the payload   payload: how far the records contain the events of other nodes
 *           (`stream-marks.ts`); since version 4, after the blocks
 *   end     magic   records in all   CRC-32 of these 8 bytes
 *
 * Records are meaningless under another hash key, so the head identifies the key.
 */
export const HEAD_BYTES = 28;
export const BLOCK_HEAD_BYTES = 12;
export const ENTRY_WORDS = RECORD_WORDS + 3;
/** Choice: 143 KB; copying a block and computing its checksum takes under 1 ms of the thread. */
export const BLOCK_ENTRIES_MAX = 1_024;
export const BLOCK_BYTES_MAX = BLOCK_ENTRIES_MAX * ENTRY_WORDS * 4;

const MAGIC_HEAD = 0x53564847; // "GHVS"
const MAGIC_BLOCK = 0x42564847; // "GHVB"
const MAGIC_MARKS = 0x4d564847; // "GHVM"
const MAGIC_END = 0x45564847; // "GHVE"
const FORMAT = 1;
/** Version 3 has the same records, and no marks. */
const VERSION_MIN = 3;

export function headOf(hashKey: Uint8Array, savedAtSeconds: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(MAGIC_HEAD, 0);
  head.writeUInt32LE(FORMAT, 4);
  head.writeUInt32LE(LAYOUT_VERSION, 8);
  keyCheck(hashKey).copy(head, 12);
  head.writeUInt32LE(savedAtSeconds, 20);
  head.writeUInt32LE(crc32(head.subarray(0, 24)), 24);
  return head;
}

/**
 * Returns the layout's version; null if the head is damaged or not that of a snapshot. Every version must keep the head, whose `format`
 * stays 1: a change of the blocks raises the layout's version too.
 */
export function versionInHead(head: Buffer): number | null {
  const isHead = head.length === HEAD_BYTES && head.readUInt32LE(0) === MAGIC_HEAD;
  return isHead && head.readUInt32LE(24) === crc32(head.subarray(0, 24)) ? head.readUInt32LE(8) : null;
}

export type HeadRead =
  | { readonly kind: 'head'; readonly savedAtSeconds: number }
  | { readonly kind: 'refused'; readonly detail: string };

export function readHead(head: Buffer, hashKey: Uint8Array): HeadRead {
  if (head.length < HEAD_BYTES) return refused('it ends within its header');
  if (head.readUInt32LE(0) !== MAGIC_HEAD) return refused('it is not a snapshot');
  if (head.readUInt32LE(24) !== crc32(head.subarray(0, 24))) return refused('its header is corrupt');
  const version = head.readUInt32LE(8);
  if (head.readUInt32LE(4) !== FORMAT || version < VERSION_MIN || version > LAYOUT_VERSION)
    return refused('another version of the service made it');
  if (!head.subarray(12, 20).equals(keyCheck(hashKey))) return refused('it was made with another hash key');
  return { kind: 'head', savedAtSeconds: head.readUInt32LE(20) };
}

function refused(detail: string): HeadRead {
  return { kind: 'refused', detail };
}

function keyCheck(hashKey: Uint8Array): Buffer {
  return createHmac('sha256', hashKey).update('velocity snapshot').digest().subarray(0, 8);
}

/** Writes the head of a block in front of its payload, in the same buffer. */
export function sealBlock(block: Buffer): void {
  sealPart(block, MAGIC_BLOCK);
}

/** Returns the part with the marks. */
export function marksPart(marks: Uint8Array): Buffer {
  const part = Buffer.concat([Buffer.alloc(BLOCK_HEAD_BYTES), marks]);
  sealPart(part, MAGIC_MARKS);
  return part;
}

function sealPart(block: Buffer, magic: number): void {
  const payload = block.subarray(BLOCK_HEAD_BYTES);
  block.writeUInt32LE(magic, 0);
  block.writeUInt32LE(payload.length, 4);
  block.writeUInt32LE(crc32(payload), 8);
}

export function endOf(records: number): Buffer {
  const end = Buffer.alloc(BLOCK_HEAD_BYTES);
  end.writeUInt32LE(MAGIC_END, 0);
  end.writeUInt32LE(records, 4);
  end.writeUInt32LE(crc32(end.subarray(0, 8)), 8);
  return end;
}

export type PartRead =
  | { readonly kind: 'block' | 'marks'; readonly bytes: number; readonly crc: number }
  | { readonly kind: 'end'; readonly records: number }
  | { readonly kind: 'damaged' };

/** Reads the head of a block or of the marks, or the end. */
export function readPart(head: Buffer): PartRead {
  if (head.length < BLOCK_HEAD_BYTES) return { kind: 'damaged' };
  const magic = head.readUInt32LE(0);
  const value = head.readUInt32LE(4);
  const crc = head.readUInt32LE(8);
  if (magic === MAGIC_END && crc === crc32(head.subarray(0, 8))) return { kind: 'end', records: value };
  if (magic === MAGIC_MARKS && value === MARKS_BYTES) return { kind: 'marks', bytes: value, crc };
  const isBlock = magic === MAGIC_BLOCK && value <= BLOCK_BYTES_MAX && value % (ENTRY_WORDS * 4) === 0;
  return isBlock ? { kind: 'block', bytes: value, crc } : { kind: 'damaged' };
}
