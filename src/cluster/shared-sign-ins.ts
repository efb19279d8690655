import { pack, unpack } from '../kernel/pack.ts';
import type { SessionRow, SessionTable, SignInShare } from '../ports/sign-ins.ts';
import type { EncryptedValues } from './encrypted-values.ts';
import { customerIn, isNumber } from './history-wire.ts';
import type { Command, Link, Reply } from './link.ts';
import type { Peers } from './peers.ts';
import { feedKey } from './store-keys.ts';

/** A hash of the session's hash → `SessionRow`, encrypted. */
const SESSIONS_KEY = feedKey('sessions');
/** Choice: a person who signs in waits no longer for a node that does not answer. */
const SHARE_MS = 500;
/** Choice: well below the shortest idle time, 1 minute, by which a session may end. */
const SYNC_MS = 15_000;

const OPENED = 'sessions.opened';
const ENDED = 'sessions.ended';
const ENDED_ALL = 'sessions.ended_all';
/** Version of a session in the store and between nodes. A node leaves sessions of another one alone, and does not know them. */
const SESSION_FORMAT = 1;
const HASH = /^[0-9a-f]{64}$/;

export interface SignInOptions {
  readonly sessions: SessionTable;
  readonly link: Link;
  readonly peers: Peers;
  readonly values: EncryptedValues;
  readonly syncMs?: number;
  /** Called when sessions in the store begin to be of another version. */
  readonly onUnreadable?: (count: number) => void;
}

/**
 * Sessions are in the memory of every node, so that checking one costs nothing. A change goes to all nodes at once and into the store; a
 * node that was away reads it there. Codes are in the store alone, which gives each out once.
 */
export class SharedSignIns implements SignInShare {
  readonly #options: SignInOptions;
  readonly #timer: NodeJS.Timeout;
  /** Sessions that the store has, with the time of their last use there. */
  readonly #stored = new Map<string, number>();
  /** Codes of this node that the store has. */
  readonly #issued = new Set<string>();
  /** Sessions of the store that this build cannot read. */
  #unreadable = 0;

  constructor(options: SignInOptions) {
    const { sessions, peers, syncMs = SYNC_MS } = options;
    this.#options = options;
    peers.handle(OPENED, (body) => {
      const row = rowIn(body);
      if (row !== null) sessions.adopt(row);
      return [];
    });
    peers.handle(ENDED, ([idHash]) => {
      if (typeof idHash === 'string') this.#forget(idHash);
      return [];
    });
    peers.handle(ENDED_ALL, ([keyHash]) => {
      if (typeof keyHash === 'string') sessions.endAll(keyHash);
      return [];
    });
    this.#timer = setInterval(() => void this.sync(), syncMs).unref();
  }

  async opened(row: SessionRow): Promise<void> {
    await Promise.all([this.#put([row]), this.#ask(OPENED, writeRow(row))]);
  }

  async ended(idHash: string): Promise<void> {
    this.#stored.delete(idHash);
    await Promise.all([this.#send([hashCommand('HDEL', idHash)]), this.#ask(ENDED, [idHash])]);
  }

  async endedAll(keyHash: string): Promise<void> {
    const stored = await this.#read();
    const own = (stored?.rows ?? []).filter((row) => row.keyHash === keyHash).map(({ idHash }) => idHash);
    for (const idHash of own) this.#stored.delete(idHash);
    const removal = own.length === 0 ? [] : [hashCommand('HDEL', ...own)];
    await Promise.all([this.#send(removal), this.#ask(ENDED_ALL, [keyHash])]);
  }

  async issued(codeHash: string, keyHash: string, keptMs: number): Promise<void> {
    const key = codeKey(codeHash);
    const value = this.#options.values.encrypt(key, Buffer.from(keyHash));
    const [sent] = await this.#send([{ key, args: ['SET', key, value, 'PX', String(keptMs)] }]);
    if (sent?.kind !== 'reply') return;
    this.#issued.add(codeHash);
    setTimeout(() => this.#issued.delete(codeHash), keptMs).unref();
  }

  async redeemed(codeHash: string, own: string | null): Promise<string | null> {
    const key = codeKey(codeHash);
    const [sent] = await this.#send([{ key, args: ['GETDEL', key] }]);
    if (sent?.kind !== 'reply') return own;
    // A code that the store has never had was issued while the store was away, or before this node joined.
    if (!Buffer.isBuffer(sent.reply)) return this.#issued.has(codeHash) ? null : own;
    return this.#options.values.decrypt(key, sent.reply)?.toString() ?? null;
  }

  /** Takes over what other nodes stored, ends what they ended, and stores what is only here or was used since. */
  async sync(): Promise<void> {
    const { sessions } = this.#options;
    const before = [...this.#stored.keys()];
    const stored = await this.#read();
    if (stored === null) return;
    const { rows, unreadable } = stored;
    this.#count(unreadable.size);
    const known = new Set(rows.map(({ idHash }) => idHash));
    for (const idHash of before) if (!known.has(idHash) && !unreadable.has(idHash)) this.#forget(idHash);
    for (const row of rows) {
      sessions.adopt(row);
      this.#stored.set(row.idHash, row.lastSeenAtMs);
    }
    const own = sessions.rows();
    // A newer node has stored it since; this one would replace what it cannot read.
    const mine = own.filter(({ idHash }) => !unreadable.has(idHash));
    await this.#put(mine.filter((row) => (this.#stored.get(row.idHash) ?? 0) < row.lastSeenAtMs));
    const living = new Set(own.map(({ idHash }) => idHash));
    const over = [...known].filter((idHash) => !living.has(idHash));
    for (const idHash of over) this.#stored.delete(idHash);
    if (over.length > 0) await this.#send([hashCommand('HDEL', ...over)]);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #forget(idHash: string): void {
    this.#stored.delete(idHash);
    this.#options.sessions.endHashed(idHash);
  }

  async #put(rows: readonly SessionRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { values } = this.#options;
    const flat = rows.flatMap((row) => [row.idHash, values.encrypt(contextOf(row.idHash), pack(writeRow(row)))]);
    const [sent] = await this.#send([hashCommand('HSET', ...flat)]);
    if (sent?.kind === 'reply') for (const row of rows) this.#stored.set(row.idHash, row.lastSeenAtMs);
  }

  #count(unreadable: number): void {
    if (unreadable > 0 && this.#unreadable === 0) this.#options.onUnreadable?.(unreadable);
    this.#unreadable = unreadable;
  }

  /** Returns null if the store does not answer. */
  async #read(): Promise<{ readonly rows: readonly SessionRow[]; readonly unreadable: ReadonlySet<string> } | null> {
    const [sent] = await this.#send([hashCommand('HGETALL')]);
    if (sent?.kind !== 'reply' || !Array.isArray(sent.reply)) return null;
    const flat = sent.reply as readonly Reply[];
    const rows: SessionRow[] = [];
    const unreadable = new Set<string>();
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const [idHash, value] = [String(flat[at]), flat[at + 1]];
      const plain = Buffer.isBuffer(value) ? this.#options.values.decrypt(contextOf(idHash), value) : null;
      const row = plain === null ? null : rowIn(unpack(plain));
      if (row?.idHash === idHash) rows.push(row);
      else unreadable.add(idHash);
    }
    return { rows, unreadable };
  }

  #send(commands: readonly Command[]): ReturnType<Link['send']> {
    return commands.length === 0 ? Promise.resolve([]) : this.#options.link.send(commands, SHARE_MS);
  }

  async #ask(name: string, body: readonly unknown[]): Promise<void> {
    await this.#options.peers.ask(name, body, { deadlineMs: SHARE_MS });
  }
}

function hashCommand(name: string, ...args: Command['args']): Command {
  return { key: SESSIONS_KEY, args: [name, SESSIONS_KEY, ...args] };
}

function codeKey(codeHash: string): string {
  return feedKey(`code:${codeHash}`);
}

function contextOf(idHash: string): string {
  return `${SESSIONS_KEY}/${idHash}`;
}

function writeRow(row: SessionRow): readonly unknown[] {
  return [SESSION_FORMAT, row.idHash, row.keyHash, row.customer, row.prefix, row.createdAtMs, row.lastSeenAtMs];
}

function rowIn([
  format,
  idHash,
  keyHash,
  who,
  prefix,
  createdAtMs,
  lastSeenAtMs,
]: readonly unknown[]): SessionRow | null {
  const customer = customerIn(who);
  if (format !== SESSION_FORMAT) return null;
  if (typeof idHash !== 'string' || !HASH.test(idHash) || typeof keyHash !== 'string' || !HASH.test(keyHash))
    return null;
  if (customer === null || typeof prefix !== 'string' || !isNumber(createdAtMs) || !isNumber(lastSeenAtMs)) return null;
  return { idHash, keyHash, customer, prefix, createdAtMs, lastSeenAtMs };
}
