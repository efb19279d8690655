import type { Command } from 'commander';
import { deleteEntirely, type EntirelyDeleted, noteDeletion } from '../../app/pending-deletions.ts';
import { newCustomer } from '../../state/feed/key-changes.ts';
import type { Cli } from '../context.ts';
import type { ChangeOf } from '../../state/feed/changes.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { messageOf } from '../../state/tables/durable.ts';
import type { ChangeDoor } from '../change-door.ts';
import { acquireServerLock } from '../../state/repair/server-lock.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import { confirm } from '../confirm.ts';
import { failure, failureOf, ok, type CommandOutcome } from '../command-outcome.ts';
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
        const trimmed = nameOf(name);
        if (trimmed === null) return INVALID_NAME;
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
                suspended_at: one.suspendedAtSeconds,
              })),
            },
            tableText(
              ['Customer', 'Name', 'Created', 'Suspended'],
              all.map((one) => [
                one.id,
                one.name,
                timeText(one.createdAtSeconds),
                one.suspendedAtSeconds === null ? '' : timeText(one.suspendedAtSeconds),
              ]),
              'There are no customers yet.',
            ),
          );
        }),
      ),
    );

  addChanges(cli, customers);
  addDeletion(cli, customers);
}

function addChanges(cli: Cli, customers: Command): void {
  customers
    .command('rename <id> <name>')
    .description('change the name of a customer, which is used in listings only')
    .action((id: string, name: string) =>
      cli.run(async () => {
        const trimmed = nameOf(name);
        return trimmed === null ? INVALID_NAME : changeCustomerOf(cli, id, { name: trimmed }, null);
      }),
    );

  customers
    .command('suspend <id>')
    .description('refuse all keys of a customer at once, on every node, until --lift; nothing is deleted')
    .option('--lift', 'end the suspension: the keys count again', false)
    .option('--yes', 'skip the confirmation, which is only asked on a terminal', false)
    .action((id: string, { lift, yes }: { readonly lift: boolean; readonly yes: boolean }) =>
      cli.run(async () => {
        const question = lift || yes ? null : (name: string) => `Refuse all keys of ${name} from now on?`;
        return changeCustomerOf(cli, id, { isSuspended: !lift }, question);
      }),
    );
}

function addDeletion(cli: Cli, customers: Command): void {
  customers
    .command('delete <id>')
    .description('delete a customer with all of its data, and prove it; beside a running server, at its next start')
    .option('--yes', 'skip the confirmation; needed without a terminal', false)
    .action((id: string, { yes }: { readonly yes: boolean }) =>
      cli.run(async () => {
        const { dataDir } = cli.globals();
        return withStore(dataDir, async (store, door) => {
          const customer = store.customers.findById(id);
          if (customer === null) return failure('unknown_customer', `there is no customer ${id}`);
          const question = `Delete ${customer.name} (${id}) with all of its data? Nothing brings it back.`;
          if (!yes && !(process.stdin.isTTY && (await confirm(question))))
            return failure('not_confirmed', `${customer.name} was not deleted; without a terminal it needs --yes`);
          const locked = await acquireServerLock(dataDir, 0);
          if (locked.kind === 'fault') {
            return locked.code === 'data_dir_in_use' ? deleteLater(store, customer, door) : failureOf(locked);
          }
          const deleted = await deleteEntirely(store, customer, { by: 'cli', nowMs: Date.now() });
          // A stuck write would also block the release; the process ends instead.
          if (!(deleted.kind === 'fault' && deleted.code === 'store_stuck')) await locked.lock.release();
          return deleted.kind === 'fault' ? failureOf(deleted) : deletedText(customer, deleted);
        });
      }),
    );
}

/** Beside a server, which has parts of the rows in memory: refuses all keys at once, and leaves the rest to its next start. */
async function deleteLater(store: Store, { number, id, name }: Customer, door: ChangeDoor): Promise<CommandOutcome> {
  if ((store.positions?.read() ?? null) !== null)
    return failure(
      'cluster_member',
      'the data directory belongs to a cluster, whose other nodes would keep the customer',
    );
  const change = { kind: 'customer.changed', customer: number, isSuspended: true } as const;
  const written = await door.commit(change, { by: 'cli', nowMs: Date.now() });
  if (written.kind === 'fault') return failureOf(written);
  try {
    noteDeletion(store.dataDir, id);
  } catch (error) {
    return failure('store_write_failed', `the deletion was not recorded: ${messageOf(error)}`);
  }
  const text =
    `${name} (${id}) is suspended: its keys are refused from now on. A server runs; its next start deletes the customer, before it ` +
    'accepts requests, and logs what was removed. `gatehouse customers suspend --lift` before that calls it off.';
  return ok({ customer_id: id, name, state: 'at_next_start' }, text);
}

function deletedText({ id, name }: Customer, { tables, requestFiles }: EntirelyDeleted): CommandOutcome {
  const found = tables.filter(({ removed }) => removed > 0);
  const rows = found.map(({ environment, table, removed }) => [`${environment}/${table}`, String(removed)]);
  const text =
    `${tableText(['Table', 'Rows removed'], [...rows, ['requests/', `${requestFiles} files`]], '')}\n` +
    `${name} is deleted: ${tables.length} tables were searched again, and none has a row of ${id}.`;
  return ok({ customer_id: id, name, state: 'deleted', tables, request_files: requestFiles, rows_left: 0 }, text);
}

/** Returns null for a name that is not allowed. */
function nameOf(text: string): string | null {
  const name = text.trim();
  return name === '' || name.length > NAME_CHARACTERS_MAX ? null : name;
}

const INVALID_NAME = failure('invalid_name', `a name has 1 to ${NAME_CHARACTERS_MAX} characters`);

/** A running server refuses or accepts the keys of the customer before the command ends; `question` asks on a terminal. */
async function changeCustomerOf(
  cli: Cli,
  id: string,
  changed: Pick<ChangeOf<'customer.changed'>, 'name' | 'isSuspended'>,
  question: ((name: string) => string) | null,
): Promise<CommandOutcome> {
  return withStore(cli.globals().dataDir, async (store, door) => {
    const customer = store.customers.findById(id);
    if (customer === null) return failure('unknown_customer', `there is no customer ${id}`);
    if (question !== null && !(await confirm(question(customer.name)))) {
      return failure('not_confirmed', `${customer.name} was not changed`);
    }
    const change = { kind: 'customer.changed', customer: customer.number, ...changed } as const;
    const written = await door.commit(change, { by: 'cli', nowMs: Date.now() });
    if (written.kind === 'fault') return failureOf(written);
    return written.value === null ? failure('unknown_customer', `there is no customer ${id}`) : shown(written.value);
  });
}

function shown({ id, name, suspendedAtSeconds: since }: Customer): CommandOutcome {
  const text = `${id}  ${name}${since === null ? '' : `, suspended since ${timeText(since)}: its keys are refused`}`;
  return ok({ customer_id: id, name, suspended_at: since }, text);
}
