import type { Database } from 'lmdb';
import { withSum } from '../value.ts';

/** Number of a job in this installation, 1 to 2^32 - 1; the prefix of all keys of its steps and records. */
export type JobNumber = number;

/** Bytes of a key's SHA-256 that identify it: nobody can construct two keys that agree in this many. */
export const HASH_BYTES = 16;
const NOTHING = Buffer.alloc(0);
const JOB_MAX = 0xffff_ffff;

/** A range of a step's results. */
export interface FoundRange {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** Byte offset of the first one. */
  readonly at: number;
}

/** Returns a key of the job's number and a number within the job, of `bytes` bytes. */
export function numberedKey(job: JobNumber, number: number, bytes: 4 | 6): Buffer {
  const key = Buffer.allocUnsafe(4 + bytes);
  key.writeUInt32BE(job, 0);
  key.writeUIntBE(number, 4, bytes);
  return key;
}

/** Returns a key of the job's number and a hash of `HASH_BYTES`. */
export function hashedKey(job: JobNumber, hash: Uint8Array): Buffer {
  const key = Buffer.allocUnsafe(4 + HASH_BYTES);
  key.writeUInt32BE(job, 0);
  key.set(hash, 4);
  return key;
}

/** Returns the exclusive end of a job's keys. */
export function endOfJob(job: JobNumber): Buffer {
  if (job >= JOB_MAX) return Buffer.alloc(4 + HASH_BYTES + 1, 0xff);
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(job + 1);
  return key;
}

export function putMark(table: Database<Buffer, Buffer>, key: Buffer): void {
  void table.put(key, withSum(key, NOTHING));
}

/** Must be called inside a write transaction. Removes at most `keysMax` of a job's rows; returns the number of removed rows. */
export function removeOfJob(table: Database<Buffer, Buffer>, job: JobNumber, keysMax: number): number {
  const start = Buffer.allocUnsafe(4);
  start.writeUInt32BE(job);
  const keys: Buffer[] = [];
  for (const key of table.getKeys({ start, end: endOfJob(job), limit: keysMax })) keys.push(Buffer.from(key));
  for (const key of keys) void table.remove(key);
  return keys.length;
}
