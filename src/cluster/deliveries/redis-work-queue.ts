import { createHash } from 'node:crypto';
import { decrypt, encrypt } from '../../kernel/encryption.ts';
import type { Delivery } from '../../work/webhook.ts';
import type { Argument, Command, Link, Reply, Sent } from '../store/link.ts';
import { replyList, scriptCommand } from '../store/store-calls.ts';
import { deliveryKey } from '../store/store-keys.ts';
import { packDelivery, unpackDelivery } from './delivery-codec.ts';
import { CLAIM, ENDED, RECLAIM, RELEASE, REPLACE, SETTLE, WITHDRAW } from './work-queue-scripts.ts';

export interface ClaimOrder {
  /** Name of the consumer, unique among all that run. */
  readonly consumer: string;
  readonly lane: string;
  readonly limit: number;
  readonly nowMs: number;
}

/** Others may claim the delivery once the lease has ended, or the claim was released. */
export interface Claim {
  /** Its order is that of the first `replace` of each delivery. */
  readonly lane: string;
  readonly row: Delivery;
  /** Distinguishes this claim from earlier and later ones of the same delivery. */
  readonly token: string;
  /** End of the lease, Unix ms. */
  readonly untilMs: number;
}

/** `lost`: another consumer has claimed or settled the work meanwhile. */
export type SettleOutcome = 'stored' | 'lost';
export type QueueAnswer<T> = { readonly kind: 'ok'; readonly value: T } | WorkFault;

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

/** The store did not do it, or it is unknown whether it did. */
export interface WorkFault {
  readonly kind: 'fault';
  readonly detail: string;
}

/** Choice: a consumer that has been silent for a minute counts as stuck, so its work may go to another. */
const LEASE_MS = 60_000;
/** Choice: work scanned by one claim, so that a lane of claimed work holds the store for some milliseconds at most. */
const ROWS_MAX = 10_000;
/** Choice: longer than an absent node needs until it queries which of its work others have ended. */
const ENDED_KEPT_MS = 86_400_000;
/** Choice: shorter than any wait between two attempts, so that none begins before the end of the one before it is known to be written. */
const DEADLINE_MS = 500;

/**
 * The pending deliveries that all nodes share, in the store. One node keeps a lane as long as it lives; others claim its deliveries
 * afterwards. A lane is in one slot, so that each operation on it is one script. Settling claims of several lanes is one script for each.
 */
export class RedisWorkQueue {
  readonly leaseMs = LEASE_MS;
  readonly #parts: RedisWorkParts;

  constructor(parts: RedisWorkParts) {
    this.#parts = parts;
  }

  /** Returns the lanes with unfinished work, claimed or not. */
  async lanes(): Promise<readonly string[]> {
    const [listed] = await this.#send([{ key: this.#listKey, args: ['SMEMBERS', this.#listKey] }]);
    const lanes = rowsOfSent(listed).map(String);
    const sizes = await this.#send(
      lanes.map((lane) => ({ key: this.#key(lane, 'order'), args: ['ZCARD', this.#key(lane, 'order')] })),
    );
    return lanes.filter((_lane, n) => !isZero(sizes[n]));
  }

  /** Claims unclaimed work of a lane, oldest first, at most `limit`. */
  async claim({ consumer, lane, limit, nowMs }: ClaimOrder): Promise<readonly Claim[]> {
    const untilMs = nowMs + this.leaseMs;
    const args = [nowMs, untilMs, limit, consumer, ROWS_MAX].map(String);
    const [sent] = await this.#send([this.#script(CLAIM, lane, args)]);
    const found = rowsOfSent(sent);
    const claims: Claim[] = [];
    const unreadable: string[] = [];
    for (let at = 0; at + 2 < found.length; at += 3) {
      const id = String(found[at]);
      const value = found[at + 1];
      const bytes = Buffer.isBuffer(value) ? decrypt(this.#parts.key, value, this.#rowContext(lane, id)) : null;
      const row = bytes && (this.#parts.decode ?? unpackDelivery)(id, bytes);
      const token = String(found[at + 2]);
      if (row === null) unreadable.push(id, token);
      else claims.push({ lane, row, token, untilMs });
    }
    if (unreadable.length > 0) {
      // At once, so that a node that reads it gets it.
      await this.#send([this.#script(RELEASE, lane, unreadable)]);
      this.#parts.onUnreadable?.(lane, unreadable.length / 2);
    }
    return claims;
  }

  /** Ends claimed work as done. An expired claim is settled like any other as long as no other consumer has claimed its work. */
  async settle(claims: readonly Claim[], nowMs: number): Promise<QueueAnswer<readonly SettleOutcome[]>> {
    const lanes = groupByLane(claims);
    const times = [String(nowMs), String(nowMs - ENDED_KEPT_MS)];
    const sent = await this.#send(
      Array.from(lanes, ([lane, own]) => this.#script(SETTLE, lane, [...times, ...pairs(own)])),
    );
    const fault = faultOf(sent);
    if (fault !== null) return fault;
    const stored = new Map<unknown, boolean>();
    for (const [n, own] of [...lanes.values()].entries())
      for (const [i, one] of own.entries()) stored.set(one, rowsOfSent(sent[n])[i] === 1);
    return { kind: 'ok', value: claims.map((one) => (stored.get(one) === true ? 'stored' : 'lost')) };
  }

  /** Releases claims without a result: their work can be claimed at once. */
  async release(claims: readonly Claim[]): Promise<void> {
    await this.#send(Array.from(groupByLane(claims), ([lane, own]) => this.#script(RELEASE, lane, pairs(own))));
  }

  /**
   * Writes the latest values of a lane's work, known or not. Only for the node that owns the lane while it lives. Work that another node
   * has ended stays ended.
   */
  async replace(lane: string, rows: readonly Delivery[]): Promise<QueueAnswer<null>> {
    const { key, encode = packDelivery } = this.#parts;
    const values = rows.flatMap((row) => [row.id, encrypt(key, encode(row), this.#rowContext(lane, row.id))]);
    const listed = { key: this.#listKey, args: ['SADD', this.#listKey, lane] };
    return faultOf(await this.#send([listed, this.#script(REPLACE, lane, values)])) ?? { kind: 'ok', value: null };
  }

  /** Removes work of such a lane. */
  async withdraw(lane: string, ids: readonly string[]): Promise<QueueAnswer<null>> {
    const commands: Command[] = [];
    for (let at = 0; at < ids.length; at += IDS_MAX)
      commands.push(this.#script(WITHDRAW, lane, ids.slice(at, at + IDS_MAX)));
    return faultOf(await this.#send(commands)) ?? { kind: 'ok', value: null };
  }

  /** Ends the claims of others in such a lane: they can no longer settle, and nothing that they have not settled is theirs. */
  async reclaim(lane: string): Promise<QueueAnswer<null>> {
    return faultOf(await this.#send([this.#script(RECLAIM, lane, [])])) ?? { kind: 'ok', value: null };
  }

  /** Returns which of these have been settled as done or dead. */
  async endedOf(lane: string, ids: readonly string[]): Promise<QueueAnswer<ReadonlySet<string>>> {
    const sent = await this.#send([this.#script(ENDED, lane, ids)]);
    const flags = rowsOfSent(sent[0]);
    return faultOf(sent) ?? { kind: 'ok', value: new Set(ids.filter((_id, n) => flags[n] === 1)) };
  }

  /** Returns the ids of all unfinished work of a lane. */
  async idsOf(lane: string): Promise<QueueAnswer<readonly string[]>> {
    const key = this.#key(lane, 'order');
    const sent = await this.#send([{ key, args: ['ZRANGE', key, '0', '-1'] }]);
    return faultOf(sent) ?? { kind: 'ok', value: rowsOfSent(sent[0]).map(String) };
  }

  #send(commands: readonly Command[]): Promise<readonly Sent[]> {
    return commands.length === 0 ? Promise.resolve([]) : this.#parts.link.send(commands, DEADLINE_MS);
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

function groupByLane(claims: readonly Claim[]): ReadonlyMap<string, readonly Claim[]> {
  const groups = new Map<string, Claim[]>();
  for (const one of claims) {
    const group = groups.get(one.lane);
    if (group === undefined) groups.set(one.lane, [one]);
    else group.push(one);
  }
  return groups;
}

function pairs(claims: readonly Claim[]): readonly string[] {
  return claims.flatMap(({ row, token }) => [row.id, token]);
}

function isZero(sent: Sent | undefined): boolean {
  return sent?.kind === 'reply' && sent.reply === 0;
}

function rowsOfSent(sent: Sent | undefined): readonly Reply[] {
  return sent?.kind === 'reply' ? replyList(sent.reply) : [];
}

function faultOf(sent: readonly Sent[]): WorkFault | null {
  const fault = sent.find((one) => one.kind === 'fault');
  return fault === undefined ? null : { kind: 'fault', detail: fault.detail };
}
