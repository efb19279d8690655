import type { CustomerNumber } from '../../kernel/brand.ts';
import type { ApiKey } from '../key-table.ts';
import type { Apply } from './applying.ts';

/** Customers and their keys. */

export const createCustomer: Apply<'customer.created'> = ({ tables, nowSeconds }, { id, name }) => {
  const number = tables.counters.rise('customers') as CustomerNumber;
  const customer = { number, id, name, createdAtSeconds: nowSeconds };
  tables.customers.insert(customer);
  return customer;
};

export const createKeys: Apply<'key.created'> = ({ tables, nowSeconds }, { customer, rateLimit, keys }) => {
  const made: ApiKey[] = [];
  for (const key of keys) {
    const number = tables.counters.rise('keyNumbers');
    made.push(tables.apiKeys.insert({ ...key, customer, rateLimit, createdAtSeconds: nowSeconds, number }));
  }
  tables.counters.rise('keysVersion');
  return made;
};

export const revokeKey: Apply<'key.revoked'> = ({ tables, nowSeconds }, { hash }) => {
  const revoked = tables.apiKeys.markRevoked(hash, nowSeconds);
  if (revoked === null) return tables.apiKeys.find(hash) === null ? 'unknown' : 'already_revoked';
  tables.counters.rise('keysVersion');
  return 'revoked';
};

export const revokeAgain: Apply<'keys.revoked_again'> = ({ tables }, { revocations }) => {
  let revoked = 0;
  for (const [hash, atSeconds] of revocations) {
    if (tables.apiKeys.markRevoked(hash, atSeconds) !== null) revoked++;
  }
  if (revoked > 0) tables.counters.rise('keysVersion');
  return revoked;
};
