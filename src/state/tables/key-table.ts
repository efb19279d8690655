import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { pack, unpack } from '../../kernel/pack.ts';
import type { KeyKind } from '../../kernel/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY } from '../../kernel/limits.ts';
import type { Counters } from './counters.ts';
import { withoutSum, withSum } from './value.ts';

export interface ApiKey {
  /** SHA-256 of the key's text, 64 lower-case hex digits. The text itself is not stored. */
  readonly hash: string;
  readonly customer: CustomerNumber;
  readonly kind: KeyKind;
  /** The first 12 characters, for listings. */
  readonly prefix: string;
  /** Requests per rate window. */
  readonly rateLimit: number;
  readonly createdAtSeconds: number;
  readonly revokedAtSeconds: number | null;
  /** Unique and never reused: the scope of the key's replay ids and of its rate window. */
  readonly number: number;
  /** Origins whose scripts may use the key, as browsers send them, or `*`; empty for a secret key. */
  readonly origins: readonly string[];
}

/** Index of the revocation time among a row's fields. */
const REVOKED_AT = 5;

/**
 * API keys by the SHA-256 of their text. `version()` increases with every change, so a server that polls it needs no other notification.
 */
export class ApiKeys {
  readonly #table: Database<Buffer, Buffer>;
  readonly #counters: Counters;

  constructor(table: Database<Buffer, Buffer>, counters: Counters) {
    this.#table = table;
    this.#counters = counters;
  }

  /** Increases with every change. Read it before `loadAll`, so that a change in between is detected at the next poll. */
  version(): number {
    return this.#counters.get('keysVersion');
  }

  /** Returns all keys, including revoked ones, in the order of their creation: for the server's key cache and for listings. */
  loadAll(): ApiKey[] {
    const keys: ApiKey[] = [];
    for (const { key, value } of this.#table.getRange()) keys.push(decode(Buffer.from(key).toString('hex'), value));
    return keys.sort((a, b) => a.number - b.number);
  }

  find(keyHash: string): ApiKey | null {
    const key = Buffer.from(keyHash, 'hex');
    const stored = key.length === 32 ? this.#table.getBinary(key) : undefined;
    return stored === undefined ? null : decode(keyHash, stored);
  }

  /** For `apply`, inside its transaction. */
  insert({ hash: keyHash, customer, kind, prefix, rateLimit, createdAtSeconds, number, origins }: NewRow): ApiKey {
    const key = Buffer.from(keyHash, 'hex');
    const fields = [customer, kind, prefix, rateLimit, createdAtSeconds, null, number];
    // Rows of keys without origins end before this field, as all rows of earlier versions do.
    const stored = withSum(key, pack(origins.length > 0 ? [...fields, origins] : fields));
    void this.#table.put(key, stored);
    return decode(keyHash, stored);
  }

  /** For `apply`, inside its transaction. Returns the key as revoked now; null if it is unknown or already revoked. */
  markRevoked(keyHash: string, atSeconds: number): ApiKey | null {
    const key = Buffer.from(keyHash, 'hex');
    const before = key.length === 32 ? this.#table.getBinary(key) : undefined;
    const fields = before === undefined ? [] : [...unpack(withoutSum(before))];
    if (fields.length === 0 || fields[REVOKED_AT] !== null) return null;
    fields[REVOKED_AT] = atSeconds;
    const stored = withSum(key, pack(fields));
    void this.#table.put(key, stored);
    return decode(keyHash, stored);
  }
}

/** `rateLimit` is null for the default of the kind. */
type NewRow = Omit<ApiKey, 'rateLimit' | 'revokedAtSeconds'> & {
  readonly rateLimit: number | null;
};

export function hashOfKey(text: string): string {
  return hash('sha256', text, 'hex');
}

function decode(keyHash: string, stored: Uint8Array): ApiKey {
  const [customer, kind, prefix, rateLimit, created, revoked, number, origins] = unpack(withoutSum(stored));
  const isSecret = kind === 'secret';
  return {
    hash: keyHash,
    customer: Number(customer) as CustomerNumber,
    kind: isSecret ? 'secret' : 'public',
    prefix: String(prefix),
    rateLimit: typeof rateLimit === 'number' ? rateLimit : isSecret ? RATE_SECRET_KEY : RATE_PUBLIC_KEY,
    createdAtSeconds: Number(created),
    revokedAtSeconds: typeof revoked === 'number' ? revoked : null,
    number: Number(number),
    origins: Array.isArray(origins) ? origins.map(String) : [],
  };
}
