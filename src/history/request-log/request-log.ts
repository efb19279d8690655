import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { STORE_DISK_FREE_BYTES_MIN } from '../../kernel/limits.ts';
import type { Outcome } from '../../risk/event-outcome.ts';
import { freeBytes } from '../../state/tables/disk-room.ts';
import {
  dayOfRequests,
  folderOfRequests,
  listRequestFiles,
  nameOfRequests,
  removeRequestFile,
} from './request-files.ts';
import { entryBytes, packSegment, requestLogPurpose, type RequestEntry, writeLoggedEntry } from './request-frames.ts';

export interface RequestLogOptions {
  readonly dataDir: string;
  /** Returns how many days of a customer's requests are kept; 0 for none. Called for each decision: it must be fast. */
  readonly daysOf: (customer: CustomerNumber) => number;
  /** Derives a key from the master key. */
  readonly keyFor: (purpose: string) => Uint8Array;
  readonly log: { readonly warn: (fields: object, message: string) => void };
  /** Default: the disk of the data directory. */
  readonly freeBytes?: () => number | null;
  readonly bytesMax?: number;
}

/** A customer's entries that are not written yet. */
interface PendingEntries {
  pieces: Buffer[];
  /** Bytes of the last piece that are filled. */
  end: number;
  bytes: number;
  sinceMs: number;
}

/** Source: the request log is at most 1 GiB a customer. */
const BYTES_MAX = 2 ** 30;
/** Choice: the oldest of a customer's bytes go in steps of this size. */
const FILE_BYTES_MAX = 64 * 2 ** 20;
const PIECE_BYTES = 256 * 1_024;
/** Choice: what a killed process may lose, and the shortest time of a segment: short ones compress badly. */
const SEGMENT_MS = 5_000;
const SEGMENT_BYTES = 4 * 2 ** 20;
/** Choice: what waits for a slow disk, of all customers; then entries are dropped. */
const PENDING_BYTES_MAX = 64 * 2 ** 20;
const PRUNE_MS = 60_000;
/** Choice: the request log stops and goes long before the store refuses writes. */
const FREE_BYTES_MIN = 4 * STORE_DISK_FREE_BYTES_MIN;
const DAY_MS = 86_400_000;

/**
 * The verified requests of customers whose policy has `log_requests`, with the outcomes that were reported, in their order: the source of
 * a backtest. Kept on this node only, encrypted with a key of each customer and day. No endpoint returns them.
 *
 * Entries are copied into memory at once; `tend` compresses, encrypts and writes them. Failure direction: open. What cannot be written is
 * dropped and reported in the log.
 */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #pending = new Map<CustomerNumber, PendingEntries>();
  readonly #files = new Map<CustomerNumber, { day: string; part: number; bytes: number }>();
  #pendingBytes = 0;
  #dropped = 0;
  #isFull = false;
  #prunedAtMs = Number.NEGATIVE_INFINITY;
  #tending: Promise<void> = Promise.resolve();

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  wants(customer: CustomerNumber): boolean {
    return this.#options.daysOf(customer) > 0;
  }

  /** Copies the body. */
  request(customer: CustomerNumber, entry: Omit<RequestEntry, 'kind'>): void {
    const bytes = entryBytes(entry.body.length);
    const { piece, at } = this.#reserve(customer, bytes, entry.atMs);
    if (piece !== null) writeLoggedEntry(piece, at, { kind: 'request', ...entry });
  }

  outcome(customer: CustomerNumber, requestId: string, outcome: Outcome, atMs: number): void {
    if (!this.wants(customer)) return;
    const { piece, at } = this.#reserve(customer, entryBytes(null), atMs);
    if (piece !== null) writeLoggedEntry(piece, at, { kind: 'outcome', requestId, outcome, atMs });
  }

  /** Writes what is due and removes what is too old or too large; call every second. `isLast` writes everything. Never rejects. */
  tend(nowMs: number, isLast = false): Promise<void> {
    this.#tending = this.#tending.then(() => this.#tend(nowMs, isLast));
    return this.#tending;
  }

  #reserve(
    customer: CustomerNumber,
    bytes: number,
    atMs: number,
  ): { readonly piece: Buffer | null; readonly at: number } {
    if (this.#pendingBytes + bytes > PENDING_BYTES_MAX) {
      this.#dropped++;
      return { piece: null, at: 0 };
    }
    let pending = this.#pending.get(customer);
    if (pending === undefined) {
      pending = { pieces: [], end: 0, bytes: 0, sinceMs: atMs };
      this.#pending.set(customer, pending);
    }
    let piece = pending.pieces.at(-1);
    if (piece === undefined || pending.end + bytes > piece.length) {
      if (piece !== undefined) pending.pieces[pending.pieces.length - 1] = piece.subarray(0, pending.end);
      piece = Buffer.allocUnsafe(Math.max(PIECE_BYTES, bytes));
      pending.pieces.push(piece);
      pending.end = 0;
    }
    const at = pending.end;
    pending.end += bytes;
    pending.bytes += bytes;
    this.#pendingBytes += bytes;
    return { piece, at };
  }

  async #tend(nowMs: number, isLast: boolean): Promise<void> {
    const { log } = this.#options;
    for (const [customer, pending] of this.#pending) {
      const isDue = nowMs - pending.sinceMs >= SEGMENT_MS || pending.bytes >= SEGMENT_BYTES;
      if (!isDue && !isLast) continue;
      this.#pending.delete(customer);
      this.#pendingBytes -= pending.bytes;
      try {
        await this.#write(customer, pending);
      } catch (error) {
        log.warn({ err: error }, 'requests could not be logged');
      }
    }
    if (this.#dropped > 0) log.warn({ dropped: this.#dropped }, 'requests were not logged: the disk is too slow');
    this.#dropped = 0;
    if (nowMs - this.#prunedAtMs < PRUNE_MS) return;
    this.#prunedAtMs = nowMs;
    this.#prune(nowMs);
  }

  async #write(customer: CustomerNumber, { pieces, end, sinceMs }: PendingEntries): Promise<void> {
    if (this.#makeRoom()) return;
    const { dataDir, keyFor } = this.#options;
    const entries = Buffer.concat([...pieces.slice(0, -1), (pieces.at(-1) ?? Buffer.alloc(0)).subarray(0, end)]);
    const day = dayOfRequests(sinceMs);
    const purpose = requestLogPurpose(customer, day);
    const segment = await packSegment(entries, keyFor(purpose), purpose);
    let file = this.#files.get(customer);
    if (file === undefined || file.day !== day || file.bytes + segment.length > FILE_BYTES_MAX) {
      // A file of an earlier start may end in the middle of a segment.
      const parts = listRequestFiles(dataDir, customer).filter((one) => one.day === day);
      file = { day, part: (parts.at(-1)?.part ?? 0) + 1, bytes: 0 };
      this.#files.set(customer, file);
    }
    const folder = folderOfRequests(dataDir, customer);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await appendFile(join(folder, nameOfRequests(day, file.part)), segment, { mode: 0o600 });
    file.bytes += segment.length;
  }

  /** Removes files, oldest first, while the disk is nearly full. Returns whether it still is. */
  #makeRoom(): boolean {
    const { dataDir, log } = this.#options;
    const free = this.#options.freeBytes ?? (() => freeBytes(dataDir));
    const isShort = (): boolean => (free() ?? Infinity) < FREE_BYTES_MIN;
    if (!isShort()) {
      this.#isFull = false;
      return false;
    }
    const files = listRequestFiles(dataDir, null);
    let removed = 0;
    while (removed < files.length && isShort()) {
      const file = files[removed++];
      if (file !== undefined) removeRequestFile(file);
    }
    const isStillShort = isShort();
    if (!this.#isFull || removed > 0)
      log.warn({ removed, stopped: isStillShort }, 'the disk is nearly full: logged requests were removed');
    this.#isFull = isStillShort;
    this.#files.clear();
    return isStillShort;
  }

  #prune(nowMs: number): void {
    const { dataDir, daysOf, bytesMax = BYTES_MAX } = this.#options;
    const kept = new Map<CustomerNumber, number>();
    for (const file of listRequestFiles(dataDir, null).toReversed()) {
      const bytes = (kept.get(file.customer) ?? 0) + file.bytes;
      kept.set(file.customer, bytes);
      const days = daysOf(file.customer);
      const isOld = days === 0 || file.day < dayOfRequests(nowMs - days * DAY_MS);
      if (isOld || bytes > bytesMax) removeRequestFile(file);
    }
  }
}
