import { readFile } from 'node:fs/promises';
import { noteText } from '../../assets/policy-read.ts';
import { listsNamedIn } from '../../risk/policy/rule-lists.ts';
import type { OwnRule } from '../../risk/policy/own-rule.ts';
import { messageOf } from '../../state/tables/durable.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import type { ChangeDoor } from '../change-door.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { withStore } from '../with-store.ts';

interface Words {
  readonly customer: string;
}

export function addRules(cli: Cli): void {
  const rules = cli.program.command('rules').description("customers' own rules of the API");

  rules
    .command('export')
    .description('print the rules of a customer as a policy file has them')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .action(({ customer }: Words) =>
      cli.run(() => forCustomer(cli, customer, (store, found) => Promise.resolve(exportRules(store, found)))),
    );

  rules
    .command('import <file>')
    .description('write the rules of a file, each instead of the one with its code; all are checked before')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .option('--dry-run', 'only check the file', false)
    .action((file: string, { customer, dryRun }: Words & { readonly dryRun: boolean }) =>
      cli.run(() =>
        forCustomer(cli, customer, async (store, found, door) => {
          const read = await readRules(file, found.id, cli.io.env['GATEHOUSE_POLICY_FILE']);
          if ('kind' in read) return read;
          const missing = missingLists(store, found, read);
          if (missing.length > 0)
            return failure('unknown_list', `there are no named lists ${missing.join(', ')}; nothing was written`);
          return dryRun ? checked(read) : importRules(door, found, read);
        }),
      ),
    );
}

async function forCustomer(
  cli: Cli,
  id: string,
  work: (store: Store, customer: Customer, door: ChangeDoor) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  return withStore(cli.globals().dataDir, async (store, door) => {
    const customer = store.customers.findById(id);
    if (customer === null) return failure('unknown_customer', `there is no customer ${id}`);
    return work(store, customer, door);
  });
}

function exportRules(store: Store, { number }: Customer): CommandOutcome {
  const { rules, unreadable } = store.rules.of(number);
  const json = { rules: rules.map(toFile) };
  const left = unreadable === 0 ? '' : `\n${unreadable} stored rules cannot be read and are not in it.`;
  return ok(json, `${JSON.stringify(json, null, 2)}${left}`, unreadable > 0);
}

/** A rule as a policy file has it, without what is the default. */
function toFile(rule: OwnRule): object {
  const { code, when, weight, decision, mode, eventTypes, note, expiresAtSeconds, predicted } = rule;
  return {
    code,
    when,
    ...(weight === null ? { decision } : { weight }),
    mode,
    ...(eventTypes !== null && { event_types: eventTypes }),
    ...(note !== '' && { note }),
    ...(expiresAtSeconds !== null && { expires_at: expiresAtSeconds }),
    ...(predicted !== undefined && { predicted }),
  };
}

/** Reads and checks the rules of a file, with the attributes that the file or the server's policy file declares. */
async function readRules(
  file: string,
  customerId: string,
  policyFile: string | undefined,
): Promise<readonly OwnRule[] | CommandOutcome> {
  // The schema is loaded only for this command.
  const { parsePolicy } = await import('../../risk/policy/policy-check.ts');
  let given: unknown;
  let policy: Fields = {};
  try {
    given = JSON.parse(await readFile(file, 'utf8'));
    if (policyFile) policy = JSON.parse(await readFile(policyFile, 'utf8')) as Fields;
  } catch (error) {
    return failure('unreadable_file', `the file cannot be read: ${messageOf(error)}`);
  }
  const { rules, attributes = {} } = Array.isArray(given) ? { rules: given as unknown } : (Object(given) as Fields);
  const customers = Object(policy['customers']) as Fields;
  const own = Object(customers[customerId]) as Fields;
  const declared = { ...Object(policy['attributes']), ...Object(own['attributes']), ...Object(attributes) } as Fields;
  const parsed = parsePolicy(JSON.stringify({ attributes: declared, rules: rules ?? null }));
  if (parsed.kind === 'ok') return parsed.document.rules ?? [];
  const errors = parsed.faults.map(({ pointer, message }) => ({ pointer, code: 'invalid_value', message }));
  return { kind: 'error', code: 'invalid_rules', message: parsed.faults.map(noteText).join('\n'), errors };
}

/** Returns the named lists that rules name and the customer does not have. */
function missingLists({ namedLists }: Store, { number }: Customer, rules: readonly OwnRule[]): readonly string[] {
  const known = new Set(namedLists.of(number).map(({ name }) => name));
  const named = new Set(rules.flatMap(({ when }) => listsNamedIn(when)));
  return [...named].filter((name) => !known.has(name));
}

type Fields = Readonly<Record<string, unknown>>;

function checked(rules: readonly OwnRule[]): CommandOutcome {
  return ok({ rules: rules.length }, `${rules.length} rules can be written.`);
}

async function importRules(
  door: ChangeDoor,
  { number, id }: Customer,
  rules: readonly OwnRule[],
): Promise<CommandOutcome> {
  const counts = { created: 0, replaced: 0 };
  for (const rule of rules) {
    const change = { kind: 'rule.put', customer: number, rule, ifMatch: null } as const;
    const written = await door.commit(change, { by: 'cli', nowMs: Date.now() });
    const done = `${counts.created + counts.replaced} rules are written`;
    if (written.kind === 'fault') return failure(written.code, `${written.detail}; ${done}`);
    const { kind } = written.value;
    if (kind !== 'created' && kind !== 'replaced') return failure(kind, `${rule.code} is one too many; ${done}`);
    counts[kind]++;
  }
  return ok({ customer_id: id, ...counts }, `${counts.created} rules created, ${counts.replaced} replaced.`);
}
