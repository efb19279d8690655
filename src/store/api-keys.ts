import { hash, randomBytes } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import { pack, unpack } from '../base/pack.ts';
import { KEY_PREFIX_CHARACTERS, KEY_RANDOM_BYTES, type KeyKind, makeKeyText } from '../core/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY } from '../limits.ts';
import type { Counters } from './counters.ts';
import { durably, fault, messageOf, type StoreWrite } from './durable.ts';
import type { RevocationFile, Revocations } from './revocations.ts';
import { withoutSum, withSum } from './value.ts';

export interface ApiKey {
  /** SHA-256 of the key's text, 64 lower-case hex digits. The text itself is not kept. */
  readonly hash: string;
  readonly customer: CustomerNumber;
  readonly kind: KeyKind;
  /** The first 12 characters, for listings. */
  readonly prefix: string;
  /** Requests in one rate window. */
  readonly rateLimit: number;
  readonly createdAtSeconds: number;
  readonly revokedAtSeconds: number | null;
  /** Unique, never given out again: the scope of the key's replay ids and of its rate window. */
  readonly number: number;
}

export interface NewKey {
  /** The only time that the text is seen. */
  readonly text: string;
  readonly key: ApiKey;
}

export interface KeyPair {
  readonly secret: NewKey;
  readonly public: NewKey;
}

/** Place of the time of revocation among a row's fields. */
const REVOKED_AT = 5;

export type Revocation = 'revoked' | 'already_revoked' | 'unknown';

/** API keys by the SHA-256 of their text. `version()` rises with every change, so a server that polls it needs no other sign. */
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

  /** A secret and a public key, both or none. `rateLimit` is for both; `null` keeps each kind's default at the time it is read. */
  createPair(customer: CustomerNumber, rateLimit: number | null, nowSeconds: number): Promise<StoreWrite<KeyPair>> {
    const secret = newKeyText('secret');
    const open = newKeyText('public');
    return durably(this.#root, () => {
      const pair = {
        secret: this.#put(secret, 'secret', customer, rateLimit, nowSeconds),
        public: this.#put(open, 'public', customer, rateLimit, nowSeconds),
      };
      this.#counters.rise('keysVersion');
      return pair;
    });
  }

  /**
   * Revokes for good: the revocation is synced to a file of its own before it is written here, so that it also counts in a `state`
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

  /** Marks as revoked those of the keys that are here and live. Resolves to their number. */
  revokeAll(revocations: Revocations): Promise<StoreWrite<number>> {
    return durably(this.#root, () => {
      let revoked = 0;
      for (const [keyHash, atSeconds] of revocations) if (this.#putRevoked(keyHash, atSeconds)) revoked++;
      if (revoked > 0) this.#counters.rise('keysVersion');
      return revoked;
    });
  }

  /** Makes this table and the file of revocations agree: what either has revoked is revoked in both. Resolves to the keys changed here. */
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

  /** Rises with every change. Read it before `loadAll`, so that a change in between is seen at the next poll. */
  version(): number {
    return this.#counters.get('keysVersion');
  }

  /** All keys, revoked ones too, in the order they were made: for the server's keyring and for listings. */
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

  /** Only inside a write transaction. False where the key is unknown or revoked already. */
  #putRevoked(keyHash: string, atSeconds: number): boolean {
    const fields = this.#stored(keyHash);
    if (fields === null || fields[REVOKED_AT] !== null) return false;
    fields[REVOKED_AT] = atSeconds;
    const key = Buffer.from(keyHash, 'hex');
    void this.#table.put(key, withSum(key, pack(fields)));
    return true;
  }

  #put(text: string, kind: KeyKind, customer: CustomerNumber, rateLimit: number | null, nowSeconds: number): NewKey {
    const keyHash = hashOfKey(text);
    const key = Buffer.from(keyHash, 'hex');
    const prefix = text.slice(0, KEY_PREFIX_CHARACTERS);
    const number = this.#counters.rise('keyNumbers');
    const stored = withSum(key, pack([customer, kind, prefix, rateLimit, nowSeconds, null, number]));
    void this.#table.put(key, stored);
    return { text, key: decode(keyHash, stored) };
  }
}

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
  const [customer, kind, prefix, rateLimit, created, revoked, number] = unpack(withoutSum(stored));
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
  };
}
