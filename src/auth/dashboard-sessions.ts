import { hash, randomBytes } from 'node:crypto';
import { DASHBOARD_SESSION_MS, DASHBOARD_SESSIONS_MAX, DASHBOARD_SESSIONS_PER_KEY_MAX } from '../kernel/limits.ts';
import type { CustomerNumber } from '../kernel/brand.ts';

/** The secret key that a session stands for. */
export interface SessionKey {
  /** SHA-256 of the key's text, lower-case hex. */
  readonly hash: string;
  readonly customer: CustomerNumber;
  readonly prefix: string;
}

export interface DashboardSession {
  readonly key: SessionKey;
  /** Names the session in the audit log and in logs: the first characters of the SHA-256 of its id. */
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A session as nodes share it, without its id. */
export interface HashedSession extends Omit<SessionKey, 'hash'> {
  /** SHA-256 of the id, lower-case hex. */
  readonly idHash: string;
  readonly keyHash: string;
  readonly createdAtMs: number;
}

const ID_BYTES = 32;
const ID = /^[A-Za-z0-9_-]{43}$/;
const NAME_CHARACTERS = 8;

/**
 * The sessions of people who signed in to the dashboard, in memory: a restart ends all of them. Only hashes of their ids are kept. Times
 * are passed in and are those of the wall clock, also in simulated time, because people sign in in real time. Source: contract, 18.2.
 */
export class DashboardSessions {
  /** By the SHA-256 of the id, in the order of creation. */
  readonly #sessions = new Map<string, DashboardSession>();
  /** SHA-256 of the key → hashes of its sessions' ids, in the order of creation. */
  readonly #byKey = new Map<string, Set<string>>();

  /** Sessions that have not ended, and expired ones that nobody has asked for since. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Opens a session and returns its id, which is new each time: 256 random bits in base64url. */
  open(key: SessionKey, nowMs: number): string {
    this.#removeExpired(nowMs);
    const own = this.#byKey.get(key.hash) ?? new Set<string>();
    if (own.size >= DASHBOARD_SESSIONS_PER_KEY_MAX) this.#removeFirst(own);
    else if (this.#sessions.size >= DASHBOARD_SESSIONS_MAX) this.#removeFirst(this.#sessions.keys());
    const id = randomBytes(ID_BYTES).toString('base64url');
    const idHash = hash('sha256', id, 'hex');
    const expiresAtMs = nowMs + DASHBOARD_SESSION_MS;
    const name = idHash.slice(0, NAME_CHARACTERS);
    this.#sessions.set(idHash, { key, name, createdAtMs: nowMs, expiresAtMs });
    own.add(idHash);
    this.#byKey.set(key.hash, own);
    return id;
  }

  /** Returns the session; null if there is none with this id, or it has ended. */
  use(id: string, nowMs: number): DashboardSession | null {
    if (!ID.test(id)) return null;
    const idHash = hash('sha256', id, 'hex');
    const session = this.#sessions.get(idHash);
    if (session === undefined) return null;
    if (!isOver(session, nowMs)) return session;
    this.#remove(idHash, session);
    return null;
  }

  /** Returns the session with this id as nodes share it; null without one. */
  rowOf(id: string): HashedSession | null {
    const idHash = hash('sha256', id, 'hex');
    const session = this.#sessions.get(idHash);
    return session === undefined ? null : toRow(idHash, session);
  }

  rows(): readonly HashedSession[] {
    return [...this.#sessions].map(([idHash, session]) => toRow(idHash, session));
  }

  /** Adds a session of another node unless it is known. */
  adopt({ idHash, keyHash, customer, prefix, createdAtMs }: HashedSession): void {
    if (this.#sessions.has(idHash)) return;
    if (this.#sessions.size >= DASHBOARD_SESSIONS_MAX) this.#removeFirst(this.#sessions.keys());
    const key = { hash: keyHash, customer, prefix };
    const expiresAtMs = createdAtMs + DASHBOARD_SESSION_MS;
    const name = idHash.slice(0, NAME_CHARACTERS);
    this.#sessions.set(idHash, { key, name, createdAtMs, expiresAtMs });
    this.#byKey.set(keyHash, (this.#byKey.get(keyHash) ?? new Set<string>()).add(idHash));
  }

  end(id: string): void {
    this.endHashed(hash('sha256', id, 'hex'));
  }

  endHashed(idHash: string): void {
    const session = this.#sessions.get(idHash);
    if (session !== undefined) this.#remove(idHash, session);
  }

  /** Ends all sessions of a key. */
  endAll(keyHash: string): void {
    for (const idHash of this.#byKey.get(keyHash) ?? []) this.#sessions.delete(idHash);
    this.#byKey.delete(keyHash);
  }

  /** The oldest sessions expire first. */
  #removeExpired(nowMs: number): void {
    for (const [idHash, session] of this.#sessions) {
      if (!isOver(session, nowMs)) return;
      this.#remove(idHash, session);
    }
  }

  #removeFirst(idHashes: Iterable<string>): void {
    for (const idHash of idHashes) {
      const session = this.#sessions.get(idHash);
      if (session !== undefined) this.#remove(idHash, session);
      return;
    }
  }

  #remove(idHash: string, { key }: DashboardSession): void {
    this.#sessions.delete(idHash);
    const own = this.#byKey.get(key.hash);
    own?.delete(idHash);
    if (own?.size === 0) this.#byKey.delete(key.hash);
  }
}

/** A clock that was set back must not make a session live longer. */
function isOver({ createdAtMs, expiresAtMs }: DashboardSession, nowMs: number): boolean {
  return nowMs >= expiresAtMs || nowMs < createdAtMs;
}

function toRow(idHash: string, { key, createdAtMs }: DashboardSession): HashedSession {
  return { idHash, keyHash: key.hash, customer: key.customer, prefix: key.prefix, createdAtMs };
}
