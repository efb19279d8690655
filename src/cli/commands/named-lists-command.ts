import { randomUUID } from 'node:crypto';
import { CONTROL_ENTRIES_MAX } from '../../app/control-protocol.ts';
import { unreachable } from '../../kernel/brand.ts';
import { shownNamedValue } from '../../risk/lists/list-key.ts';
import {
  NAMED_ITEMS_MAX,
  NAMED_LIST_NAME,
  NAMED_LISTS_MAX,
  type NamedListKind,
  namedListKindOf,
  readNamedValue,
} from '../../risk/lists/named-list.ts';
import { listsNamedIn } from '../../risk/policy/rule-lists.ts';
import { restoreNamedList } from '../../state/feed/named-list-restore.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { Customer } from '../../state/tables/customer-table.ts';
import { namedItemOf } from '../../state/tables/list-change.ts';
import type { NamedItemChange, NamedList } from '../../state/tables/named-list-table.ts';
import { shownVersions } from '../../state/tables/named-list-versions-table.ts';
import { Slices } from '../../state/tables/turns.ts';
import type { ChangeDoor } from '../change-door.ts';
import { type CommandOutcome, failure, failureOf, ok, usage } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import {
  addImportOptions,
  importText,
  LIST_ROWS_SHOWN_MAX,
  type ListImportOptions,
  ofCustomer,
  type OfCustomer,
  type OpenedLists,
  readImportFile,
  type RejectedRow,
  withCustomerLists,
} from '../customer-lists.ts';
import { END_FAULT, type ImportFormat, readEnd, readImportCells } from '../list-import.ts';
import { tableText, timeText } from '../text-table.ts';

interface NamedImport extends ListImportOptions {
  readonly kind: string;
  readonly note?: string;
}

const BY_CLI = (): { readonly by: 'cli'; readonly nowMs: number } => ({ by: 'cli', nowMs: Date.now() });

export function addNamedLists(cli: Cli): void {
  const lists = cli.program.command('named-lists').description("lists that conditions of a customer's rules can name");

  ofCustomer(lists.command('list'))
    .description('show the lists')
    .action((options: OfCustomer) => cli.run(async () => withCustomerLists(cli, options, listAll)));

  ofCustomer(lists.command('show <name>'))
    .description(`show the items of a list, at most ${LIST_ROWS_SHOWN_MAX}`)
    .action((name: string, options: OfCustomer) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => showItems(opened, name))),
    );

  ofCustomer(lists.command('delete <name>'))
    .description('delete a list with its items, unless a rule of the API names it')
    .action((name: string, options: OfCustomer) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => deleteList(opened, name))),
    );

  ofCustomer(lists.command('versions <name>'))
    .description('show the last versions of a list, each with the write that replaced it')
    .action((name: string, options: OfCustomer) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => showVersions(opened, name))),
    );

  ofCustomer(lists.command('restore <name> <version>'))
    .description('bring back a version of a list, as it was before a write')
    .action((name: string, version: string, options: OfCustomer) =>
      cli.run(async () => withCustomerLists(cli, options, (opened) => restoreVersion(opened, name, version))),
    );

  addImportOptions(
    ofCustomer(lists.command('import <name> <file>'))
      .description("add items from a file, and make the list: CSV with a header, one value a line, or CrowdSec's JSON")
      .requiredOption('--kind <kind>', 'kind of the list and its values')
      .option('--note <text>', 'a note for people, for a new list'),
  ).action((name: string, file: string, options: NamedImport) =>
    cli.run(async () => withCustomerLists(cli, options, (opened) => importItems(opened, name, file, options))),
  );
}

function listAll({ store, customer }: OpenedLists): CommandOutcome {
  const lists = store.namedLists.of(customer.number);
  const rows = lists.map(({ name, kind, items, note }) => [name, kind, String(items), note ?? '']);
  const text = tableText(['Name', 'Kind', 'Items', 'Note'], rows, 'There are no named lists.');
  return ok({ lists: lists.map(({ name, kind, items, note }) => ({ name, kind, items, note })) }, text);
}

async function showItems({ store, customer }: OpenedLists, name: string): Promise<CommandOutcome> {
  const list = store.namedLists.find(customer.number, name);
  if (list === null) return missing(name);
  const slices = new Slices(store.turns, customer.number);
  const range = { after: null, limit: LIST_ROWS_SHOWN_MAX } as const;
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

async function deleteList({ store, door, customer }: OpenedLists, name: string): Promise<CommandOutcome> {
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
  opened: OpenedLists,
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
  const imported = await readImportFile(file, given, (text, format) => readItems(opened, text, format, kind));
  if (imported.kind === 'error') return imported;
  const read = imported.value;
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
  readonly rejected: readonly RejectedRow[];
}

function readItems({ keys, customer }: OpenedLists, text: string, format: ImportFormat, kind: NamedListKind): ReadFile {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const items = new Map<string, NamedItemChange>();
  const rejected: RejectedRow[] = [];
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

function showVersions({ store, customer }: OpenedLists, name: string): CommandOutcome {
  const list = store.namedLists.find(customer.number, name);
  if (list === null) return missing(name);
  const versions = shownVersions(store.namedListVersions.of(customer.number, list.number));
  const rows = versions.map(({ version, replacedAtMs, replacedBy, added, removed, lost }) => [
    String(version),
    timeText(Math.floor(replacedAtMs / 1_000)),
    replacedBy,
    `+${added} −${removed}`,
    lost ?? 'yes',
  ]);
  const text = tableText(['Version', 'Replaced', 'By', 'Write', 'Kept'], rows, 'The list has no earlier version.');
  const shown = versions.map(({ version, replacedAtMs, replacedBy, added, removed, lost }) => {
    const replaced = { replaced_at: Math.floor(replacedAtMs / 1_000), replaced_by: replacedBy };
    return { version, ...replaced, added, removed, restorable: lost === null, reason: lost };
  });
  return ok({ name, versions: shown }, text);
}

async function restoreVersion(
  { store, door, customer }: OpenedLists,
  name: string,
  versionText: string,
): Promise<CommandOutcome> {
  const list = store.namedLists.find(customer.number, name);
  if (list === null) return missing(name);
  const version = Number(versionText);
  const wanted = { customer: customer.number, name, number: list.number, version };
  const parts = { versions: store.namedListVersions, changes: door };
  const restored = await restoreNamedList(parts, wanted, BY_CLI(), new Slices(store.turns, customer.number));
  switch (restored.kind) {
    case 'restored': {
      store.resetRead();
      const items = store.namedLists.find(customer.number, name)?.items ?? 0;
      return ok({ name, version, items }, `version ${version} is back, with ${items} items`);
    }
    case 'unknown':
      return failure('not_found', `the list has no version ${versionText}`);
    case 'lost':
      return failure('not_restorable', `version ${version} is not kept: ${restored.loss}`);
    case 'limit_reached':
      return failure(
        'limit_reached',
        `the lists would have over ${NAMED_ITEMS_MAX} items; repeat it when there is room`,
      );
    case 'fault':
      return failureOf(restored);
    default:
      return unreachable(restored);
  }
}

async function writeItems(
  door: ChangeDoor,
  { number: customer }: Customer,
  { name, number }: NamedList,
  read: ReadFile,
): Promise<CommandOutcome> {
  const { items } = read;
  const writeId = randomUUID();
  let added = 0;
  for (let at = 0; at < items.length; at += CONTROL_ENTRIES_MAX) {
    const part = items.slice(at, at + CONTROL_ENTRIES_MAX);
    const change = { kind: 'named_list.items', customer, name, number, items: part, writeId } as const;
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
  const sentence = `${added} ${words}added, ${known} ${dryRun ? 'are' : 'were'} in it already, ${rejected.length} rejected`;
  const text = importText(sentence, rejected);
  return ok({ dry_run: dryRun, added, known, rejected }, text, rejected.length > 0);
}
