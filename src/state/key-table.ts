import { hash, randomBytes } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../kernel/brand.ts';
import { pack, unpack } from '../kernel/pack.ts';
import { KEY_PREFIX_CHARACTERS, KEY_RANDOM_BYTES, type KeyKind, makeKeyText } from '../kernel/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY } from '../kernel/limits.ts';
import type { Counters } from './counters.ts';
import { durably, fault, messageOf, type StoreWrite } from './durable.ts';
import type { RevocationFile, Revocations } from './revocations.ts';
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

export interface NewKey {
  /** The text of the key; available only here. */
  readonly text: string;
  readonly key: ApiKey;
}

export interface KeyPair {
  readonly secret: NewKey;
  readonly public: NewKey;
}

/** Index of the revocation time among a row's fields. */
const REVOKED_AT = 5;

export type Revocation = 'revoked' | 'already_revoked' | 'unknown';

/**
 * API keys by the SHA-256 of their text. `version()` increases with every change, so a server that polls it needs no other notification.
 */
export class ApiKeys {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #counters: Counters;
  readonly #revocations: RevocationFile;

  constructor(
    root: RootDatabase<Buffer, Buffer>,
    table: Database<Buffer, Buffer>,
    counters: Counters,
    revocations: RevocationFile,
  ) {
    this.#root = root;
    this.#table = table;
    this.#counters = counters;
    this.#revocations = revocations;
  }

  /**
   * Creates a secret and a public key, both or neither. `rateLimit` applies to both; with `null` each kind's default applies at the time of
   * reading. `origins` are those of the public key, in the form of `parseOrigin`.
   */
  createPair(
    customer: CustomerNumber,
    rateLimit: number | null,
    nowSeconds: number,
    origins: readonly string[] = [],
  ): Promise<StoreWrite<KeyPair>> {
    const secret = newKeyText('secret');
    const open = newKeyText('public');
    return durably(this.#root, () => {
      const row = { customer, rateLimit, createdAtSeconds: nowSeconds };
      const pair = {
        secret: this.#put(secret, { ...row, kind: 'secret', origins: [] }),
        public: this.#put(open, { ...row, kind: 'public', origins }),
      };
      this.#counters.rise('keysVersion');
      return pair;
    });
  }

  /**
   * Revokes a key permanently. The revocation is synced to a separate file before it is written here, so that it also applies to a `state`
   * that is restored from an older backup.
   */
  async revoke(keyHash: string, nowSeconds: number): Promise<StoreWrite<Revocation>> {
    const stored = this.#stored(keyHash);
    if (stored === null) return { kind: 'ok', value: 'unknown' };
    if (stored[REVOKED_AT] !== null) return { kind: 'ok', value: 'already_revoked' };
    try {
      this.#revocations.append([[keyHash, nowSeconds]]);
    } catch (error) {
      return fault('store_write_failed', `the revocation could not be written: ${messageOf(error)}`);
    }
    return durably(this.#root, () => {
      if (!this.#putRevoked(keyHash, nowSeconds)) return 'already_revoked';
      this.#counters.rise('keysVersion');
      return 'revoked';
    });
  }

  /** Marks those of the keys as revoked that exist here and are live. Resolves to their number. */
  revokeAll(revocations: Revocations): Promise<StoreWrite<number>> {
    return durably(this.#root, () => {
      let revoked = 0;
      for (const [keyHash, atSeconds] of revocations) if (this.#putRevoked(keyHash, atSeconds)) revoked++;
      if (revoked > 0) this.#counters.rise('keysVersion');
      return revoked;
    });
  }

  /**
   * Synchronises this table with the revocation file: keys revoked in either are revoked in both. Resolves to the number of keys changed
   * here.
   */
  async reconcileRevocations(): Promise<StoreWrite<number>> {
    try {
      const known = this.#revocations.read();
      const here = new Map<string, number>();
      let isMissing = false;
      for (const { hash: keyHash, revokedAtSeconds } of this.loadAll()) {
        if (revokedAtSeconds !== null) here.set(keyHash, revokedAtSeconds);
        else isMissing ||= known.has(keyHash);
      }
      this.#revocations.settle(here);
      return isMissing ? await this.revokeAll(known) : { kind: 'ok', value: 0 };
    } catch (error) {
      return fault('data_dir_unusable', `the file of revoked keys cannot be used: ${messageOf(error)}`);
    }
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

  #stored(keyHash: string): unknown[] | null {
    const key = Buffer.from(keyHash, 'hex');
    const stored = key.length === 32 ? this.#table.getBinary(key) : undefined;
    return stored === undefined ? null : [...unpack(withoutSum(stored))];
  }

  /** Must be called inside a write transaction. Returns false if the key is unknown or already revoked. */
  #putRevoked(keyHash: string, atSeconds: number): boolean {
    const fields = this.#stored(keyHash);
    if (fields === null || fields[REVOKED_AT] !== null) return false;
    fields[REVOKED_AT] = atSeconds;
    const key = Buffer.from(keyHash, 'hex');
    void this.#table.put(key, withSum(key, pack(fields)));
    return true;
  }

  #put(text: string, { kind, customer, rateLimit, createdAtSeconds, origins }: NewRow): NewKey {
    const keyHash = hashOfKey(text);
    const key = Buffer.from(keyHash, 'hex');
    const prefix = text.slice(0, KEY_PREFIX_CHARACTERS);
    const number = this.#counters.rise('keyNumbers');
    const fields = [customer, kind, prefix, rateLimit, createdAtSeconds, null, number];
    // Rows of keys without origins end before this field, as all rows of earlier versions do.
    const stored = withSum(key, pack(origins.length > 0 ? [...fields, origins] : fields));
    void this.#table.put(key, stored);
    return { text, key: decode(keyHash, stored) };
  }
}

/** `rateLimit` is null for the default of the kind. */
type NewRow = Pick<ApiKey, 'kind' | 'customer' | 'createdAtSeconds' | 'origins'> & {
  readonly rateLimit: number | null;
};

export function hashOfKey(text: string): string {
  return hash('sha256', text, 'hex');
}

function newKeyText(kind: KeyKind): string {
  for (;;) {
    const text = makeKeyText(kind, randomBytes(KEY_RANDOM_BYTES));
    if (text !== null) return text;
  }
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
