import type { CustomerNumber } from '../kernel/brand.ts';
import { sortedScopes } from '../kernel/key-scopes.ts';
import { RATE_MANAGEMENT } from '../kernel/limits.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { problem } from '../contract/problem.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import type { OwnPolicies } from './own-policies.ts';

/** Dependencies of the endpoints about the customer itself. Source: contract, 9.7. */
export interface AccountParts {
  readonly findCustomer: (customer: CustomerNumber) => Customer | null;
  readonly policies: Pick<OwnPolicies, 'present'>;
  /** Version of the service. */
  readonly version: string;
}

export function accountHandlers(
  endpoint: EndpointFactory,
  { findCustomer, policies, version }: AccountParts,
): SecretHandlers<'readMe'> {
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
      test: isTestCustomer(customer),
      scopes: sortedScopes(key.scopes),
      rate_limit: key.rateLimit,
      management_rate_limit: RATE_MANAGEMENT,
      policy,
      service_version: version,
      server_time: nowSeconds,
    };
    return { kind: 'json', status: 200, body };
  };

  return { readMe: endpoint({}, readMe) };
}
