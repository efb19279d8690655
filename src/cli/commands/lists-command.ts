import { Option } from 'commander';
import { CONTROL_ENTRIES_MAX } from '../../app/control-protocol.ts';
import { LIST_ACTIONS, type ListAction } from '../../risk/decision.ts';
import { shownListValue } from '../../risk/lists/list-key.ts';
import { listKindOf, type ListTarget, readListTarget } from '../../risk/lists/list-kind.ts';
import { type GivenListEntry, listChangeOf } from '../../state/tables/list-change.ts';
import type { ListEntry, ListEntryChange } from '../../state/tables/list-table.ts';
import { Slices } from '../../state/tables/turns.ts';
import type { Cli } from '../context.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import {
  addImportOptions,
  importText,
  LIST_ROWS_SHOWN_MAX,
  type ListImportOptions,
  ofCustomer,
  type OfCustomer,
  type OpenedLists,
  readImportFile,
  withCustomerLists,
} from '../customer-lists.ts';
import { readImport } from '../list-import.ts';
import { tableText, timeText } from '../text-table.ts';

interface AddOptions extends OfCustomer {
  readonly action: ListAction;
  readonly note?: string;
  readonly eventType?: readonly string[];
}
interface ImportOptions extends ListImportOptions {
  readonly kind?: string;
  readonly action: ListAction;
}

function actionOption(): Option {
  return new Option('--action <action>', 'what the entry does').choices(LIST_ACTIONS).default('block');
}

export function addLists(cli: Cli): void {
  const lists = cli.program.command('lists').description('block, allow and watch entries of a customer');

  ofCustomer(lists.command('add <kind> <value>'))
    .description('add an entry, or replace the entry of the same value')
    .addOption(actionOption())
    .option('--note <text>', 'a note for people')
    .option('--event-type <type...>', 'the entry counts for events of these types only')
    .action((kind: string, value: string, options: AddOptions) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => addEntry(opened, kind, value, options))),
    );

  ofCustomer(lists.command('remove <kind> <value>'))
    .description('remove an entry')
    .action((kind: string, value: string, options: OfCustomer) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => removeValue(opened, kind, value))),
    );

  ofCustomer(lists.command('show'))
    .description(`show the entries, at most ${LIST_ROWS_SHOWN_MAX}`)
    .option('--kind <kind>', 'only entries of this kind')
    .action((options: OfCustomer & { readonly kind?: string }) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => showEntries(opened, options.kind))),
    );

  addImportOptions(
    ofCustomer(lists.command('import <file>'))
      .description("add entries from a file: CSV with a header, text with one value a line, or CrowdSec's JSON")
      .option('--kind <kind>', 'kind of the values (default: address or network, by their form)')
      .addOption(actionOption()),
  ).action((file: string, options: ImportOptions) =>
    cli.run(async () => withCustomerLists(cli, options, (opened) => importEntries(opened, file, options))),
  );
}

function readNamed(kindText: string, value: string): ListTarget | CommandOutcome {
  const kind = listKindOf(kindText);
  if (kind === null) return usage('unknown_kind', `${kindText} is no kind of entries`);
  const read = readListTarget(kind, value);
  return read.kind === 'fault' ? usage('invalid_value', `${kindText} ${value}: ${read.message}`) : read.target;
}

function changeOf({ keys, customer }: OpenedLists, entry: GivenListEntry): ListEntryChange {
  return listChangeOf(keys, customer.number, entry, false);
}

async function addEntry(
  opened: OpenedLists,
  kind: string,
  value: string,
  options: AddOptions,
): Promise<CommandOutcome> {
  const target = readNamed(kind, value);
  if (!('value' in target)) return target;
  const { action, note = null } = options;
  const eventTypes = (options.eventType ?? []).map((type) => type.toLowerCase());
  const entry = changeOf(opened, { target, action, note, expiresAtSeconds: null, eventTypes });
  const change = { kind: 'list.put', customer: opened.customer.number, entry } as const;
  const written = await opened.door.commit(change, { by: 'cli', nowMs: Date.now() });
  if (written.kind === 'fault') return failureOf(written);
  if (written.value === 'limit_reached') return failure('limit_reached', 'the list is full');
  const { created, entry: stored } = written.value;
  return ok(
    { created, ...jsonOf(stored) },
    `${created ? 'added' : 'replaced'}: ${stored.action} ${stored.kind} ${shownListValue(stored)}`,
  );
}

async function removeValue(opened: OpenedLists, kind: string, value: string): Promise<CommandOutcome> {
  const target = readNamed(kind, value);
  if (!('value' in target)) return target;
  const fingerprintHash = opened.keys.keyOf(opened.customer.number, target);
  const change = { kind: 'list.removed', customer: opened.customer.number, fingerprintHash } as const;
  const removed = await opened.door.commit(change, { by: 'cli', nowMs: Date.now() });
  if (removed.kind === 'fault') return failureOf(removed);
  return removed.value ? ok({ removed: true }, 'removed') : failure('not_found', 'the list has no such entry');
}

async function showEntries({ store, customer }: OpenedLists, kindText: string | undefined): Promise<CommandOutcome> {
  const kind = kindText === undefined ? null : listKindOf(kindText);
  if (kindText !== undefined && kind === null) return usage('unknown_kind', `${kindText} is no kind of entries`);
  const query = { after: null, limit: LIST_ROWS_SHOWN_MAX, action: null, kind };
  const slices = new Slices(store.turns, customer.number);
  const { entries, next } = await store.lists.page(customer.number, query, Math.floor(Date.now() / 1_000), slices);
  const rows = entries.map((entry) => [
    entry.kind,
    shownListValue(entry),
    entry.action,
    entry.expiresAtSeconds === null ? 'never' : timeText(entry.expiresAtSeconds),
    entry.note ?? '',
  ]);
  const text = tableText(['Kind', 'Value', 'Action', 'Ends', 'Note'], rows, 'The list is empty.');
  return ok({ entries: entries.map(jsonOf), has_more: next !== null }, text);
}

async function importEntries(opened: OpenedLists, file: string, options: ImportOptions): Promise<CommandOutcome> {
  const kind = options.kind === undefined ? null : listKindOf(options.kind);
  if (options.kind !== undefined && kind === null)
    return usage('unknown_kind', `${options.kind} is no kind of entries`);
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const defaults = { kind, action: options.action, nowSeconds };
  const read = await readImportFile(file, options.format, (text, format) => readImport(text, format, defaults));
  if (read.kind === 'error') return read;
  const rows = read.value;
  const entries = rows.flatMap((row) => (row.kind === 'entry' ? [changeOf(opened, row.entry)] : []));
  const rejected = rows.flatMap((row) => (row.kind === 'fault' ? [{ at: row.at, message: row.message }] : []));
  const { store, customer } = opened;
  let created = entries.filter(
    ({ fingerprintHash }) => store.lists.get(customer.number, fingerprintHash, nowSeconds) === null,
  ).length;
  if (!options.dryRun) {
    created = 0;
    for (let at = 0; at < entries.length; at += CONTROL_ENTRIES_MAX) {
      const part = entries.slice(at, at + CONTROL_ENTRIES_MAX);
      const change = { kind: 'list.batch', customer: customer.number, entries: part } as const;
      const written = await opened.door.commit(change, { by: 'cli', nowMs: Date.now() });
      if (written.kind === 'fault') return failureOf(written);
      if (written.value === 'limit_reached')
        return failure('limit_reached', `the list is full; ${at} entries were written`);
      created += written.value.filter((put) => put.created).length;
    }
  }
  const replaced = entries.length - created;
  const done = options.dryRun ? 'would be ' : '';
  const sentence = `${created} ${done}added, ${replaced} ${done}replaced, ${rejected.length} rejected`;
  const text = importText(sentence, rejected);
  return ok({ dry_run: options.dryRun, added: created, replaced, rejected }, text, rejected.length > 0);
}

function jsonOf(entry: ListEntry): object {
  return {
    kind: entry.kind,
    value: shownListValue(entry),
    action: entry.action,
    note: entry.note,
    ...(entry.eventTypes.length > 0 && { event_types: entry.eventTypes }),
    expires_at: entry.expiresAtSeconds,
  };
}
