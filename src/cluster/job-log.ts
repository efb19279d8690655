import { decrypt, encrypt } from '../kernel/encryption.ts';
import type { Link, Reply } from './link.ts';
import { extractionKey } from './store-keys.ts';

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
  /** As the store has it: equal for one entry on all nodes, and never equal for two. */
  readonly sealed: Buffer;
}

export interface LogEntry extends SealedEntry {
  readonly bytes: Buffer;
}

/** What the log has at the position of this node. */
export interface LogHead {
  /** Number of the newest entry. */
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
/** Choice: a node that was away for less than this much of results catches up. */
const BYTES_MAX = 256 * 2 ** 20;
/** Choice: an entry has up to 4 MiB, and nobody waits for it. */
const APPEND_MS = 2_000;
const READ_BLOCK_MS = 1_000;
/** Choice: entries read at a time, so that a node that catches up holds some 32 MiB at most. */
const READ_COUNT = 8;

/**
 * KEYS: log, meta. ARGV: entry, bytes of all entries at most, position of this node, greatest job number of this node or '' if the entry
 * creates no job. The numbers continue above those that a node has already applied, also after the store lost its data.
 */
const APPEND = `
local last = math.max(tonumber(redis.call('HGET', KEYS[2], 'last') or 0), tonumber(ARGV[3])) + 1
local job = 0
if ARGV[4] ~= '' then
  job = math.max(tonumber(redis.call('HGET', KEYS[2], 'jobs') or 0), tonumber(ARGV[4])) + 1
  redis.call('HSET', KEYS[2], 'jobs', job)
end
redis.call('HSET', KEYS[2], 'last', last)
redis.call('XADD', KEYS[1], last .. '-0', 'j', job, 'v', ARGV[1])
local bytes = redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[1])
while bytes > tonumber(ARGV[2]) do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if not first or first[1] == last .. '-0' then break end
  redis.call('XDEL', KEYS[1], first[1])
  bytes = redis.call('HINCRBY', KEYS[2], 'bytes', -#first[2][4])
end
return last`;

/**
 * Puts back the newest entries, which the store has lost. KEYS: log, meta. ARGV: bytes of all entries at most, position of this node, then
 * number, job and value of its newest entries. Numbers that cannot be put back stay free: what was applied under them must not be replaced.
 */
const RESTORE = `
local last = tonumber(redis.call('HGET', KEYS[2], 'last') or 0)
local back = 0
for at = 3, #ARGV, 3 do
  local number, job = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  if number > last then
    redis.call('XADD', KEYS[1], ARGV[at] .. '-0', 'j', ARGV[at + 1], 'v', ARGV[at + 2])
    redis.call('HINCRBY', KEYS[2], 'bytes', #ARGV[at + 2])
    if job > tonumber(redis.call('HGET', KEYS[2], 'jobs') or 0) then redis.call('HSET', KEYS[2], 'jobs', job) end
    last = number
    back = back + 1
  end
end
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', math.max(last, tonumber(ARGV[2]))))
return back`;

/** The log of everything that happens to extraction jobs, in one order for all nodes. Entries are encrypted. */
export class JobLog {
  readonly #parts: JobLogParts;

  constructor(parts: JobLogParts) {
    this.#parts = parts;
  }

  async append(bytes: Buffer, position: number, jobsBefore: number | null): Promise<Appended> {
    const { link, key, bytesMax = BYTES_MAX } = this.#parts;
    const args = [encrypt(key, bytes, LOG), String(bytesMax), String(position), String(jobsBefore ?? '')];
    const [sent] = await link.send([{ key: LOG, args: ['EVAL', APPEND, '2', LOG, META, ...args] }], APPEND_MS);
    if (sent?.kind === 'reply') return { kind: 'ok', number: Number(sent.reply) };
    return { kind: 'fault', isKnown: sent?.what !== 'unknown', detail: sent?.detail ?? '' };
  }

  /** Returns the number of the newest entry; null if the store does not answer. */
  async last(): Promise<number | null> {
    const [sent] = await this.#parts.link.send([{ key: META, args: ['HGET', META, 'last'] }], APPEND_MS);
    return sent?.kind === 'reply' ? Number(sent.reply ?? 0) : null;
  }

  /** Returns what the log has there; null if the store does not answer. */
  async headAt(position: number): Promise<LogHead | null> {
    const id = `${position}-0`;
    const [last, newest, own] = await this.#parts.link.send(
      [
        { key: META, args: ['HGET', META, 'last'] },
        { key: LOG, args: ['XREVRANGE', LOG, '+', '-', 'COUNT', '1'] },
        { key: LOG, args: ['XRANGE', LOG, id, id] },
      ],
      APPEND_MS,
    );
    if (last?.kind !== 'reply' || newest?.kind !== 'reply' || own?.kind !== 'reply') return null;
    return { last: Number(last.reply ?? 0), newest: onlyOf(newest.reply), own: onlyOf(own.reply) };
  }

  /** Puts these entries, which end at `position`, back after the end of the log. Returns how many were missing; null for a fault. */
  async restore(entries: readonly SealedEntry[], position: number): Promise<number | null> {
    const { link, bytesMax = BYTES_MAX } = this.#parts;
    const rows = entries.flatMap(({ number, job, sealed }) => [String(number), String(job), sealed]);
    const args = ['EVAL', RESTORE, '2', LOG, META, String(bytesMax), String(position), ...rows];
    const [sent] = await link.send([{ key: LOG, args }], APPEND_MS);
    return sent?.kind === 'reply' ? Number(sent.reply) : null;
  }

  /** Returns the entries after a position. Waits for one for up to a second. */
  async read(position: number): Promise<LogRead> {
    const block = ['BLOCK', String(READ_BLOCK_MS), 'COUNT', String(READ_COUNT)];
    const args = ['XREAD', ...block, 'STREAMS', LOG, `${position}-0`];
    const [sent] = await this.#parts.reader.send([{ key: LOG, args }], READ_BLOCK_MS + APPEND_MS);
    if (sent?.kind !== 'reply') return { kind: 'fault' };
    const rows = rowsOf(sent.reply);
    const entries: LogEntry[] = [];
    for (const row of rows) {
      const entry = this.#entryOf(row);
      if (entry === null) return { kind: 'fault' };
      if (entry.number !== position + entries.length + 1)
        return entries.length > 0 ? { kind: 'entries', entries } : { kind: 'gap', next: entry.number };
      entries.push(entry);
    }
    return { kind: 'entries', entries };
  }

  /** Returns null for an entry that no node with this key has written. */
  #entryOf(row: Reply): LogEntry | null {
    const found = sealedOf(row);
    const bytes = found && decrypt(this.#parts.key, found.sealed, LOG);
    return found && bytes && { ...found, bytes };
  }
}

function onlyOf(reply: Reply): SealedEntry | null {
  const [row] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  return sealedOf(row ?? null);
}

/** Returns the parts of a row of the stream; null for anything else. */
function sealedOf(row: Reply): SealedEntry | null {
  const [id, fields] = Array.isArray(row) ? (row as readonly Reply[]) : [];
  const [, job, , sealed] = Array.isArray(fields) ? (fields as readonly Reply[]) : [];
  return Buffer.isBuffer(sealed) ? { number: Number.parseInt(String(id), 10), job: Number(String(job)), sealed } : null;
}

/** Returns the entries of the only stream of the reply to `XREAD`. */
function rowsOf(reply: Reply): readonly Reply[] {
  const [stream] = Array.isArray(reply) ? (reply as readonly Reply[]) : [];
  const [, rows] = Array.isArray(stream) ? (stream as readonly Reply[]) : [];
  return Array.isArray(rows) ? (rows as readonly Reply[]) : [];
}
