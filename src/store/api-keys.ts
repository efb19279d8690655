import { hash, randomBytes } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import type { CustomerNumber } from '../base/brand.ts';
import { pack, unpack } from '../base/pack.ts';
import { KEY_PREFIX_CHARACTERS, KEY_RANDOM_BYTES, type KeyKind, makeKeyText } from '../core/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY } from '../limits.ts';
import type { Counters } from './counters.ts';
import { durably, type StoreWrite } from './durable.ts';
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

export type Revocation = 'revoked' | 'already_revoked' | 'unknown';

/** API keys by the SHA-256 of their text. `version()` rises with every change, so a server that polls it needs no other sign. */
export class ApiKeys {
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #table: Database<Buffer, Buffer>;
  readonly #counters: Counters;

  constructor(root: RootDatabase<Buffer, Buffer>, table: Database<Buffer, Buffer>, counters: Counters) {
    this.#root = root;
    this.#table = table;
    this.#counters = counters;
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

  revoke(keyHash: string, nowSeconds: number): Promise<StoreWrite<Revocation>> {
    return durably(this.#root, () => {
      const key = Buffer.from(keyHash, 'hex');
      const stored = key.length === 32 ? this.#table.getBinary(key) : undefined;
      if (stored === undefined) return 'unknown';
      const fields = [...unpack(withoutSum(stored))];
      if (fields[5] !== null) return 'already_revoked';
      fields[5] = nowSeconds;
      void this.#table.put(key, withSum(key, pack(fields)));
      this.#counters.rise('keysVersion');
      return 'revoked';
    });
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
