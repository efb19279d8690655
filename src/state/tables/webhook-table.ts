import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import { DECISIONS } from '../../risk/decision.ts';
import type { Webhook, WebhookHealth, WebhookId, WebhookSecrets } from '../../work/webhook.ts';
import { endOfCustomer, rowIdOf, rowKey } from './request-rows.ts';
import { u32Key, withoutSum, withSum } from './value.ts';
import { decryptSecrets } from './webhook-secrets.ts';

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

/**
 * The endpoints of customers, in the order of their ids, which is that of their creation. Secrets are encrypted with `key`, which comes
 * from `deriveKey`; under another key everything except the secrets can be read.
 */
export class Webhooks {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
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

  /** Returns the webhook with its encrypted secrets. */
  sealed(customer: CustomerNumber, id: WebhookId): SealedWebhook | null {
    return this.#read(customer, id);
  }

  /** For `apply`, inside its transaction. */
  put(webhook: Webhook, sealed: Uint8Array): void {
    const key = keyOf(webhook.customer, webhook.id);
    if (key === null) throw new Error('a webhook needs an id of its own');
    this.#put(key, encode(webhook, sealed));
  }

  /** For `apply`, inside its transaction. Writes only the health. Returns the one before; null without the webhook. */
  putHealth(customer: CustomerNumber, id: WebhookId, health: WebhookHealth): WebhookHealth | null {
    const key = keyOf(customer, id);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    if (key === null || stored === undefined) return null;
    const value = Buffer.from(withoutSum(stored));
    const before = readHealth(value);
    writeHealth(value, health);
    this.#put(key, value);
    return before;
  }

  /** For `apply`, inside its transaction. Returns whether it existed. */
  remove(customer: CustomerNumber, id: WebhookId): boolean {
    const key = keyOf(customer, id);
    if (key === null || !this.#table.doesExist(key)) return false;
    void this.#table.remove(key);
    return true;
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

  #read(customer: CustomerNumber, id: WebhookId): SealedWebhook | null {
    const key = keyOf(customer, id);
    const stored = key === null ? undefined : this.#table.getBinary(key);
    return key === null || stored === undefined ? null : decode(key, stored);
  }

  #put(key: Buffer, value: Buffer): void {
    void this.#table.put(key, withSum(key, value));
  }
}

export interface SealedWebhook {
  readonly webhook: Webhook;
  readonly sealed: Uint8Array;
}

function keyOf(customer: CustomerNumber, id: WebhookId): Buffer | null {
  return rowKey('wh', customer, id);
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

function decode(key: Buffer, stored: Buffer): SealedWebhook {
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
  return { webhook, sealed };
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
