import { DASHBOARD_SESSION_MS, DASHBOARD_SESSIONS_MAX } from '../../kernel/limits.ts';
import type { CodeTable, SessionRow, SessionTable, SignInShare } from '../../ports/sign-ins.ts';
import { customerIn, isNumber } from './history-wire.ts';
import type { Peers } from '../nodes/peers.ts';

/** Choice: a person who signs in waits no longer for a node that does not answer. */
const SHARE_MS = 500;
/** Choice: a node that missed a sign-in or a sign-out learns of it within seconds. */
const SYNC_MS = 15_000;
/** Choice: twice the sessions that there can be. */
const ENDED_MAX = 2 * DASHBOARD_SESSIONS_MAX;
/** Choice: rows of some 200 bytes, so that a part stays below `PEER_PART_BYTES`. */
const PART_ROWS = 400;

const OPENED = 'sessions.opened';
const ENDED = 'sessions.ended';
const ENDED_ALL = 'sessions.ended_all';
const LIST = 'sessions.list';
const REDEEM = 'codes.redeem';
const HASH = /^[0-9a-f]{64}$/;

export interface SignInOptions {
  readonly sessions: SessionTable;
  readonly codes: CodeTable;
  readonly peers: Peers;
  readonly nowMs?: () => number;
  readonly syncMs?: number;
}

/**
 * Sessions are in the memory of every node, so that checking one costs nothing. A change goes to all nodes at once; a node that was away
 * asks the others for theirs. Each node remembers what has ended for as long as the session would have lived, so nothing brings it back. A
 * code stays with the node that issued it, which gives its key out once. The shared store keeps none of them: it carries the questions.
 */
export class SharedSignIns implements SignInShare {
  readonly #options: SignInOptions;
  readonly #timer: NodeJS.Timeout;
  /** Hash of a session that has ended → time at which it would have ended anyway, Unix ms. */
  readonly #ended = new Map<string, number>();
  /** Hash of a key → time before which all of its sessions have ended, Unix ms. */
  readonly #endedKeys = new Map<string, number>();

  constructor(options: SignInOptions) {
    const { sessions, codes, peers, syncMs = SYNC_MS } = options;
    this.#options = options;
    peers.handle(OPENED, (body) => {
      const row = rowIn(body);
      if (row !== null && !this.#ended.has(row.idHash)) sessions.adopt(row);
      return [];
    });
    peers.handle(ENDED, ([idHash]) => {
      if (isHash(idHash)) this.#end(idHash, this.#nowMs() + DASHBOARD_SESSION_MS);
      return [];
    });
    peers.handle(ENDED_ALL, ([keyHash, atMs]) => {
      if (isHash(keyHash) && isNumber(atMs)) this.#endKey(keyHash, atMs);
      if (isHash(keyHash)) sessions.endAll(keyHash);
      return [];
    });
    peers.handle(LIST, () => this.#list());
    peers.handle(REDEEM, ([codeHash]) => {
      const keyHash = isHash(codeHash) ? codes.redeemHashed(codeHash, this.#nowMs()) : null;
      return keyHash === null ? [] : [[keyHash]];
    });
    this.#timer = setInterval(() => void this.sync(), syncMs).unref();
  }

  async opened(row: SessionRow): Promise<void> {
    await this.#ask(OPENED, writeRow(row));
  }

  async ended(idHash: string): Promise<void> {
    this.#end(idHash, this.#nowMs() + DASHBOARD_SESSION_MS);
    await this.#ask(ENDED, [idHash]);
  }

  async endedAll(keyHash: string): Promise<void> {
    const atMs = this.#nowMs();
    this.#endKey(keyHash, atMs);
    await this.#ask(ENDED_ALL, [keyHash, atMs]);
  }

  async redeemed(codeHash: string): Promise<string | null> {
    const { answers } = await this.#ask(REDEEM, [codeHash]);
    const found = answers.flatMap(({ parts: [part = []] }) => part).find(isHash);
    return found ?? null;
  }

  /** Takes over what began on other nodes, and ends what ended there. */
  async sync(): Promise<void> {
    const { sessions } = this.#options;
    this.#forget();
    const { answers } = await this.#ask(LIST, []);
    const parts = answers.flatMap((answer) => answer.parts);
    const listed = (kind: string): readonly (readonly unknown[])[] =>
      parts.flatMap(([first, ...rows]) => (first === kind ? rows.filter(Array.isArray) : []));
    // First what has ended: another node may not know it yet.
    for (const [idHash, untilMs] of listed(ENDED)) if (isHash(idHash) && isNumber(untilMs)) this.#end(idHash, untilMs);
    for (const [keyHash, atMs] of listed(ENDED_ALL)) if (isHash(keyHash) && isNumber(atMs)) this.#endKey(keyHash, atMs);
    for (const row of sessions.rows()) if (this.#isOver(row)) sessions.endHashed(row.idHash);
    for (const fields of listed(OPENED)) {
      const row = rowIn(fields);
      if (row !== null && !this.#isOver(row)) sessions.adopt(row);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  *#list(): Generator<readonly unknown[]> {
    yield* inParts(OPENED, this.#options.sessions.rows().map(writeRow));
    yield* inParts(ENDED, [...this.#ended]);
    yield* inParts(ENDED_ALL, [...this.#endedKeys]);
  }

  #isOver({ idHash, keyHash, createdAtMs }: SessionRow): boolean {
    return this.#ended.has(idHash) || createdAtMs <= (this.#endedKeys.get(keyHash) ?? 0);
  }

  #end(idHash: string, untilMs: number): void {
    this.#options.sessions.endHashed(idHash);
    if (!this.#ended.has(idHash)) keep(this.#ended, idHash, Math.min(untilMs, this.#nowMs() + DASHBOARD_SESSION_MS));
  }

  #endKey(keyHash: string, saidMs: number): void {
    // A node whose clock is ahead must not end sessions that begin later.
    const atMs = Math.min(saidMs, this.#nowMs());
    if (atMs > (this.#endedKeys.get(keyHash) ?? 0)) keep(this.#endedKeys, keyHash, atMs);
  }

  #forget(): void {
    const nowMs = this.#nowMs();
    for (const [idHash, untilMs] of this.#ended) if (untilMs < nowMs) this.#ended.delete(idHash);
    for (const [keyHash, atMs] of this.#endedKeys)
      if (atMs + DASHBOARD_SESSION_MS < nowMs) this.#endedKeys.delete(keyHash);
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? Date.now)();
  }

  #ask(name: string, body: readonly unknown[]): ReturnType<Peers['ask']> {
    return this.#options.peers.ask(name, body, { deadlineMs: SHARE_MS });
  }
}

function keep(map: Map<string, number>, name: string, value: number): void {
  map.set(name, value);
  const [oldest = ''] = map.size > ENDED_MAX ? map.keys() : [];
  map.delete(oldest);
}

function* inParts(kind: string, rows: readonly (readonly unknown[])[]): Generator<readonly unknown[]> {
  for (let at = 0; at < rows.length; at += PART_ROWS) yield [kind, ...rows.slice(at, at + PART_ROWS)];
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HASH.test(value);
}

function writeRow(row: SessionRow): readonly unknown[] {
  // Earlier builds expect the time of the last use at the end.
  return [row.idHash, row.keyHash, row.customer, row.prefix, row.createdAtMs, row.createdAtMs];
}

function rowIn([idHash, keyHash, who, prefix, createdAtMs]: readonly unknown[]): SessionRow | null {
  const customer = customerIn(who);
  if (!isHash(idHash) || !isHash(keyHash) || customer === null || typeof prefix !== 'string') return null;
  if (!isNumber(createdAtMs)) return null;
  return { idHash, keyHash, customer, prefix, createdAtMs };
}
