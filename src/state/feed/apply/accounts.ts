import type { CustomerNumber } from '../../../kernel/brand.ts';
import { DEFAULT_KEY_SCOPES, PUBLIC_KEY_SCOPES } from '../../../kernel/key-scopes.ts';
import { isTestCustomer, liveCustomerOf } from '../../../kernel/test-customers.ts';
import type { KeyGrant, NewApiKey } from '../changes.ts';
import type { ApiKey } from '../../tables/key-table.ts';
import type { Applying, Apply } from './applying.ts';
import { NO_CUSTOMER } from '../../tables/audit-table.ts';
import { record } from './audit-record.ts';

/** Customers and their keys. */

export const createCustomer: Apply<'customer.created'> = (at, { id, name }) => {
  const { tables, nowSeconds } = at;
  const number = tables.counters.rise('customers') as CustomerNumber;
  const customer = { number, id, name, createdAtSeconds: nowSeconds, suspendedAtSeconds: null };
  tables.customers.insert(customer);
  record(at, number, { kind: 'customer.created', target: id, after: { name } });
  return customer;
};

export const changeCustomer: Apply<'customer.changed'> = (at, { customer: number, name, isSuspended }) => {
  const { tables, nowSeconds } = at;
  const before = tables.customers.find(number);
  if (before === null) return null;
  const wasSuspended = before.suspendedAtSeconds !== null;
  const suspended = isSuspended ?? wasSuspended;
  const since = suspended ? (before.suspendedAtSeconds ?? nowSeconds) : null;
  const customer = { ...before, name: name ?? before.name, suspendedAtSeconds: since };
  if (customer.name === before.name && suspended === wasSuspended) return before;
  tables.customers.replace(customer);
  // Servers read the keys again.
  if (suspended !== wasSuspended) tables.counters.rise('keysVersion');
  record(at, number, {
    kind: 'customer.changed',
    target: before.id,
    before: { name: before.name, suspended: wasSuspended },
    after: { name: customer.name, suspended },
  });
  return customer;
};

export const deleteCustomerRow: Apply<'customer.deleted'> = (at, { customer, id, rows }) => {
  if (!at.tables.customers.remove(customer)) return false;
  // Servers read the keys again.
  at.tables.counters.rise('keysVersion');
  record(at, NO_CUSTOMER, { kind: 'customer.deleted', target: id, after: { rows } });
  return true;
};

const USUAL_GRANT: KeyGrant = { name: '', scopes: DEFAULT_KEY_SCOPES, expiresAtSeconds: null, networks: [] };

export const createKeys: Apply<'key.created'> = (at, { customer, rateLimit, keys }) =>
  insertKeys(at, { customer, rateLimit }, keys, USUAL_GRANT);

export const grantKeys: Apply<'key.granted'> = (at, { customer, rateLimit, keys, grant, validKeysMax }) => {
  const { tables, nowSeconds } = at;
  const isFull = validKeysMax !== null && tables.apiKeys.countValid(customer, nowSeconds) + keys.length > validKeysMax;
  return isFull ? 'limit_reached' : insertKeys(at, { customer, rateLimit }, keys, grant);
};

function insertKeys(
  at: Applying,
  { customer, rateLimit }: { readonly customer: CustomerNumber; readonly rateLimit: number | null },
  keys: readonly NewApiKey[],
  grant: KeyGrant,
): readonly ApiKey[] {
  const { tables, nowSeconds } = at;
  const made: ApiKey[] = [];
  for (const key of keys) {
    // A text is made once: another creation would make a revoked key valid.
    const before = tables.apiKeys.find(key.hash);
    if (before !== null) {
      made.push(before);
      continue;
    }
    const number = tables.counters.rise('keyNumbers');
    // Browsers present a public key, from every address.
    const rights = key.kind === 'secret' ? grant : { ...grant, scopes: PUBLIC_KEY_SCOPES, networks: NO_NETWORKS };
    made.push(tables.apiKeys.insert({ ...key, ...rights, customer, rateLimit, createdAtSeconds: nowSeconds, number }));
    const after = {
      kind: key.kind,
      ...(isTestCustomer(customer) && { test: true }),
      rate_limit: rateLimit,
      origins: key.origins,
      ...factsOf(grant, rights),
    };
    record(at, liveCustomerOf(customer), { kind: 'key.created', target: key.prefix, after });
  }
  tables.counters.rise('keysVersion');
  return made;
}

const NO_NETWORKS: readonly string[] = [];

/** The facts of a key that was made without a name and rights are as before. */
function factsOf(
  grant: KeyGrant,
  { name, scopes, expiresAtSeconds, networks }: KeyGrant,
): Readonly<Record<string, unknown>> {
  return grant === USUAL_GRANT ? {} : { name, scopes, expires_at: expiresAtSeconds, networks };
}

export const revokeKey: Apply<'key.revoked'> = (at, { hash }) => {
  if (revoke(at, hash, at.nowSeconds)) {
    at.tables.counters.rise('keysVersion');
    return 'revoked';
  }
  return at.tables.apiKeys.find(hash) === null ? 'unknown' : 'already_revoked';
};

export const replaceKey: Apply<'key.replaced'> = (at, { hash, replacedBy, endSeconds }) => {
  const { tables } = at;
  const before = tables.apiKeys.find(hash);
  const key = tables.apiKeys.markReplaced(hash, replacedBy, endSeconds);
  if (before === null || key === null) return null;
  tables.counters.rise('keysVersion');
  record(at, key.customer, {
    kind: 'key.replaced',
    target: key.prefix,
    before: { expires_at: before.expiresAtSeconds },
    after: { expires_at: key.expiresAtSeconds, replaced_by: replacedBy },
  });
  return key;
};

export const revokeAgain: Apply<'keys.revoked_again'> = (at, { revocations }) => {
  const revoked = revocations.filter(([hash, atSeconds]) => revoke(at, hash, atSeconds)).length;
  if (revoked > 0) at.tables.counters.rise('keysVersion');
  return revoked;
};

function revoke(at: Applying, hash: string, atSeconds: number): boolean {
  const key = at.tables.apiKeys.markRevoked(hash, atSeconds);
  if (key === null) return false;
  const after = { kind: key.kind, revoked_at: atSeconds };
  record(at, liveCustomerOf(key.customer), {
    kind: 'key.revoked',
    target: key.prefix,
    before: { kind: key.kind },
    after,
  });
  return true;
}
