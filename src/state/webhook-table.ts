import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { DECISIONS } from '../risk/decision.ts';
import {
  PREVIOUS_SECRETS_MAX,
  type PreviousSecret,
  type Webhook,
  type WebhookChange,
  type WebhookHealth,
  type WebhookId,
  type WebhookSecrets,
} from '../work/webhook.ts';
import { committed, durably, type StoreWrite } from './durable.ts';
import { endOfCustomer, rowIdOf, rowKey } from './request-rows.ts';
import { encrypt, decrypt } from './encryption.ts';
import { u32Key, withoutSum, withSum } from './value.ts';

export interface WebhookQuery {
  /** The last webhook of the previous page; null to start with the newest. */
  readonly after: WebhookId | null;
  readonly limit: number;
}

export interface WebhookPage {
  /** Newest first. */
  readonly rows: readonly Webhook[];
  /** The next page starts after this webhook; null at the end. */
  readonly next: WebhookId | null;
}

export interface Rotation {
  /** The new secret that signs. */
  readonly secret: string;
  /** Time until which the replaced secret remains valid alongside it; null ends that one and all earlier ones. */
  readonly previousUntilMs: number | null;
  readonly nowMs: number;
}

/** Source: contract, 10.1. */
const WEBHOOKS_PER_CUSTOMER_MAX = 20;

/**
 * The endpoints of customers, in the order of their ids, which is that of their creation. Secrets are encrypted with `key`, which comes
 * from `deriveKey`; under another key everything except the secrets can be read.
 */
export class Webhooks {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;

  constructor(root: RootDatabase<Buffer, Buffer>, table: Database<Buffer, Buffer>) {
    this.#root = root;
    this.#table = table;
  }

  create(key: Uint8Array, webhook: Webhook, secret: string): Promise<StoreWrite<'created' | 'limit_reached'>> {
    const place = keyOf(webhook.customer, webhook.id);
    if (place === null) throw new Error('a webhook needs an id of its own');
    const sealed = encryptSecrets(key, webhook, { current: secret, previous: [] });
    return durably(this.#root, () => {
      if (this.count(webhook.customer) >= WEBHOOKS_PER_CUSTOMER_MAX) return 'limit_reached';
      this.#put(place, encode(webhook, sealed));
      return 'created';
    });
  }

  find(customer: CustomerNumber, id: WebhookId): Webhook | null {
    return this.#read(customer, id)?.webhook ?? null;
  }

  page(customer: CustomerNumber, { after, limit }: WebhookQuery): WebhookPage {
    const rows: Webhook[] = [];
    const from = after === null ? null : keyOf(customer, after);
    const start = from ?? endOfCustomer(customer);
    const range = this.#table.getRange({ start, exclusiveStart: true, end: u32Key(customer), reverse: true });
    for (const { key, value } of range) {
      // A further row after a full page shows that there is a next page.
      if (rows.length === limit) return { rows, next: rows.at(-1)?.id ?? null };
      rows.push(decode(Buffer.from(key), Buffer.from(value)).webhook);
    }
    return { rows, next: null };
  }

  count(customer: CustomerNumber): number {
    return this.#table.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
  }

  /** Returns the webhooks of all customers, for a start. */
  loadAll(): readonly Webhook[] {
    const webhooks: Webhook[] = [];
    for (const { key, value } of this.#table.getRange()) {
      webhooks.push(decode(Buffer.from(key), Buffer.from(value)).webhook);
    }
    return webhooks;
  }

  /** Resolves to whether it existed. Its deliveries stay in the log. */
  remove(customer: CustomerNumber, id: WebhookId): Promise<StoreWrite<boolean>> {
    const key = keyOf(customer, id);
    return durably(this.#root, () => {
      if (key === null || !this.#table.doesExist(key)) return false;
      void this.#table.remove(key);
      return true;
    });
  }

  /**
   * Sets a new secret; resolves to null if there is no such webhook. The replaced secret remains valid until `previousUntilMs`, and earlier
   * ones until the end of their own grace periods. Secrets that can no longer be decrypted are dropped.
   */
  rotate(
    key: Uint8Array,
    customer: CustomerNumber,
    id: WebhookId,
    change: Rotation,
  ): Promise<StoreWrite<Webhook | null>> {
    const { secret, previousUntilMs, nowMs } = change;
    return durably(this.#root, () => {
      const row = this.#read(customer, id);
      if (row === null) return null;
      const before = previousUntilMs === null ? null : decryptSecrets(key, row.webhook, row.sealed);
      const previous = before === null || previousUntilMs === null ? [] : previousOf(before, previousUntilMs, nowMs);
      const webhook = { ...row.webhook, updatedAtMs: nowMs };
      this.#put(row.key, encode(webhook, encryptSecrets(key, webhook, { current: secret, previous })));
      return webhook;
    });
  }

  /** Changes the given fields and resolves to the webhook; null if there is none. Its secrets stay. */
  change(
    customer: CustomerNumber,
    id: WebhookId,
    { nowMs, ...change }: WebhookChange & { readonly health?: WebhookHealth; readonly nowMs: number },
  ): Promise<StoreWrite<Webhook | null>> {
    return durably(this.#root, () => {
      const row = this.#read(customer, id);
      if (row === null) return null;
      const webhook = { ...row.webhook, ...change, updatedAtMs: nowMs };
      this.#put(row.key, encode(webhook, row.sealed));
      return webhook;
    });
  }

  /** Returns null if the webhook no longer exists, or its secrets were encrypted under another key. Measured: 22 µs. */
  secretsOf(key: Uint8Array, { customer, id }: Pick<Webhook, 'customer' | 'id'>): WebhookSecrets | null {
    const row = this.#read(customer, id);
    return row === null ? null : decryptSecrets(key, row.webhook, row.sealed);
  }

  /** Returns whether any webhook's secrets can be decrypted with this key; null without webhooks. */
  opensWith(key: Uint8Array): boolean | null {
    let isAny = false;
    for (const { key: place, value } of this.#table.getRange()) {
      isAny = true;
      const { webhook, sealed } = decode(Buffer.from(place), Buffer.from(value));
      if (decryptSecrets(key, webhook, sealed) !== null) return true;
    }
    return isAny ? false : null;
  }

  /**
   * Writes the health of these webhooks, in one write that is committed but not awaited on the disk: later deliveries report it again.
   * Webhooks removed meanwhile stay removed. Measured: 4 µs each in writes of 100.
   */
  healthChanged(changed: readonly Pick<Webhook, 'customer' | 'id' | 'health'>[]): Promise<StoreWrite<null>> {
    return committed(this.#root, () => {
      for (const { customer, id, health } of changed) {
        const key = keyOf(customer, id);
        const stored = key === null ? undefined : this.#table.getBinary(key);
        if (key === null || stored === undefined) continue;
        const value = Buffer.from(withoutSum(stored));
        writeHealth(value, health);
        this.#put(key, value);
      }
      return null;
    });
  }

  #read(customer: CustomerNumber, id: WebhookId): Row | null {
    const key = keyOf(customer, id);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return key === null || stored === undefined ? null : decode(key, stored);
  }

  #put(key: Buffer, value: Buffer): void {
    void this.#table.put(key, withSum(key, value));
  }
}

interface Row {
  readonly key: Buffer;
  readonly webhook: Webhook;
  readonly sealed: Uint8Array;
}

function keyOf(customer: CustomerNumber, id: WebhookId): Buffer | null {
  return rowKey('wh', customer, id);
}

type Owner = Pick<Webhook, 'customer' | 'id'>;

/** Returns the replaced secret and the earlier ones that are still valid. */
function previousOf({ current, previous }: WebhookSecrets, untilMs: number, nowMs: number): readonly PreviousSecret[] {
  const counting = previous.filter((one) => nowMs < one.untilMs);
  return [{ secret: current, untilMs }, ...counting].slice(0, PREVIOUS_SECRETS_MAX);
}

/**
 * Encrypts the current secret, then each previous one and its end, newest first; without any, `null` for both, as older versions wrote it.
 */
function encryptSecrets(key: Uint8Array, owner: Owner, { current, previous }: WebhookSecrets): Buffer {
  const pairs = previous.length === 0 ? [null, null] : previous.flatMap(({ secret, untilMs }) => [secret, untilMs]);
  return encrypt(key, pack([current, ...pairs]), contextOf(owner));
}

function decryptSecrets(key: Uint8Array, owner: Owner, sealed: Uint8Array): WebhookSecrets | null {
  const plain = decrypt(key, sealed, contextOf(owner));
  if (plain === null) return null;
  const [current, ...pairs] = unpack(plain);
  const previous: PreviousSecret[] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [secret, untilMs] = pairs.slice(at, at + 2);
    if (typeof secret === 'string' && typeof untilMs === 'number') previous.push({ secret, untilMs });
  }
  return { current: String(current), previous };
}

function contextOf({ customer, id }: Owner): string {
  return `webhook/${customer}/${id}`;
}

/**
 * The health comes first and has a fixed length, so that a change of it touches nothing else:
 *
 *   status u8 (1 = unhealthy)   consecutive failures u32   cool-down ms u32   unhealthy since, next probe, last success,
 *   last failure: Unix ms, f64 each, NaN for null
 */
const FAILURES_AT = 1;
const COOLDOWN_AT = 5;
const TIMES_AT = 9;
const REST_AT = TIMES_AT + 4 * 8;

function encode(
  { url, eventTypes, description, disabled, createdAtMs, updatedAtMs, health }: Webhook,
  sealed: Uint8Array,
): Buffer {
  const types = eventTypes.map((type) => DECISIONS.indexOf(type));
  const head = Buffer.alloc(REST_AT);
  writeHealth(head, health);
  return Buffer.concat([head, pack([url, types, description, createdAtMs, updatedAtMs, sealed, disabled])]);
}

function decode(key: Buffer, stored: Buffer): Row {
  // Rows of older versions end with the secrets.
  const [url, types, description, createdAt, updatedAt, sealed, disabled] = unpack(
    withoutSum(stored).subarray(REST_AT),
  );
  if (!Array.isArray(types) || !(sealed instanceof Uint8Array)) throw new Error('a stored webhook has the wrong form');
  const webhook: Webhook = {
    id: rowIdOf('wh', key) as WebhookId,
    customer: key.readUInt32BE(0) as CustomerNumber,
    url: String(url),
    eventTypes: types.flatMap((number) => DECISIONS[Number(number)] ?? []),
    description: typeof description === 'string' ? description : null,
    disabled: disabled === true,
    health: readHealth(stored),
    createdAtMs: Number(createdAt),
    updatedAtMs: Number(updatedAt),
  };
  return { key, webhook, sealed };
}

function writeHealth(value: Buffer, health: WebhookHealth): void {
  const { unhealthySinceMs, nextProbeAtMs, lastSuccessAtMs, lastFailureAtMs } = health;
  value.writeUInt8(health.status === 'unhealthy' ? 1 : 0, 0);
  value.writeUInt32BE(Math.min(0xffff_ffff, health.consecutiveFailures), FAILURES_AT);
  value.writeUInt32BE(health.cooldownMs, COOLDOWN_AT);
  for (const [i, time] of [unhealthySinceMs, nextProbeAtMs, lastSuccessAtMs, lastFailureAtMs].entries()) {
    value.writeDoubleBE(time ?? Number.NaN, TIMES_AT + 8 * i);
  }
}

function readHealth(stored: Buffer): WebhookHealth {
  const timeAt = (i: number): number | null => {
    const time = stored.readDoubleBE(TIMES_AT + 8 * i);
    return Number.isNaN(time) ? null : time;
  };
  return {
    status: stored.readUInt8(0) === 1 ? 'unhealthy' : 'healthy',
    consecutiveFailures: stored.readUInt32BE(FAILURES_AT),
    cooldownMs: stored.readUInt32BE(COOLDOWN_AT),
    unhealthySinceMs: timeAt(0),
    nextProbeAtMs: timeAt(1),
    lastSuccessAtMs: timeAt(2),
    lastFailureAtMs: timeAt(3),
  };
}
