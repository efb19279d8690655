import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { LIST_VALUES_PURPOSE, ListKeys } from '../risk/lists/list-key.ts';
import type { Store } from '../state/feed/open-store.ts';
import { deriveKey, openMasterKey } from '../state/repair/master-key.ts';
import type { Customer } from '../state/tables/customer-table.ts';
import { messageOf } from '../state/tables/durable.ts';
import type { ChangeDoor } from './change-door.ts';
import { type CommandError, type CommandOutcome, failure, failureOf } from './command-outcome.ts';
import type { Cli } from './context.ts';
import { IMPORT_FORMATS, type ImportFormat } from './list-import.ts';
import { withStore } from './with-store.ts';

/** What the commands for entries of lists and for named lists share. */

/** Choice: enough to recognise the kind of fault. */
const FAULTS_SHOWN_MAX = 10;
export const LIST_ROWS_SHOWN_MAX = 1_000;
/** Choice: a million values of usual length; a day's file of a large feed has some 10 MB. */
const IMPORT_BYTES_MAX = 64 * 1_048_576;

/** Options of every command about a customer's lists. */
export interface OfCustomer {
  readonly customer: string;
}

export interface ListImportOptions extends OfCustomer {
  readonly format?: ImportFormat;
  readonly dryRun: boolean;
}

/** What the commands need of an installation and one of its customers. */
export interface OpenedLists {
  readonly store: Store;
  readonly door: ChangeDoor;
  readonly customer: Customer;
  readonly keys: ListKeys;
}

/** Adds `--customer`. */
export function ofCustomer(command: Command): Command {
  return command.requiredOption('--customer <id>', "the customer's id, cus_…");
}

/** Adds `--format` and `--dry-run`. */
export function addImportOptions(command: Command): Command {
  return command
    .addOption(new Option('--format <format>', 'format of the file (default: by its name)').choices(IMPORT_FORMATS))
    .option('--dry-run', 'say what would change, and write nothing', false);
}

export async function withCustomerLists(
  cli: Cli,
  { customer: id }: OfCustomer,
  work: (opened: OpenedLists) => CommandOutcome | Promise<CommandOutcome>,
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

/** Reads a file of values with `read`, which may throw. */
export async function readImportFile<Read>(
  file: string,
  given: ImportFormat | undefined,
  read: (text: string, format: ImportFormat) => Read,
): Promise<{ readonly kind: 'read'; readonly value: Read } | CommandError> {
  const format = given ?? (/\.csv$/i.test(file) ? 'csv' : /\.json$/i.test(file) ? 'crowdsec' : 'text');
  try {
    const bytes = await readFile(file);
    if (bytes.length > IMPORT_BYTES_MAX) return failure('file_too_large', `${file} has over ${IMPORT_BYTES_MAX} bytes`);
    return { kind: 'read', value: read(bytes.toString(), format) };
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be used: ${messageOf(error)}`);
  }
}

/** A value of a file that cannot be listed. `at`: the line, or the number of the decision. */
export interface RejectedRow {
  readonly at: number;
  readonly message: string;
}

/** Returns a sentence about an import with the first of its rejected values. */
export function importText(sentence: string, rejected: readonly RejectedRow[]): string {
  return [
    sentence,
    ...rejected.slice(0, FAULTS_SHOWN_MAX).map(({ at, message }) => `  ${at}: ${message}`),
    ...(rejected.length > FAULTS_SHOWN_MAX ? [`  and ${rejected.length - FAULTS_SHOWN_MAX} more`] : []),
  ].join('\n');
}
