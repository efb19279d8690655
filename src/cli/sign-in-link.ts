import type { Store } from '../state/feed/open-store.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import { type ApiKey, isKeyOver } from '../state/tables/key-table.ts';
import { failure, type CommandError } from './command-outcome.ts';
import { ServerConnection } from './server-connection.ts';

/** A link that signs in to the dashboard once, as the customer's newest secret key that may write, or else read. */
export interface MadeLink {
  readonly kind: 'link';
  readonly url: string;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly customer: Customer;
  readonly key: ApiKey;
}

/** Asks the server that runs on the data directory. `customerId` is needed if there are several customers. */
export async function makeSignInLink(store: Store, customerId: string | null): Promise<MadeLink | CommandError> {
  const all = store.customers.all();
  const [only] = all;
  if (customerId === null && all.length > 1) {
    return failure('customer_required', `there are ${all.length} customers; name one by --customer`);
  }
  const customer = customerId === null ? only : all.find(({ id }) => id === customerId);
  if (customer === undefined) return failure('unknown_customer', `there is no customer ${customerId ?? 'yet'}`);
  const nowSeconds = Date.now() / 1_000;
  const keys = store.apiKeys
    .loadAll()
    .filter((one) => one.customer === customer.number && canSignIn(one) && !isKeyOver(one, nowSeconds));
  // The operator may change what a key that only reads may not.
  const key = keys.findLast(({ scopes }) => scopes.includes('write')) ?? keys.at(-1);
  if (key === undefined) return failure('no_key', `${customer.name} has no valid secret key with the scope read`);
  const server = await ServerConnection.open(store.dataDir);
  const reply = (await server?.askForLink({ link: { keyHash: key.hash } })) ?? null;
  if (reply === null) return failure('no_server', 'no server runs on this data directory; start it first');
  if (reply.kind === 'fault') return failure(reply.code, reply.detail);
  const { url, expiresAtMs } = reply.value;
  return { kind: 'link', url, expiresAt: Math.floor(expiresAtMs / 1000), customer, key };
}

/** As the server has it: a page of the dashboard shows nothing without the scope `read`. */
function canSignIn({ kind, scopes }: ApiKey): boolean {
  return kind === 'secret' && scopes.includes('read');
}
