import type { Store } from '../../state/feed/open-store.ts';
import type { Cli } from '../context.ts';
import { ok, type CommandOutcome } from '../command-outcome.ts';
import { makeSignInLink } from '../sign-in-link.ts';
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

/** The link stands for the customer's newest secret key that may write, which ends the session when it is revoked. */
async function printLink(store: Store, customerId: string | null): Promise<CommandOutcome> {
  const made = await makeSignInLink(store, customerId);
  if (made.kind === 'error') return made;
  const { url, expiresAt, customer, key } = made;
  return ok(
    { url, expires_at: expiresAt, customer_id: customer.id, key_prefix: key.prefix },
    `${url}\nSigns in as ${customer.name} (${key.prefix}…), once, until ${timeText(expiresAt)}.`,
  );
}
