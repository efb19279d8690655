import { InvalidArgumentError, Option } from 'commander';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { testCustomerOf } from '../../kernel/test-customers.ts';
import { AUDIT_KINDS, type AuditEntry, type AuditKind } from '../../work/audit.ts';
import { NO_CUSTOMER } from '../../state/tables/audit-table.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { Slices } from '../../state/tables/turns.ts';
import { parseTime } from '../parse-time.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

interface AuditOptions {
  readonly customer?: string;
  readonly kind?: AuditKind;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
}

/** Choice: what a terminal or a script reads at once; `--since` and `--kind` select. */
const ENTRIES_DEFAULT = 100;
const ENTRIES_MAX = 10_000;

export function addAudit(cli: Cli): void {
  cli.program
    .command('audit')
    .description('who changed what, newest first: of all customers, and what concerns none of them')
    .option('--customer <id>', "only this customer's entries, cus_…")
    .addOption(new Option('--kind <kind>', 'only entries of this kind').choices(AUDIT_KINDS))
    .option('--since <time>', 'only entries from then on: Unix seconds, or a date such as 2026-11-01', parseTime)
    .option('--until <time>', 'only entries before then: Unix seconds, or a date', parseTime)
    .option('--limit <entries>', `at most this many, up to ${ENTRIES_MAX}`, parseLimit, ENTRIES_DEFAULT)
    .action((options: AuditOptions) =>
      cli.run(async () => withStore(cli.globals().dataDir, (store) => showAudit(store, options))),
    );
}

type Shown = AuditEntry & { readonly customer: Customer | null; readonly isTest: boolean };

async function showAudit(
  store: Store,
  { customer: id, kind, since, until, limit }: AuditOptions,
): Promise<CommandOutcome> {
  const only = id === undefined ? null : store.customers.findById(id);
  if (id !== undefined && only === null) return failure('unknown_customer', `there is no customer ${id}`);
  let newest: readonly Shown[] = [];
  for (const { customer, number, isTest } of ownersOf(only === null ? store.customers.all() : [only], only === null)) {
    const query = { limit, kind: kind ?? null, sinceMs: toMs(since), untilMs: toMs(until) };
    let after: string | null = null;
    const own: Shown[] = [];
    do {
      const slices = new Slices(store.turns);
      const page = await store.audit.page(number, { ...query, after }, slices);
      own.push(...page.entries.map((entry) => ({ ...entry, customer, isTest })));
      after = page.next;
    } while (after !== null && own.length < limit);
    newest = [...newest, ...own].sort((a, b) => b.atMs - a.atMs).slice(0, limit);
  }
  return ok({ entries: newest.map(jsonOf) }, tableText(HEADINGS, newest.map(lineOf), 'There are no entries.'));
}

type AuditOwner = Pick<Shown, 'customer' | 'isTest'> & { readonly number: CustomerNumber };

/** Each customer has entries of its live keys, and others of its test keys. `withOthers`: also those that concern no customer. */
function ownersOf(customers: readonly Customer[], withOthers: boolean): readonly AuditOwner[] {
  return [
    ...(withOthers ? [{ customer: null, number: NO_CUSTOMER, isTest: false }] : []),
    ...customers.flatMap((customer) => [
      { customer, number: customer.number, isTest: false },
      { customer, number: testCustomerOf(customer.number), isTest: true },
    ]),
  ];
}

const HEADINGS = ['Time', 'Customer', 'Actor', 'Kind', 'Target', 'Before', 'After'];

function jsonOf({ atMs, by, kind, target, before, after, customer, isTest }: Shown): object {
  const customerId = customer?.id ?? null;
  return { at: Math.floor(atMs / 1000), customer_id: customerId, test: isTest, actor: by, kind, target, before, after };
}

function lineOf({ atMs, by, kind, target, before, after, customer, isTest }: Shown): string[] {
  const time = timeText(Math.floor(atMs / 1000));
  return [
    time,
    `${customer?.name ?? ''}${isTest ? ', test' : ''}`,
    by,
    kind,
    target ?? '',
    factsText(before),
    factsText(after),
  ];
}

function factsText(facts: object | null): string {
  return facts === null ? '' : JSON.stringify(facts);
}

function toMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

function parseLimit(text: string): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > ENTRIES_MAX) throw new InvalidArgumentError(`a whole number from 1 to ${ENTRIES_MAX}`);
  return value;
}
