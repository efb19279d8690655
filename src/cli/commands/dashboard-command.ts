import type { Store } from '../../state/feed/open-store.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { ServerConnection } from '../server-connection.ts';
import { timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

export function addDashboard(cli: Cli): void {
  const dashboard = cli.program.command('dashboard').description('the dashboard of the running server');

  dashboard
    .command('link')
    .description('print a link that signs in once, within 10 minutes')
    .option('--customer <id>', "the customer's id, cus_…; not needed if there is only one customer")
    .action(({ customer }: { readonly customer?: string }) =>
      cli.run(async () => withStore(cli.globals().dataDir, (store) => printLink(store, customer ?? null))),
    );
}

/** The link stands for the customer's newest secret key, which ends the session when it is revoked. */
async function printLink(store: Store, customerId: string | null): Promise<CommandOutcome> {
  const all = store.customers.all();
  const [only] = all;
  if (customerId === null && all.length > 1) {
    return failure('customer_required', `there are ${all.length} customers; name one by --customer`);
  }
  const customer = customerId === null ? only : all.find(({ id }) => id === customerId);
  if (customer === undefined) return failure('unknown_customer', `there is no customer ${customerId ?? 'yet'}`);
  const key = store.apiKeys.loadAll().findLast(({ customer: owner, kind, revokedAtSeconds }) => {
    return owner === customer.number && kind === 'secret' && revokedAtSeconds === null;
  });
  if (key === undefined) return failure('no_key', `${customer.name} has no secret key that is valid`);
  const server = await ServerConnection.open(store.dataDir);
  const reply = (await server?.askForLink({ link: { keyHash: key.hash } })) ?? null;
  if (reply === null) return failure('no_server', 'no server runs on this data directory; start it first');
  if (reply.kind === 'fault') return failure(reply.code, reply.detail);
  const { url, expiresAtMs } = reply.value;
  const expiresAt = Math.floor(expiresAtMs / 1000);
  return ok(
    { url, expires_at: expiresAt, customer_id: customer.id, key_prefix: key.prefix },
    `${url}\nSigns in as ${customer.name} (${key.prefix}…), once, until ${timeText(expiresAt)}.`,
  );
}
