import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import type { Link, Reply } from '../store/link.ts';
import { callStore, replyList, scriptCommand, streamRows } from '../store/store-calls.ts';
import { extractionKey } from '../store/store-keys.ts';

export interface JobLogParts {
  readonly link: Link;
  /** Has a connection for itself, because a read waits for entries. */
  readonly reader: Link;
  readonly key: Uint8Array;
  readonly bytesMax?: number;
}

export interface SealedEntry {
  /** Position in the log, from 1 without a gap. */
  readonly number: number;
  /** Number of the job that the entry creates; 0 for any other entry. */
  readonly job: number;
  /** Encrypted bytes as stored: the same on all nodes, and different for any two entries. */
  readonly sealed: Buffer;
}

export interface LogEntry extends SealedEntry {
  readonly bytes: Buffer;
}

/** Content of the log at the position of this node. */
export interface LogHead {
  /** Number of the newest entry; 0 without one. */
  readonly last: number;
  readonly newest: SealedEntry | null;
  /** The entry at the position; null if it was removed or the log ends before it. */
  readonly own: SealedEntry | null;
}

export type Appended =
  | { readonly kind: 'ok'; readonly number: number }
  /** `isKnown`: the log does not have the entry. */
  | { readonly kind: 'fault'; readonly isKnown: boolean; readonly detail: string };

export type LogRead =
  | { readonly kind: 'entries'; readonly entries: readonly LogEntry[] }
  /** The entries from there on were removed, or the store has lost them: the log continues at `next`. */
  | { readonly kind: 'gap'; readonly next: number }
  | { readonly kind: 'fault' };

const LOG = extractionKey('', 'log');
const META = extractionKey('', 'meta');
const KEYS = [LOG, META];
const NEWEST = ['XREVRANGE', LOG, '+', '-', 'COUNT', '1'];
/** Choice: a node that was away for less than this much of results catches up. */
const BYTES_MAX = 256 * 2 ** 20;
/** Choice: an entry has up to 4 MiB, and no request waits for it. */
const APPEND_MS = 2_000;
const READ_BLOCK_MS = 1_000;
/** Choice: entries read at a time, so that a node that catches up holds some 32 MiB at most. */
const READ_COUNT = 8;

/** Choice: more jobs than the nodes make while one of them is away. What the store claims beyond is not true. */
const AHEAD_MAX = 10_000_000;
/** Choice: far above the nodes that can write at the same time. */
const TRIES_MAX = 64;
/** Job numbers have 32 bits in the tables. */
export const JOB_NUMBER_MAX = 0xffff_ffff;
/** Choice: pause after a read of nothing but entries that no node has written. */
const FOREIGN_MS = 20;

/** Reads the newest row, and sets the stream's last id back to it: no entry can be added below a greater one, which anyone can set. */
const NEWEST_ROW = `local top = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('XSETID', KEYS[1], top and top[1] or '0-1') end`;

/** Anyone with access to the store can write into `bytes`. No claim makes a script fail, nor removes more than the new entries need. */
const ADD_BYTES = `
local function addBytes(more, bytesMax)
  local bytes = tonumber(redis.call('HGET', KEYS[2], 'bytes') or 0) or 0
  if not (bytes >= 0) then bytes = 0 end
  bytes = math.min(bytes, bytesMax) + more
  redis.call('HSET', KEYS[2], 'bytes', bytes)
  return bytes
end`;

/**
 * The numbers continue after the newest entry, and above those that a node has applied, also after the store lost its data. Anyone with
 * access to the store can write into the stream and `jobs`, so the entry is encrypted for its numbers: the caller names them, and gets
 * those that it should have named. No number counts that only the store claims.
 *
 * KEYS: log, meta. ARGV: entry, bytes of all entries at most, its number, job that it creates or 0, newest number that the caller knows of,
 * greatest job number that it knows of, position of this node. Returns 1 and the number; 0, the newest number, and the greatest job number;
 * or -1 and the newest entry, which is beyond the newest number: the caller knows whether it is one.
 */
const APPEND = `${ADD_BYTES}
local jobs = tonumber(redis.call('HGET', KEYS[2], 'jobs') or 0) or 0
local made = tonumber(ARGV[6])
if not (jobs >= made and jobs <= made + ${AHEAD_MAX} and jobs < ${JOB_NUMBER_MAX} and jobs % 1 == 0) then jobs = made end
local last = tonumber(ARGV[7])
${NEWEST_ROW}
if top then
  local newest = tonumber(string.match(top[1], '^%d+'))
  if newest > tonumber(ARGV[5]) then return {-1, top} end
  last = math.max(last, newest)
end
local number, job = tonumber(ARGV[3]), tonumber(ARGV[4])
if number ~= last + 1 or (job > 0 and job ~= jobs + 1) then return {0, last, jobs} end
if job > 0 then redis.call('HSET', KEYS[2], 'jobs', job) end
redis.call('XADD', KEYS[1], ARGV[3] .. '-0', 'j', ARGV[4], 'v', ARGV[1])
local bytes = addBytes(#ARGV[1], tonumber(ARGV[2]))
while bytes > tonumber(ARGV[2]) do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not first or first[1] == ARGV[3] .. '-0' then break end
  redis.call('XDEL', KEYS[1], first[1])
  bytes = bytes - #(first[2][4] or '')
  redis.call('HSET', KEYS[2], 'bytes', bytes)
end
return {1, number}`;

/**
 * Puts back the newest entries, which the store has lost. KEYS: log, meta. ARGV: bytes of all entries at most, then number, job and value
 * of this node's newest entries.
 */
const RESTORE = `${ADD_BYTES}
local last = 0
${NEWEST_ROW}
if top then last = tonumber(string.match(top[1], '^%d+')) end
local back = 0
for at = 2, #ARGV, 3 do
  local number, job = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  if number > last then
    redis.call('XADD', KEYS[1], ARGV[at] .. '-0', 'j', ARGV[at + 1], 'v', ARGV[at + 2])
    addBytes(#ARGV[at + 2], tonumber(ARGV[1]))
    if job > (tonumber(redis.call('HGET', KEYS[2], 'jobs') or 0) or 0) then redis.call('HSET', KEYS[2], 'jobs', job) end
    last = number
    back = back + 1
  end
end
return back`;

/**
 * Removes an entry that no node has written, unless it has been replaced since. New entries then follow the newest one that is left. KEYS:
 * log. ARGV: id, and the SHA-1 of its fields in hex.
 */
const REMOVE = `
local row = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not row or redis.sha1hex(table.concat(row[2])) ~= ARGV[2] then return 0 end
redis.call('XDEL', KEYS[1], ARGV[1])
${NEWEST_ROW}
return 1`;

/**
 * The log of everything that happens to extraction jobs, in one order for all nodes. Each entry is encrypted for its number and for the
 * number of the job that it creates, so it cannot be put into another place, or back after the end. What no node has written is removed.
 */
export class JobLog {
  readonly #parts: JobLogParts;
  #appending: Promise<unknown> = Promise.resolve();
  /** The newest number, and the greatest job number, of the last append. */
  #last = 0;
  #jobs = 0;
  #refused = 0;

  constructor(parts: JobLogParts) {
    this.#parts = parts;
  }

  /** Entries that no node has written for their place. */
  get refused(): number {
    return this.#refused;
  }

  /** Appends one entry after the other: two at once would name the same number. */
  append(bytes: Buffer, position: number, jobsBefore: number | null): Promise<Appended> {
    const appending = this.#appending.then(() => this.#append(bytes, position, jobsBefore));
    this.#appending = appending;
    return appending;
  }

  async #append(bytes: Buffer, position: number, jobsBefore: number | null): Promise<Appended> {
    const { link, key, bytesMax = BYTES_MAX } = this.#parts;
    let [last, jobs] = [Math.max(position, this.#last), Math.max(jobsBefore ?? 0, this.#jobs)];
    let known = Math.max(position, this.#last);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const [number, job] = [last + 1, jobsBefore === null ? 0 : jobs + 1];
      const sealed = encrypt(key, bytes, contextOf(number, job));
      const numbers = [bytesMax, number, job, known, jobsBefore ?? 0, position].map(String);
      const sent = await callStore(link, scriptCommand(APPEND, KEYS, [sealed, ...numbers]), replyList, APPEND_MS);
      if (sent.kind === 'away') return { kind: 'fault', isKnown: sent.what !== 'unknown', detail: sent.detail };
      const [what, first, second] = sent.value;
      if (what === 1) {
        [this.#last, this.#jobs] = [number, Math.max(job, this.#jobs)];
        return { kind: 'ok', number };
      }
      if (what === 0) [last, jobs] = [Number(first), Number(second)];
      else {
        const newest = await this.#genuine(first ?? null);
        if (newest === null) continue;
        known = Math.max(known, newest.number);
        last = Math.max(last, newest.number);
      }
    }
    return { kind: 'fault', isKnown: true, detail: 'other nodes write at the same time' };
  }

  /** Returns the number of the newest entry, 0 without one; null if the store does not answer, or if no node has written what it has. */
  async last(): Promise<number | null> {
    const newest = await callStore(this.#parts.link, { key: LOG, args: NEWEST }, rowOf, APPEND_MS);
    if (newest.kind === 'away') return null;
    return newest.value === null ? 0 : ((await this.#genuine(newest.value))?.number ?? null);
  }

  /** Returns what the log has there; null if the store does not answer. */
  async headAt(position: number): Promise<LogHead | null> {
    const id = `${position}-0`;
    const read = (args: readonly string[]) => callStore(this.#parts.link, { key: LOG, args }, rowOf, APPEND_MS);
    const [newest, own] = await Promise.all([read(NEWEST), read(['XRANGE', LOG, id, id])]);
    if (newest.kind === 'away' || own.kind === 'away') return null;
    const genuine = await this.#genuine(newest.value);
    // Removed, and read again at the next check.
    if (newest.value !== null && genuine === null) return null;
    return { last: genuine?.number ?? 0, newest: genuine, own: await this.#genuine(own.value) };
  }

  /** Puts these entries, which end at this node's position, back after the end of the log. Returns the number missing; null for a fault. */
  async restore(entries: readonly SealedEntry[]): Promise<number | null> {
    const { link, bytesMax = BYTES_MAX } = this.#parts;
    const rows = entries.flatMap(({ number, job, sealed }) => [String(number), String(job), sealed]);
    const sent = await callStore(link, scriptCommand(RESTORE, KEYS, [String(bytesMax), ...rows]), Number, APPEND_MS);
    return sent.kind === 'ok' ? sent.value : null;
  }

  /** Returns the entries after a position. Waits for one for up to a second. */
  async read(position: number): Promise<LogRead> {
    const block = ['BLOCK', String(READ_BLOCK_MS), 'COUNT', String(READ_COUNT)];
    const args = ['XREAD', ...block, 'STREAMS', LOG, `${position}-0`];
    const sent = await callStore(this.#parts.reader, { key: LOG, args }, streamRows, READ_BLOCK_MS + APPEND_MS);
    if (sent.kind === 'away') return { kind: 'fault' };
    const entries: LogEntry[] = [];
    for (const row of sent.value) {
      const entry = await this.#genuine(row);
      if (entry === null) continue;
      if (entry.number !== position + entries.length + 1)
        return entries.length > 0 ? { kind: 'entries', entries } : { kind: 'gap', next: entry.number };
      entries.push(entry);
    }
    if (sent.value.length > 0 && entries.length === 0) await sleep(FOREIGN_MS);
    return { kind: 'entries', entries };
  }

  /** Returns null for an entry that no node with this key has written for this place, and removes it. */
  async #genuine(row: Reply): Promise<LogEntry | null> {
    if (row === null) return null;
    const found = sealedOf(row);
    const bytes = found && decrypt(this.#parts.key, found.sealed, contextOf(found.number, found.job));
    if (found !== null && bytes !== null) return { ...found, bytes };
    this.#refused++;
    const [id, fields] = replyList(row);
    const parts = replyList(fields).map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(String(part))));
    const args = [String(id), hash('sha1', Buffer.concat(parts), 'hex')];
    await callStore(this.#parts.link, scriptCommand(REMOVE, [LOG], args), Number, APPEND_MS);
    return null;
  }
}

function contextOf(number: number, job: number): string {
  return `${LOG}/${number}/${job}`;
}

/** Returns the only row of a reply; null if there is none. */
function rowOf(reply: Reply): Reply {
  return replyList(reply)[0] ?? null;
}

/** Returns the parts of a row of the stream; null for anything else, also for a copy between two numbers (`5-1`). */
function sealedOf(row: Reply): SealedEntry | null {
  const [id, fields] = replyList(row);
  const [, job, , sealed] = replyList(fields);
  const number = Number.parseInt(String(id), 10);
  return Buffer.isBuffer(sealed) && String(id) === `${number}-0` ? { number, job: Number(String(job)), sealed } : null;
}
