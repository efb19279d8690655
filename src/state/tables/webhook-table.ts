import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import {
  NOTICE_EVENTS,
  type NoticeEvent,
  WEBHOOK_FIELDS,
  WEBHOOK_FORMATS,
  WEBHOOK_RETRIES,
} from '../../work/webhook.ts';
import { DECISIONS } from '../../risk/decision.ts';
import type { SealedHeaders, Webhook, WebhookHealth, WebhookId, WebhookSecrets } from '../../work/webhook.ts';
import {
  BYTES_FIELD,
  field,
  FLAG_FIELD,
  packedNumber,
  MAYBE_TEXT,
  packedFields,
  packedText,
  type RowField,
} from './packed-fields.ts';
import { endOfCustomer } from './request-rows.ts';
import { type Codec, type OwnKey, ownKey, type TypedTable, typedTable } from './typed-table.ts';
import { u32Key } from './value.ts';
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
  readonly #table: TypedTable<OwnKey<WebhookId>, WebhookValue>;

  constructor(database: Database<Buffer, Buffer>) {
    this.#table = typedTable({ database, key: KEY, value: VALUE });
  }

  find(customer: CustomerNumber, id: WebhookId): Webhook | null {
    return this.sealed(customer, id)?.webhook ?? null;
  }

  page(customer: CustomerNumber, { after, limit }: WebhookQuery): WebhookPage {
    const rows: Webhook[] = [];
    const from = after === null ? null : KEY.encode({ customer, id: after });
    const start = from ?? endOfCustomer(customer);
    const range = { start, exclusiveStart: true, end: u32Key(customer), reverse: true };
    for (const [key, value] of this.#table.range(range)) {
      // A further row after a full page shows that there is a next page.
      if (rows.length === limit) return { rows, next: rows.at(-1)?.id ?? null };
      rows.push(rowOf(key, value).webhook);
    }
    return { rows, next: null };
  }

  count(customer: CustomerNumber): number {
    return this.#table.database.getKeysCount({ start: u32Key(customer), end: endOfCustomer(customer) });
  }

  /** Returns the webhooks of all customers, for a start. */
  loadAll(): readonly Webhook[] {
    return Array.from(this.#table.range({}), ([key, value]) => rowOf(key, value).webhook);
  }

  /** Returns the webhook with its encrypted secrets. */
  sealed(customer: CustomerNumber, id: WebhookId): SealedWebhook | null {
    const value = this.#table.get({ customer, id });
    return value && rowOf({ customer, id }, value);
  }

  /** For `apply`, inside its transaction. */
  put(webhook: Webhook, sealed: Uint8Array): void {
    this.#table.put(webhook, { ...webhook, sealed });
  }

  /** For `apply`, inside its transaction. Writes only the health. Returns the one before; null without the webhook. */
  putHealth(customer: CustomerNumber, id: WebhookId, health: WebhookHealth): WebhookHealth | null {
    const value = this.#table.get({ customer, id });
    if (value === null) return null;
    this.#table.put({ customer, id }, { ...value, health });
    return value.health;
  }

  /** For `apply`, inside its transaction. Returns whether it existed. */
  remove(customer: CustomerNumber, id: WebhookId): boolean {
    return this.#table.remove({ customer, id });
  }

  /** Returns null if the webhook no longer exists, or its secrets were encrypted under another key. Measured: 22 µs. */
  secretsOf(key: Uint8Array, { customer, id }: Pick<Webhook, 'customer' | 'id'>): WebhookSecrets | null {
    const row = this.sealed(customer, id);
    return row === null ? null : decryptSecrets(key, row.webhook, row.sealed);
  }

  /** Returns whether any webhook's secrets can be decrypted with this key; null without webhooks. */
  opensWith(key: Uint8Array): boolean | null {
    let isAny = false;
    for (const [own, value] of this.#table.range({})) {
      isAny = true;
      const { webhook, sealed } = rowOf(own, value);
      if (decryptSecrets(key, webhook, sealed) !== null) return true;
    }
    return isAny ? false : null;
  }
}

export interface SealedWebhook {
  readonly webhook: Webhook;
  readonly sealed: Uint8Array;
}

type WebhookValue = Omit<Webhook, 'customer' | 'id'> & { readonly sealed: Uint8Array };

function rowOf(key: OwnKey<WebhookId>, { sealed, ...rest }: WebhookValue): SealedWebhook {
  return { webhook: { ...key, ...rest }, sealed };
}

/** Null in rows while it is the default; absent from rows of builds that did not have it. */
function maybeOneOf<Value extends string>(values: readonly Value[]): RowField<Value | undefined> {
  return field(
    (stored) => values.find((value) => value === stored),
    (value) => value ?? null,
  );
}

function readHeaders(stored: unknown): SealedHeaders | undefined {
  if (!Array.isArray(stored)) return undefined;
  const [sealed, ...names] = stored as readonly unknown[];
  return { names: names.map(String), sealed: BYTES_FIELD.read(sealed) };
}

function readEvents(stored: unknown): readonly NoticeEvent[] | undefined {
  if (!Array.isArray(stored)) return undefined;
  return stored.flatMap((number) => NOTICE_EVENTS[Number(number)] ?? []);
}

const KEY = ownKey<WebhookId>('wh');

const REST = packedFields<Omit<WebhookValue, 'health'>>({
  url: packedText(),
  eventTypes: field(
    (stored) => {
      if (!Array.isArray(stored)) throw new Error('a stored webhook has the wrong form');
      return stored.flatMap((number) => DECISIONS[Number(number)] ?? []);
    },
    (types) => types.map((type) => DECISIONS.indexOf(type)),
  ),
  description: MAYBE_TEXT,
  createdAtMs: packedNumber(),
  updatedAtMs: packedNumber(),
  sealed: BYTES_FIELD,
  // Rows of older versions end with the secrets.
  disabled: FLAG_FIELD,
  // Absent without one, as in rows of builds that did not have it.
  filter: field(
    (stored) => (typeof stored === 'string' ? stored : undefined),
    (filter) => filter ?? null,
  ),
  format: maybeOneOf(WEBHOOK_FORMATS),
  fields: maybeOneOf(WEBHOOK_FIELDS),
  headers: field(readHeaders, (headers) => (headers ? [headers.sealed, ...headers.names] : null)),
  events: field(readEvents, (events) => events?.map((event) => NOTICE_EVENTS.indexOf(event)) ?? null),
  retry: maybeOneOf(WEBHOOK_RETRIES),
});

/**
 * The health comes first and has a fixed length; the other fields follow, packed:
 *
 *   status u8 (1 = unhealthy)   consecutive failures u32   cool-down ms u32   unhealthy since, next probe, last success,
 *   last failure: Unix ms, f64 each, NaN for null
 */
const FAILURES_AT = 1;
const COOLDOWN_AT = 5;
const TIMES_AT = 9;
const REST_AT = TIMES_AT + 4 * 8;

const VALUE: Codec<WebhookValue> = {
  encode(webhook) {
    const head = Buffer.alloc(REST_AT);
    writeHealth(head, webhook.health);
    return Buffer.concat([head, REST.encode(webhook)]);
  },
  decode: (bytes) => ({ ...REST.decode(bytes.subarray(REST_AT)), health: readHealth(bytes) }),
};

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
