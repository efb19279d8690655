import type { CustomerNumber } from '../kernel/brand.ts';
import type { KeyUse, KeyUseReader } from '../ports/key-use.ts';
import { RATE_MANAGEMENT } from '../kernel/limits.ts';
import { QUERIES, ROUTES } from '../contract/routes.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import type { ApiKey, ApiKeys } from '../state/tables/key-table.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest } from './kit/endpoint-types.ts';
import { type Cursors, FOREIGN_CURSOR, readPage } from './kit/paging.ts';
import { pageAnswer } from './kit/response-pieces.ts';
import { readPlace, writePlace } from './decision-query.ts';
import type { OwnPolicies } from './own-policies.ts';

/** Dependencies of the endpoints about the customer itself. Source: contract, 9.7. */
export interface AccountParts {
  readonly findCustomer: (customer: CustomerNumber) => Customer | null;
  readonly policies: Pick<OwnPolicies, 'present'>;
  readonly apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>;
  readonly keyUse: KeyUseReader;
  readonly cursors: Cursors;
  /** Version of the service. */
  readonly version: string;
}

const KEYS_ROUTE = ROUTES.listKeys.path;

export function accountHandlers(
  endpoint: EndpointFactory,
  { findCustomer, policies, apiKeys, keyUse, cursors, version }: AccountParts,
): SecretHandlers<'readMe' | 'listKeys'> {
  const keys = new KeysByCustomer(apiKeys);

  const readMe: EndpointHandler = ({ caller, nowSeconds }) => {
    const { customer, key } = caller;
    const known = findCustomer(customer);
    // Only a damaged store has a key without its customer.
    if (known === null) return { kind: 'problem', problem: problem('internal_error', 'The customer cannot be read.') };
    const { view } = policies.present(customer);
    const policy = {
      version: view.version,
      mode: view.policyOf('').mode,
      challenger: view.challenger()?.version ?? null,
    };
    const body = {
      customer_id: known.id,
      name: known.name,
      created_at: known.createdAtSeconds,
      key_prefix: key.prefix,
      key_kind: key.kind,
      rate_limit: key.rateLimit,
      management_rate_limit: RATE_MANAGEMENT,
      policy,
      service_version: version,
      server_time: nowSeconds,
    };
    return { kind: 'json', status: 200, body };
  };

  const listKeys: EndpointHandler = async (request) => {
    const read = readPage(request, cursors, KEYS_ROUTE, QUERIES.listKeys);
    if (read.kind === 'problem') return read;
    const [after] = read.after === null ? [0] : (readPlace(read.after, 1) ?? []);
    if (after === undefined) return FOREIGN_CURSOR;
    const { customer } = request.caller;
    const later = keys.of(customer).filter(({ number }) => number > after);
    const rows = later.slice(0, read.limit);
    const last = rows.at(-1);
    const hasMore = later.length > rows.length && last !== undefined;
    const next = hasMore ? cursors.issue(KEYS_ROUTE, customer, writePlace(last.number)) : null;
    const numbers = rows.map(({ number }) => number);
    const uses = await keyUse.readAll(numbers, request.nowSeconds, request.coverage);
    const used = rows.flatMap((key, at) => {
      const use = uses[at];
      return use === undefined ? [] : [{ key, use }];
    });
    return pageAnswer(request.slices, used, ({ key, use }) => showKey(key, use, request), next);
  };

  return { readMe: endpoint({}, readMe), listKeys: endpoint({}, listKeys) };
}

function showKey(
  key: ApiKey,
  { calls, refusals, lastUsedSeconds, sinceSeconds }: KeyUse,
  { caller }: EndpointRequest,
): Readonly<Record<string, unknown>> {
  return {
    prefix: key.prefix,
    kind: key.kind,
    created_at: key.createdAtSeconds,
    revoked_at: key.revokedAtSeconds,
    rate_limit: key.rateLimit,
    origins: key.origins,
    is_current: key.number === caller.key.number,
    usage: { since: sinceSeconds, calls, refusals: Object.fromEntries(refusals), last_used_at: lastUsedSeconds },
  };
}

/** The stored keys by customer, read again when any key has changed, as the key cache is. */
class KeysByCustomer {
  readonly #apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>;
  #version = -1;
  #keys: ReadonlyMap<CustomerNumber, readonly ApiKey[]> = new Map();

  constructor(apiKeys: Pick<ApiKeys, 'version' | 'loadAll'>) {
    this.#apiKeys = apiKeys;
  }

  /** In the order of their creation. */
  of(customer: CustomerNumber): readonly ApiKey[] {
    const version = this.#apiKeys.version();
    if (version !== this.#version) {
      const keys = new Map<CustomerNumber, ApiKey[]>();
      for (const key of this.#apiKeys.loadAll()) keys.set(key.customer, [...(keys.get(key.customer) ?? []), key]);
      this.#keys = keys;
      this.#version = version;
    }
    return this.#keys.get(customer) ?? [];
  }
}
