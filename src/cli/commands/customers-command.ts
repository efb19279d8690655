import { newCustomer } from '../../state/feed/key-changes.ts';
import type { Cli } from '../context.ts';
import { failure, failureOf, ok } from '../command-outcome.ts';
import { tableText, timeText } from '../text-table.ts';
import { withNewStore, withStore } from '../with-store.ts';

/** Choice: a name is only used in listings. */
const NAME_CHARACTERS_MAX = 200;

export function addCustomers(cli: Cli): void {
  const customers = cli.program.command('customers').description('the customers of this installation');

  customers
    .command('create <name>')
    .description('create a customer')
    .action((name: string) =>
      cli.run(async () => {
        const trimmed = name.trim();
        if (trimmed === '' || trimmed.length > NAME_CHARACTERS_MAX) {
          return failure('invalid_name', `a name has 1 to ${NAME_CHARACTERS_MAX} characters`);
        }
        return withNewStore(cli.globals().dataDir, async (_store, door) => {
          const nowMs = Date.now();
          const made = await door.commit(newCustomer(trimmed, nowMs), { by: 'cli', nowMs });
          if (made.kind === 'fault') return failureOf(made);
          return ok({ customer_id: made.value.id, name: made.value.name }, `${made.value.id}  ${made.value.name}`);
        });
      }),
    );

  customers
    .command('list')
    .description('list the customers')
    .action(() =>
      cli.run(async () =>
        withStore(cli.globals().dataDir, (store) => {
          const all = store.customers.all();
          return ok(
            {
              customers: all.map((one) => ({
                customer_id: one.id,
                name: one.name,
                created_at: one.createdAtSeconds,
              })),
            },
            tableText(
              ['Customer', 'Name', 'Created'],
              all.map((one) => [one.id, one.name, timeText(one.createdAtSeconds)]),
              'There are no customers yet.',
            ),
          );
        }),
      ),
    );
}
