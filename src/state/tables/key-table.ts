import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { KeyTextKind } from '../../kernel/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY } from '../../kernel/limits.ts';
import type { Counters } from './counters.ts';
import { field, packedNumber, MAYBE_NUMBER, packedFields, packedText } from './packed-fields.ts';
import { hexForm, type TypedTable, typedTable } from './typed-table.ts';

export interface ApiKey {
  /** SHA-256 of the key's text, 64 lower-case hex digits. The text itself is not stored. */
  readonly hash: string;
  readonly customer: CustomerNumber;
  readonly kind: KeyTextKind;
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

/** `rateLimit` is null for the default of the kind. */
type KeyValue = Omit<ApiKey, 'hash' | 'rateLimit'> & { readonly rateLimit: number | null };
type NewKey = Omit<KeyValue, 'revokedAtSeconds'> & Pick<ApiKey, 'hash'>;

const VALUE = packedFields<KeyValue>({
  customer: packedNumber(),
  kind: field((stored) => (stored === 'secret' ? 'secret' : 'public')),
  prefix: packedText(),
  rateLimit: MAYBE_NUMBER,
  createdAtSeconds: packedNumber(),
  revokedAtSeconds: MAYBE_NUMBER,
  number: packedNumber(),
  // Rows of keys without origins end before this field, as all rows of earlier versions do.
  origins: field(
    (stored) => (Array.isArray(stored) ? stored.map(String) : []),
    (origins) => (origins.length > 0 ? origins : undefined),
  ),
});

/**
 * API keys by the SHA-256 of their text. `version()` increases with every change, so a server that polls it needs no other notification.
 */
export class ApiKeys {
  readonly #table: TypedTable<string, KeyValue>;
  readonly #counters: Counters;

  constructor(database: Database<Buffer, Buffer>, counters: Counters) {
    this.#table = typedTable({ database, key: hexForm(32), value: VALUE });
    this.#counters = counters;
  }

  /** Increases with every change. Read it before `loadAll`, so that a change in between is detected at the next poll. */
  version(): number {
    return this.#counters.get('keysVersion');
  }

  /** Returns all keys, including revoked ones, in the order of their creation: for the server's key cache and for listings. */
  loadAll(): ApiKey[] {
    return Array.from(this.#table.range({}), ([keyHash, value]) => present(keyHash, value)).sort(
      (a, b) => a.number - b.number,
    );
  }

  find(keyHash: string): ApiKey | null {
    const value = this.#table.get(keyHash);
    return value && present(keyHash, value);
  }

  /** For `apply`, inside its transaction. */
  insert({ hash: keyHash, ...given }: NewKey): ApiKey {
    const value = { ...given, revokedAtSeconds: null };
    this.#table.put(keyHash, value);
    return present(keyHash, value);
  }

  /** For `apply`, inside its transaction. Returns the key as revoked now; null if it is unknown or already revoked. */
  markRevoked(keyHash: string, atSeconds: number): ApiKey | null {
    const before = this.#table.get(keyHash);
    if (before === null || before.revokedAtSeconds !== null) return null;
    const value = { ...before, revokedAtSeconds: atSeconds };
    this.#table.put(keyHash, value);
    return present(keyHash, value);
  }
}

export function hashOfKey(text: string): string {
  return hash('sha256', text, 'hex');
}

function present(keyHash: string, value: KeyValue): ApiKey {
  const usual = value.kind === 'secret' ? RATE_SECRET_KEY : RATE_PUBLIC_KEY;
  return { hash: keyHash, ...value, rateLimit: value.rateLimit ?? usual };
}
