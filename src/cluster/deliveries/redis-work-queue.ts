import { createHash } from 'node:crypto';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import type { Delivery } from '../../work/webhook.ts';
import type { Argument, Command, Link, Reply } from '../store/link.ts';
import { callStore, replyList, scriptCommand, STORE_DEADLINE_MS, type StoreResult } from '../store/store-calls.ts';
import { deliveryKey } from '../store/store-keys.ts';
import { packDelivery, unpackDelivery } from './delivery-codec.ts';
import { CLAIM, ENDED, RECLAIM, RELEASE, REPLACE, SETTLE, WITHDRAW } from './work-queue-scripts.ts';

export interface ClaimOrder {
  /** Name of the consumer, unique among all that run. */
  readonly consumer: string;
  readonly limit: number;
  readonly nowMs: number;
}

/** Others may claim the delivery once the lease has ended, or the claim was released. */
export interface Claim {
  readonly row: Delivery;
  /** Distinguishes this claim from earlier and later ones of the same delivery. */
  readonly token: string;
}

export interface RedisWorkParts {
  readonly link: Link;
  /** Derived from the master key; encrypts what the store holds. */
  readonly key: Uint8Array;
  /** Short name; part of every key. */
  readonly name: string;
  readonly encode?: (row: Delivery) => Buffer;
  /** Returns null for a value that this build does not read. */
  readonly decode?: (id: string, bytes: Buffer) => Delivery | null;
  /** Called with the lane and the number of its values that could not be read: of a newer build, or encrypted with another key. */
  readonly onUnreadable?: (lane: string, count: number) => void;
}

/** Choice: a consumer that has been silent for a minute counts as stuck, so its work may go to another. */
const LEASE_MS = 60_000;
/** Choice: work scanned by one claim, so that a lane of claimed work holds the store for some milliseconds at most. */
const ROWS_MAX = 10_000;
/** Choice: longer than an absent node needs until it queries which of its work others have ended. */
const ENDED_KEPT_MS = 86_400_000;
/**
 * The pending deliveries that all nodes share, in the store. One node keeps a lane as long as it lives; others claim its deliveries
 * afterwards. A lane is in one slot, so that each operation on it is one script. `STORE_DEADLINE_MS` is shorter than any wait between two
 * attempts, so none begins before the end of the one before it is known to be written.
 */
export class RedisWorkQueue {
  readonly leaseMs = LEASE_MS;
  readonly #parts: RedisWorkParts;

  constructor(parts: RedisWorkParts) {
    this.#parts = parts;
  }

  /** Returns the lanes with unfinished work, claimed or not. */
  async lanes(): Promise<readonly string[]> {
    const { link } = this.#parts;
    const list = { key: this.#listKey, args: ['SMEMBERS', this.#listKey] };
    const listed = await callStore(link, list, (reply) => replyList(reply).map(String));
    if (listed.kind === 'away') return [];
    const keys = listed.value.map((lane) => this.#key(lane, 'order'));
    const sizes = await Promise.all(keys.map((key) => callStore(link, { key, args: ['ZCARD', key] }, Number)));
    return listed.value.filter((_lane, n) => sizes[n]?.kind !== 'ok' || sizes[n].value !== 0);
  }

  /** Claims unclaimed work of a lane in the order of its first `replace`, at most `limit`. */
  async claim(lane: string, { consumer, limit, nowMs }: ClaimOrder): Promise<readonly Claim[]> {
    const args = [nowMs, nowMs + this.leaseMs, limit, consumer, ROWS_MAX].map(String);
    const claimed = await this.#run(CLAIM, lane, args, replyList);
    const found = claimed.kind === 'ok' ? claimed.value : [];
    const claims: Claim[] = [];
    const unreadable: string[] = [];
    for (let at = 0; at + 2 < found.length; at += 3) {
      const id = String(found[at]);
      const value = found[at + 1];
      const bytes = Buffer.isBuffer(value) ? decrypt(this.#parts.key, value, this.#rowContext(lane, id)) : null;
      const row = bytes && (this.#parts.decode ?? unpackDelivery)(id, bytes);
      const token = String(found[at + 2]);
      if (row === null) unreadable.push(id, token);
      else claims.push({ row, token });
    }
    if (unreadable.length > 0) {
      // At once, so that a node that reads it gets it.
      await this.#run(RELEASE, lane, unreadable, Number);
      this.#parts.onUnreadable?.(lane, unreadable.length / 2);
    }
    return claims;
  }

  /**
   * Ends claimed work of a lane as done. Returns for each whether it did: another consumer may have claimed or settled it meanwhile. An
   * expired claim is settled like any other as long as no other consumer has claimed its work.
   */
  settle(lane: string, claims: readonly Claim[], nowMs: number): Promise<StoreResult<readonly boolean[]>> {
    const times = [String(nowMs), String(nowMs - ENDED_KEPT_MS)];
    return this.#run(SETTLE, lane, [...times, ...pairs(claims)], (reply) => replyList(reply).map((one) => one === 1));
  }

  /** Releases claims without a result: their work can be claimed at once. */
  async release(lane: string, claims: readonly Claim[]): Promise<void> {
    await this.#run(RELEASE, lane, pairs(claims), Number);
  }

  /**
   * Writes the latest values of a lane's work, known or not. Only for the node that owns the lane while it lives. Work that another node
   * has ended stays ended.
   */
  replace(lane: string, rows: readonly Delivery[]): Promise<StoreResult<null>> {
    const { key, encode = packDelivery } = this.#parts;
    const values = rows.flatMap((row) => [row.id, encrypt(key, encode(row), this.#rowContext(lane, row.id))]);
    const listed = { key: this.#listKey, args: ['SADD', this.#listKey, lane] };
    return this.#sendAll([listed, this.#script(REPLACE, lane, values)]);
  }

  /** Removes work of such a lane. */
  withdraw(lane: string, ids: readonly string[]): Promise<StoreResult<null>> {
    const commands: Command[] = [];
    for (let at = 0; at < ids.length; at += IDS_MAX)
      commands.push(this.#script(WITHDRAW, lane, ids.slice(at, at + IDS_MAX)));
    return this.#sendAll(commands);
  }

  /** Ends the claims of others in such a lane: they can no longer settle, and nothing that they have not settled is theirs. */
  reclaim(lane: string): Promise<StoreResult<unknown>> {
    return this.#run(RECLAIM, lane, [], Number);
  }

  /** Returns which of these have been settled. */
  endedOf(lane: string, ids: readonly string[]): Promise<StoreResult<ReadonlySet<string>>> {
    return this.#run(ENDED, lane, ids, (reply) => new Set(ids.filter((_id, n) => replyList(reply)[n] === 1)));
  }

  /** Returns the ids of all unfinished work of a lane. */
  idsOf(lane: string): Promise<StoreResult<readonly string[]>> {
    const key = this.#key(lane, 'order');
    const range = { key, args: ['ZRANGE', key, '0', '-1'] };
    return callStore(this.#parts.link, range, (reply) => replyList(reply).map(String));
  }

  /** All at once, in this order. */
  async #sendAll(commands: readonly Command[]): Promise<StoreResult<null>> {
    const sent = commands.length === 0 ? [] : await this.#parts.link.send(commands, STORE_DEADLINE_MS);
    const fault = sent.find((one) => one.kind === 'fault');
    return fault === undefined ? { kind: 'ok', value: null } : { ...fault, kind: 'away' };
  }

  #run<T>(script: string, lane: string, args: readonly string[], read: (reply: Reply) => T): Promise<StoreResult<T>> {
    return callStore(this.#parts.link, this.#script(script, lane, args), read);
  }

  #script(script: string, lane: string, args: readonly Argument[]): Command {
    const keys = KEY_NAMES.map((name) => this.#key(lane, name));
    return scriptCommand(script, keys, args);
  }

  get #listKey(): string {
    return deliveryKey(`-${this.#parts.name}`, 'lanes');
  }

  /** Lanes are named in the keys by a hash, because a lane may be the name of something. */
  #key(lane: string, what: string): string {
    const hash = createHash('sha256').update(lane).digest('hex').slice(0, 32);
    return deliveryKey(`-${this.#parts.name}-${hash}`, what);
  }

  #rowContext(lane: string, id: string): string {
    return `${this.#key(lane, 'row')}/${id}`;
  }
}

/** Choice: below what a script may unpack. */
const IDS_MAX = 1_000;
const KEY_NAMES = ['order', 'rows', 'claims', 'ended', 'counts'] as const;

function pairs(claims: readonly Claim[]): readonly string[] {
  return claims.flatMap(({ row, token }) => [row.id, token]);
}
