import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { CONTROL_ENTRIES_MAX } from '../../app/control-protocol.ts';
import { LIST_ACTIONS, type ListAction } from '../../risk/decision.ts';
import { LIST_VALUES_PURPOSE, ListKeys, shownListValue } from '../../risk/lists/list-key.ts';
import { listKindOf, type ListTarget, readListTarget } from '../../risk/lists/list-kind.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { deriveKey, openMasterKey } from '../../state/repair/master-key.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import { messageOf } from '../../state/tables/durable.ts';
import { type GivenListEntry, listChangeOf } from '../../state/tables/list-change.ts';
import type { ListEntry, ListEntryChange } from '../../state/tables/list-table.ts';
import { Slices } from '../../state/tables/turns.ts';
import type { ChangeDoor } from '../change-door.ts';
import type { Cli } from '../context.ts';
import { failure, failureOf, ok, usage, type CommandOutcome } from '../command-outcome.ts';
import { IMPORT_FORMATS, type ImportFormat, readImport } from '../list-import.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: enough to recognise the kind of fault. */
const FAULTS_SHOWN_MAX = 10;
const ROWS_SHOWN_MAX = 1_000;
/** Choice: a day's file of a large feed has some 10 MB. */
const IMPORT_BYTES_MAX = 64 * 1_048_576;

interface Named {
  readonly customer: string;
}
interface AddOptions extends Named {
  readonly action: ListAction;
  readonly note?: string;
  readonly eventType?: readonly string[];
}
interface ImportOptions extends Named {
  readonly kind?: string;
  readonly action: ListAction;
  readonly format?: ImportFormat;
  readonly dryRun: boolean;
}

/** What the commands need of an installation and one of its customers. */
interface Opened {
  readonly store: Store;
  readonly door: ChangeDoor;
  readonly customer: Customer;
  readonly keys: ListKeys;
}

function actionOption(): Option {
  return new Option('--action <action>', 'what the entry does').choices(LIST_ACTIONS).default('block');
}

export function addLists(cli: Cli): void {
  const lists = cli.program.command('lists').description('block, allow and watch entries of a customer');

  lists
    .command('add <kind> <value>')
    .description('add an entry, or replace the entry of the same value')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .addOption(actionOption())
    .option('--note <text>', 'a note for people')
    .option('--event-type <type...>', 'the entry counts for events of these types only')
    .action((kind: string, value: string, options: AddOptions) =>
      cli.run(async () => withLists(cli, options, (opened) => addEntry(opened, kind, value, options))),
    );

  lists
    .command('remove <kind> <value>')
    .description('remove an entry')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .action((kind: string, value: string, options: Named) =>
      cli.run(async () => withLists(cli, options, (opened) => removeValue(opened, kind, value))),
    );

  lists
    .command('show')
    .description(`show the entries, at most ${ROWS_SHOWN_MAX}`)
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .option('--kind <kind>', 'only entries of this kind')
    .action((options: Named & { readonly kind?: string }) =>
      cli.run(async () => withLists(cli, options, (opened) => showEntries(opened, options.kind))),
    );

  lists
    .command('import <file>')
    .description("add entries from a file: CSV with a header, text with one value a line, or CrowdSec's JSON")
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .option('--kind <kind>', 'kind of the values (default: address or network, by their form)')
    .addOption(actionOption())
    .addOption(new Option('--format <format>', 'format of the file (default: by its name)').choices(IMPORT_FORMATS))
    .option('--dry-run', 'say what would change, and write nothing', false)
    .action((file: string, options: ImportOptions) =>
      cli.run(async () => withLists(cli, options, (opened) => importEntries(opened, file, options))),
    );
}

async function withLists(
  cli: Cli,
  { customer: id }: Named,
  work: (opened: Opened) => Promise<CommandOutcome>,
): Promise<CommandOutcome> {
  const { dataDir } = cli.globals();
  return withStore(dataDir, async (store, door) => {
    const customer = store.customers.findById(id);
    if (customer === null) return failure('unknown_customer', `there is no customer ${id}`);
    const master = openMasterKey(dataDir, cli.io.env['GATEHOUSE_MASTER_KEY']);
    if (master.kind === 'fault') return failureOf(master);
    return work({ store, door, customer, keys: new ListKeys(deriveKey(master.key, LIST_VALUES_PURPOSE)) });
  });
}

function readNamed(kindText: string, value: string): ListTarget | CommandOutcome {
  const kind = listKindOf(kindText);
  if (kind === null) return usage('unknown_kind', `${kindText} is no kind of entries`);
  const read = readListTarget(kind, value);
  return read.kind === 'fault' ? usage('invalid_value', `${kindText} ${value}: ${read.message}`) : read.target;
}

function changeOf({ keys, customer }: Opened, entry: GivenListEntry): ListEntryChange {
  return listChangeOf(keys, customer.number, entry, false);
}

async function addEntry(opened: Opened, kind: string, value: string, options: AddOptions): Promise<CommandOutcome> {
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

async function removeValue(opened: Opened, kind: string, value: string): Promise<CommandOutcome> {
  const target = readNamed(kind, value);
  if (!('value' in target)) return target;
  const fingerprintHash = opened.keys.keyOf(opened.customer.number, target);
  const change = { kind: 'list.removed', customer: opened.customer.number, fingerprintHash } as const;
  const removed = await opened.door.commit(change, { by: 'cli', nowMs: Date.now() });
  if (removed.kind === 'fault') return failureOf(removed);
  return removed.value ? ok({ removed: true }, 'removed') : failure('not_found', 'the list has no such entry');
}

async function showEntries({ store, customer }: Opened, kindText: string | undefined): Promise<CommandOutcome> {
  const kind = kindText === undefined ? null : listKindOf(kindText);
  if (kindText !== undefined && kind === null) return usage('unknown_kind', `${kindText} is no kind of entries`);
  const query = { after: null, limit: ROWS_SHOWN_MAX, action: null, kind };
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

async function importEntries(opened: Opened, file: string, options: ImportOptions): Promise<CommandOutcome> {
  const kind = options.kind === undefined ? null : listKindOf(options.kind);
  if (options.kind !== undefined && kind === null)
    return usage('unknown_kind', `${options.kind} is no kind of entries`);
  const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : /\.json$/i.test(file) ? 'crowdsec' : 'text');
  const nowSeconds = Math.floor(Date.now() / 1_000);
  let rows;
  try {
    const bytes = await readFile(file);
    if (bytes.length > IMPORT_BYTES_MAX) return failure('file_too_large', `${file} has over ${IMPORT_BYTES_MAX} bytes`);
    rows = readImport(bytes.toString(), format, { kind, action: options.action, nowSeconds });
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be used: ${messageOf(error)}`);
  }
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
  const text = [
    `${created} ${done}added, ${replaced} ${done}replaced, ${rejected.length} rejected`,
    ...rejected.slice(0, FAULTS_SHOWN_MAX).map(({ at, message }) => `  ${at}: ${message}`),
    ...(rejected.length > FAULTS_SHOWN_MAX ? [`  and ${rejected.length - FAULTS_SHOWN_MAX} more`] : []),
  ].join('\n');
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
