import { readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { CONTROL_ENTRIES_MAX } from '../../app/control-protocol.ts';
import { LIST_VALUES_PURPOSE, ListKeys, shownNamedValue } from '../../risk/lists/list-key.ts';
import {
  NAMED_ITEMS_MAX,
  NAMED_LIST_NAME,
  NAMED_LISTS_MAX,
  type NamedListKind,
  namedListKindOf,
  readNamedValue,
} from '../../risk/lists/named-list.ts';
import { listsNamedIn } from '../../risk/policy/rule-lists.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { deriveKey, openMasterKey } from '../../state/repair/master-key.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import { messageOf } from '../../state/tables/durable.ts';
import { namedItemOf } from '../../state/tables/list-change.ts';
import type { NamedItemChange, NamedList } from '../../state/tables/named-list-table.ts';
import { Slices } from '../../state/tables/turns.ts';
import type { ChangeDoor } from '../change-door.ts';
import { type CommandOutcome, failure, failureOf, ok, usage } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { END_FAULT, IMPORT_FORMATS, type ImportFormat, readEnd, readImportCells } from '../list-import.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: enough to recognise the kind of fault. */
const FAULTS_SHOWN_MAX = 10;
const ROWS_SHOWN_MAX = 1_000;
/** Choice: a million values of usual length. */
const IMPORT_BYTES_MAX = 64 * 1_048_576;
interface Named {
  readonly customer: string;
}
interface NamedImport extends Named {
  readonly kind: string;
  readonly format?: ImportFormat;
  readonly note?: string;
  readonly dryRun: boolean;
}

/** What the commands need of an installation and one of its customers. */
interface Opened {
  readonly store: Store;
  readonly door: ChangeDoor;
  readonly customer: Customer;
  readonly keys: ListKeys;
}

const BY_CLI = (): { readonly by: 'cli'; readonly nowMs: number } => ({ by: 'cli', nowMs: Date.now() });

export function addNamedLists(cli: Cli): void {
  const lists = cli.program.command('named-lists').description("lists that conditions of a customer's rules can name");

  lists
    .command('list')
    .description('show the lists')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .action((options: Named) => cli.run(async () => withNamedLists(cli, options, listAll)));

  lists
    .command('show <name>')
    .description(`show the items of a list, at most ${ROWS_SHOWN_MAX}`)
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .action((name: string, options: Named) =>
      cli.run(async () => withNamedLists(cli, options, (opened) => showItems(opened, name))),
    );

  lists
    .command('delete <name>')
    .description('delete a list with its items, unless a rule of the API names it')
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .action((name: string, options: Named) =>
      cli.run(async () => withNamedLists(cli, options, (opened) => deleteList(opened, name))),
    );

  lists
    .command('import <name> <file>')
    .description("add items from a file, and make the list: CSV with a header, one value a line, or CrowdSec's JSON")
    .requiredOption('--customer <id>', "the customer's id, cus_…")
    .requiredOption('--kind <kind>', 'kind of the list and its values')
    .option('--note <text>', 'a note for people, for a new list')
    .addOption(new Option('--format <format>', 'format of the file (default: by its name)').choices(IMPORT_FORMATS))
    .option('--dry-run', 'say what would change, and write nothing', false)
    .action((name: string, file: string, options: NamedImport) =>
      cli.run(async () => withNamedLists(cli, options, (opened) => importItems(opened, name, file, options))),
    );
}

async function withNamedLists(
  cli: Cli,
  { customer: id }: Named,
  work: (opened: Opened) => CommandOutcome | Promise<CommandOutcome>,
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

function listAll({ store, customer }: Opened): CommandOutcome {
  const lists = store.namedLists.of(customer.number);
  const rows = lists.map(({ name, kind, items, note }) => [name, kind, String(items), note ?? '']);
  const text = tableText(['Name', 'Kind', 'Items', 'Note'], rows, 'There are no named lists.');
  return ok({ lists: lists.map(({ name, kind, items, note }) => ({ name, kind, items, note })) }, text);
}

async function showItems({ store, customer }: Opened, name: string): Promise<CommandOutcome> {
  const list = store.namedLists.find(customer.number, name);
  if (list === null) return missing(name);
  const slices = new Slices(store.turns, customer.number);
  const range = { after: null, limit: ROWS_SHOWN_MAX } as const;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const { items, next } = await store.namedLists.page(customer.number, list.number, range, nowSeconds, slices);
  const shown = items.map((item) => ({
    value: shownNamedValue(list.kind, item),
    expires_at: item.expiresAtSeconds,
  }));
  const rows = shown.map(({ value, expires_at: ends }) => [value, ends === null ? 'never' : timeText(ends)]);
  const text = tableText(['Value', 'Ends'], rows, 'The list is empty.');
  return ok({ name, kind: list.kind, items: shown, has_more: next !== null }, text);
}

async function deleteList({ store, door, customer }: Opened, name: string): Promise<CommandOutcome> {
  const users = store.rules.of(customer.number).rules.filter(({ when }) => listsNamedIn(when).includes(name));
  if (users.length > 0) return failure('in_use', `these rules name it: ${users.map(({ code }) => code).join(', ')}`);
  const change = { kind: 'named_list.removed', customer: customer.number, name } as const;
  const removed = await door.commit(change, BY_CLI());
  if (removed.kind === 'fault') return failureOf(removed);
  return removed.value ? ok({ removed: true }, 'deleted') : missing(name);
}

function missing(name: string): CommandOutcome {
  return failure('not_found', `there is no named list ${name}`);
}

async function importItems(
  opened: Opened,
  name: string,
  file: string,
  { kind: kindText, format: given, note, dryRun }: NamedImport,
): Promise<CommandOutcome> {
  const { store, door, customer } = opened;
  const kind = namedListKindOf(kindText);
  if (kind === null) return usage('unknown_kind', `${kindText} is no kind of lists`);
  if (!NAMED_LIST_NAME.test(name))
    return usage('invalid_name', 'a name is a lower-case letter and up to 39 more, digits or _');
  const before = store.namedLists.find(customer.number, name);
  if (before !== null && before.kind !== kind) return failure('other_kind', `the list has the kind ${before.kind}`);
  const format = given ?? (/\.csv$/i.test(file) ? 'csv' : /\.json$/i.test(file) ? 'crowdsec' : 'text');
  let read;
  try {
    const bytes = await readFile(file);
    if (bytes.length > IMPORT_BYTES_MAX) return failure('file_too_large', `${file} has over ${IMPORT_BYTES_MAX} bytes`);
    read = readItems(opened, bytes.toString(), format, kind);
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be used: ${messageOf(error)}`);
  }
  if (dryRun) return done(read, countNew(store, customer, before, read.items), true);
  let list = before;
  if (list === null) {
    const change = {
      kind: 'named_list.put',
      customer: customer.number,
      name,
      listKind: kind,
      note: note ?? null,
    } as const;
    const made = await door.commit(change, BY_CLI());
    if (made.kind === 'fault') return failureOf(made);
    if (made.value.kind === 'limit_reached')
      return failure('limit_reached', `the customer has ${NAMED_LISTS_MAX} named lists`);
    ({ list } = made.value);
  }
  return writeItems(door, customer, list, read);
}

interface ReadFile {
  /** Each key once; the last one counts. */
  readonly items: readonly NamedItemChange[];
  readonly rejected: readonly { readonly at: number; readonly message: string }[];
}

function readItems({ keys, customer }: Opened, text: string, format: ImportFormat, kind: NamedListKind): ReadFile {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const items = new Map<string, NamedItemChange>();
  const rejected: { readonly at: number; readonly message: string }[] = [];
  for (const row of readImportCells(text, format, { kind, nowSeconds })) {
    const { at } = row;
    const reject = (message: string): void => void rejected.push({ at, message });
    if (row.kind === 'fault') {
      reject(row.message);
      continue;
    }
    const { kind: own = '', value = '', expires_at: end = '' } = row.cells;
    const listed = readNamedValue(kind, value);
    const expiresAtSeconds = readEnd(end, nowSeconds);
    if (own !== '' && own !== kind) reject(`its kind is ${own.slice(0, 40)}`);
    else if (listed.kind === 'fault') reject(listed.message);
    else if (expiresAtSeconds === 'fault') reject(END_FAULT);
    else {
      const target = { kind, value: listed.value };
      const item = namedItemOf(keys, customer.number, target, { expiresAtSeconds, isRemoved: false }, false);
      items.set(item.key, item);
    }
  }
  return { items: [...items.values()], rejected };
}

/** Returns how many of the items are not in the list. */
function countNew(
  store: Store,
  { number: customer }: Customer,
  list: NamedList | null,
  items: readonly NamedItemChange[],
): number {
  if (list === null) return items.length;
  const nowSeconds = Math.floor(Date.now() / 1_000);
  return items.filter(({ key }) => store.namedLists.stateOf(customer, list.number, key, nowSeconds) !== 'live').length;
}

async function writeItems(
  door: ChangeDoor,
  { number: customer }: Customer,
  { name, number }: NamedList,
  read: ReadFile,
): Promise<CommandOutcome> {
  const { items } = read;
  let added = 0;
  for (let at = 0; at < items.length; at += CONTROL_ENTRIES_MAX) {
    const part = items.slice(at, at + CONTROL_ENTRIES_MAX);
    const change = { kind: 'named_list.items', customer, name, number, items: part } as const;
    const until = at + CONTROL_ENTRIES_MAX < items.length ? 'visible' : 'durable';
    const written = await door.commit(change, BY_CLI(), { until });
    if (written.kind === 'fault') return failureOf(written);
    if (written.value === 'unknown') return failure('not_found', `the list was deleted; ${at} items were written`);
    if (written.value === 'limit_reached')
      return failure('limit_reached', `the lists would have over ${NAMED_ITEMS_MAX} items; ${at} items were written`);
    added += written.value.added;
  }
  return done(read, added, false);
}

function done({ items, rejected }: ReadFile, added: number, dryRun: boolean): CommandOutcome {
  const words = dryRun ? 'would be ' : '';
  const known = items.length - added;
  const text = [
    `${added} ${words}added, ${known} ${dryRun ? 'are' : 'were'} in it already, ${rejected.length} rejected`,
    ...rejected.slice(0, FAULTS_SHOWN_MAX).map(({ at, message }) => `  ${at}: ${message}`),
    ...(rejected.length > FAULTS_SHOWN_MAX ? [`  and ${rejected.length - FAULTS_SHOWN_MAX} more`] : []),
  ].join('\n');
  return ok({ dry_run: dryRun, added, known, rejected }, text, rejected.length > 0);
}
