import { randomBytes } from 'node:crypto';
import type { CustomerId, CustomerNumber } from '../../kernel/brand.ts';
import { newId } from '../../kernel/ids.ts';
import { KEY_PREFIX_CHARACTERS, KEY_RANDOM_BYTES, type KeyTextKind, makeKeyText } from '../../kernel/key-text.ts';
import { isTestCustomer } from '../../kernel/test-customers.ts';
import type { Origin } from '../../ports/change-feed.ts';
import type { ChangeOf, Committer, KeyGrant, NewApiKey } from './changes.ts';
import type { StoreWrite } from '../tables/durable.ts';
import { type ApiKey, hashOfKey } from '../tables/key-table.ts';

/** A new pair of keys: their texts, which exist only here, and the change that stores their hashes. */
export interface NewKeyPair {
  readonly secret: string;
  readonly public: string;
  readonly change: ChangeOf<'key.created'>;
}

export interface KeyOptions {
  /** Applies to both keys; null for the default of each kind at the time of reading. */
  readonly rateLimit?: number | null;
  /** Origins of the public key, in the form of `parseOrigin`. */
  readonly origins?: readonly string[];
}

export function newKeyPair(customer: CustomerNumber, { rateLimit = null, origins = [] }: KeyOptions = {}): NewKeyPair {
  const secret = newKeyText('secret', customer);
  const open = newKeyText('public', customer);
  const keys = [newKey('secret', secret, []), newKey('public', open, origins)];
  return { secret, public: open, change: { kind: 'key.created', customer, rateLimit, keys } };
}

/** A new secret key, with a public one if it may decide, and the change that stores them. */
export interface GrantedKeys {
  readonly secret: string;
  /** Null without the scope `decide`. */
  readonly public: string | null;
  readonly change: ChangeOf<'key.granted'>;
}

export interface GrantOptions extends KeyOptions {
  /** Keys of the customer that may be valid; null for the operator. */
  readonly validKeysMax?: number | null;
  /** Prefixes of the customer's keys, which no new one may have. */
  readonly taken?: ReadonlySet<string>;
}

/** Makes the texts of keys with rights. */
export function newGrantedKeys(
  customer: CustomerNumber,
  grant: KeyGrant,
  { rateLimit = null, origins = [], validKeysMax = null, taken = NONE_TAKEN }: GrantOptions = {},
): GrantedKeys {
  const secret = newKeyText('secret', customer, taken);
  const open = grant.scopes.includes('decide') ? newKeyText('public', customer, taken) : null;
  const keys = [newKey('secret', secret, []), ...(open === null ? [] : [newKey('public', open, origins)])];
  return { secret, public: open, change: { kind: 'key.granted', customer, rateLimit, keys, grant, validKeysMax } };
}

const NONE_TAKEN: ReadonlySet<string> = new Set();

/**
 * Makes a key that replaces one, with the same rights and allowance. The key that it replaces is to be revoked, or to expire soon.
 * `validKeysMax`: the keys that the customer may have before the old one ends; null where it ends at once.
 */
export function newReplacement(
  { customer, kind, rateLimit, origins, ...key }: ApiKey,
  taken: ReadonlySet<string>,
  validKeysMax: number | null = null,
): GrantedKeys {
  const { name, scopes, expiresAtSeconds, networks } = key;
  const text = newKeyText(kind, customer, taken);
  const grant = { name, scopes, expiresAtSeconds, networks };
  const keys = [newKey(kind, text, origins)];
  // The allowance of the kind may change; that of this key may not.
  return {
    secret: text,
    public: null,
    change: { kind: 'key.granted', customer, rateLimit, keys, grant, validKeysMax },
  };
}

export interface KeyPair {
  readonly secret: { readonly text: string; readonly key: ApiKey };
  readonly public: { readonly text: string; readonly key: ApiKey };
}

/** Creates a secret and a public key, both or neither. */
export async function createKeyPair(
  changes: Committer,
  customer: CustomerNumber,
  options: KeyOptions,
  origin: Origin,
): Promise<StoreWrite<KeyPair>> {
  const made = newKeyPair(customer, options);
  const written = await changes.commit(made.change, origin);
  if (written.kind === 'fault') return written;
  const [secret, open] = written.value;
  if (secret === undefined || open === undefined) throw new Error('a pair has two keys');
  return {
    kind: 'ok',
    value: { secret: { text: made.secret, key: secret }, public: { text: made.public, key: open } },
  };
}

export function newCustomer(name: string, nowMs: number): ChangeOf<'customer.created'> {
  return { kind: 'customer.created', id: newId('cus', nowMs) as CustomerId, name };
}

function newKey(kind: KeyTextKind, text: string, origins: readonly string[]): NewApiKey {
  return { kind, hash: hashOfKey(text), prefix: text.slice(0, KEY_PREFIX_CHARACTERS), origins };
}

/** Returns the text of a test key for the number under which a customer's test keys work. */
function newKeyText(kind: KeyTextKind, customer: CustomerNumber, taken: ReadonlySet<string> = NONE_TAKEN): string {
  for (;;) {
    const text = makeKeyText(kind, randomBytes(KEY_RANDOM_BYTES), isTestCustomer(customer));
    if (text !== null && !taken.has(text.slice(0, KEY_PREFIX_CHARACTERS))) return text;
  }
}
