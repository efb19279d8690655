import { hash } from 'node:crypto';
import type { Database } from 'lmdb';
import type { CustomerNumber } from '../../kernel/brand.ts';
import {
  areUsualRights,
  DEFAULT_KEY_SCOPES,
  type KeyRights,
  PUBLIC_KEY_SCOPES,
  sortedScopes,
} from '../../kernel/key-scopes.ts';
import type { KeyTextKind } from '../../kernel/key-text.ts';
import { RATE_PUBLIC_KEY, RATE_SECRET_KEY, RATE_TEST_KEY_MAX } from '../../kernel/limits.ts';
import { isTestCustomer } from '../../kernel/test-customers.ts';
import type { Counters } from './counters.ts';
import { field, packedNumber, MAYBE_NUMBER, omittedField, packedFields, packedText } from './packed-fields.ts';
import { hexForm, type TypedTable, typedTable } from './typed-table.ts';

export interface ApiKey extends KeyRights {
  /** SHA-256 of the key's text, 64 lower-case hex digits. The text itself is not stored. */
  readonly hash: string;
  /** For a test key the number under which the customer's test keys work. */
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
  /** Given when it was made; empty for a key without a name. */
  readonly name: string;
  /** Prefix of the key that replaces it when it expires; empty without one. */
  readonly replacedBy: string;
}

/**
 * How a key is stored. `restricted`: a secret key without all usual rights. An earlier version, which knows no rights, takes it for a
 * public key: after a return to that version it can neither read nor write anything.
 */
type StoredKind = KeyTextKind | 'restricted';

/** `rateLimit` is null for the default of the kind, `scopes` for those of a key that was made without any. */
interface KeyValue extends Omit<ApiKey, 'hash' | 'kind' | 'rateLimit' | 'scopes'> {
  readonly kind: StoredKind;
  readonly rateLimit: number | null;
  readonly scopes: ApiKey['scopes'] | null;
}

type NewKey = Omit<ApiKey, 'revokedAtSeconds' | 'rateLimit' | 'replacedBy'> & { readonly rateLimit: number | null };

/** A list of texts that is left out at the end of a row when it is empty. */
const TEXTS = field(
  (stored): readonly string[] => (Array.isArray(stored) ? stored.map(String) : []),
  (texts) => (texts.length > 0 ? texts : undefined),
);

const OMITTED_TEXT = field(
  (stored) => (typeof stored === 'string' ? stored : ''),
  (text) => (text === '' ? undefined : text),
);

const VALUE = packedFields<KeyValue>({
  customer: packedNumber(),
  kind: field((stored) => (stored === 'secret' || stored === 'restricted' ? stored : 'public')),
  prefix: packedText(),
  rateLimit: MAYBE_NUMBER,
  createdAtSeconds: packedNumber(),
  revokedAtSeconds: MAYBE_NUMBER,
  number: packedNumber(),
  // Rows of keys without origins end before this field, as all rows of earlier versions do.
  origins: TEXTS,
  name: OMITTED_TEXT,
  scopes: field(
    (stored) => (Array.isArray(stored) ? sortedScopes(stored as ApiKey['scopes']) : null),
    (scopes) => scopes ?? undefined,
  ),
  expiresAtSeconds: omittedField(MAYBE_NUMBER),
  networks: TEXTS,
  replacedBy: OMITTED_TEXT,
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
    const isRestricted = given.kind === 'secret' && !areUsualRights(given);
    const kind = isRestricted ? 'restricted' : given.kind;
    const scopes = isRestricted ? given.scopes : null;
    const value = { ...given, kind, scopes, revokedAtSeconds: null, replacedBy: '' } as const;
    this.#table.put(keyHash, value);
    return present(keyHash, value);
  }

  /** For `apply`, inside its transaction. Returns the number of keys of the customer that are valid at that time. */
  countValid(customer: CustomerNumber, atSeconds: number): number {
    let valid = 0;
    for (const [, key] of this.#table.range({})) {
      if (key.customer === customer && !isKeyOver(key, atSeconds)) valid++;
    }
    return valid;
  }

  /** For `apply`, inside its transaction. Returns the key as revoked now; null if it is unknown or already revoked. */
  markRevoked(keyHash: string, atSeconds: number): ApiKey | null {
    const before = this.#table.get(keyHash);
    if (before === null || before.revokedAtSeconds !== null) return null;
    const value = { ...before, revokedAtSeconds: atSeconds };
    this.#table.put(keyHash, value);
    return present(keyHash, value);
  }

  /**
   * For `apply`, inside its transaction. Makes the key expire at that time, unless it does before. Returns the key as it is now; null if it
   * is unknown or revoked.
   */
  markReplaced(keyHash: string, replacedBy: string, endSeconds: number): ApiKey | null {
    const before = this.#table.get(keyHash);
    if (before === null || before.revokedAtSeconds !== null) return null;
    const { scopes } = present(keyHash, before);
    const expiresAtSeconds = Math.min(before.expiresAtSeconds ?? Infinity, endSeconds);
    // An earlier version knows no expiry.
    const form = before.kind === 'public' ? {} : ({ kind: 'restricted', scopes } as const);
    const value = { ...before, ...form, expiresAtSeconds, replacedBy };
    this.#table.put(keyHash, value);
    return present(keyHash, value);
  }
}

/** Returns whether a key was revoked or has expired. */
export function isKeyOver(
  { revokedAtSeconds, expiresAtSeconds }: Pick<ApiKey, 'revokedAtSeconds' | 'expiresAtSeconds'>,
  nowSeconds: number,
): boolean {
  return revokedAtSeconds !== null || (expiresAtSeconds !== null && expiresAtSeconds <= nowSeconds);
}

export function hashOfKey(text: string): string {
  return hash('sha256', text, 'hex');
}

function present(keyHash: string, value: KeyValue): ApiKey {
  const kind = value.kind === 'public' ? 'public' : 'secret';
  const usual = kind === 'secret' ? RATE_SECRET_KEY : RATE_PUBLIC_KEY;
  const scopes = value.scopes ?? (kind === 'secret' ? DEFAULT_KEY_SCOPES : PUBLIC_KEY_SCOPES);
  const given = value.rateLimit ?? usual;
  const rateLimit = isTestCustomer(value.customer) ? Math.min(given, RATE_TEST_KEY_MAX) : given;
  return { hash: keyHash, ...value, kind, scopes, rateLimit };
}
