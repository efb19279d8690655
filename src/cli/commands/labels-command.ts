import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { LABELS, type Label } from '../../contract/vocabulary.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { Slices } from '../../state/tables/turns.ts';
import { addApiOptions, type ApiOptions, openApi } from '../api-access.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import type { ImportLabelsOptions } from '../import-labels.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: what a terminal or a script reads at once. */
const LABELS_SHOWN_DEFAULT = 100;
const LABELS_SHOWN_MAX = 10_000;

interface ListOptions {
  readonly customer?: string;
  readonly limit: number;
}

export function addLabels(cli: Cli): void {
  const labels = cli.program.command('labels').description("customers' labels of their decisions: fraud or legitimate");

  labels
    .command('list')
    .description('show the labels, those of the newest decisions first')
    .option('--customer <id>', 'id of the customer, cus_…; not needed if there is only one')
    .option('--limit <labels>', `at most this many, up to ${LABELS_SHOWN_MAX}`, parseLimit, LABELS_SHOWN_DEFAULT)
    .action((options: ListOptions) =>
      cli.run(() => withStore(cli.globals().dataDir, (store) => listLabels(store, options))),
    );

  addApiOptions(
    labels
      .command('add <request_id>')
      .description('label one decision, instead of an earlier label')
      .addArgument(new Argument('<label>', 'what it was').choices(LABELS))
      .option('--note <text>', 'a note for people, such as where the label comes from'),
  ).action((requestId: string, label: Label, options: ApiOptions & { readonly note?: string }) =>
    cli.run(() => addLabel(cli, requestId, label, options)),
  );

  addImport(cli, labels);
}

function addImport(cli: Cli, labels: Command): void {
  addApiOptions(
    labels
      .command('import <csv>')
      .description('label the decisions that a CSV file with a header names, such as chargebacks')
      .option(
        '--map <column=field>',
        'what a column is: request_id, label, source or note; "column=" ignores it; repeatable',
        (given: string, before: readonly string[]) => [...before, given],
        [],
      )
      .addOption(new Option('--label <label>', 'the label of all rows (default: as a column has it)').choices(LABELS))
      .option('--source <text>', 'where the labels come from, such as chargeback; it begins their notes')
      .option('--dry-run', 'read the file, report what would be labelled, and send nothing', false),
  ).action((file: string, options: ImportLabelsOptions) =>
    cli.run(async () => (await import('../import-labels.ts')).importLabels(cli, file, options)),
  );
}

async function listLabels(store: Store, { customer: id, limit }: ListOptions): Promise<CommandOutcome> {
  const all = store.customers.all();
  const customer = id === undefined && all.length === 1 ? all[0] : all.find((one) => one.id === id);
  if (id === undefined && customer === undefined)
    return failure('customer_needed', 'there are several customers or none: name one by --customer');
  if (customer === undefined) return failure('unknown_customer', `there is no customer ${id ?? ''}`);
  const newest = await store.labels.newest(customer.number, limit, new Slices(store.turns));
  const labels = [...newest.keys()].flatMap((requestId) => store.labels.find(customer.number, requestId) ?? []);
  const json = labels.map(({ requestId, label, note, createdAtSeconds }) => {
    return { request_id: requestId, label, note, created_at: createdAtSeconds };
  });
  const lines = labels.map((one) => [one.requestId, one.label, timeText(one.createdAtSeconds), one.note ?? '']);
  return ok(
    { customer_id: customer.id, labels: json },
    tableText(['Request', 'Label', 'Labelled', 'Note'], lines, 'There are no labels.'),
  );
}

async function addLabel(
  cli: Cli,
  requestId: string,
  label: Label,
  options: ApiOptions & { readonly note?: string },
): Promise<CommandOutcome> {
  const opened = await openApi(cli, options);
  if (opened.kind === 'error') return opened;
  const { note } = options;
  const body = { request_id: requestId, label, ...(note !== undefined && { note }) };
  const reply = await opened.api.post('/v1/labels', body);
  return reply.kind === 'error' ? reply : ok(reply.body, `${requestId}  ${label}`);
}

function parseLimit(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > LABELS_SHOWN_MAX) {
    throw new InvalidArgumentError(`a whole number from 1 to ${LABELS_SHOWN_MAX}`);
  }
  return value;
}
