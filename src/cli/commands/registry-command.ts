import { stat } from 'node:fs/promises';
import { Option } from 'commander';
import type { FingerprintHash } from '../../kernel/brand.ts';
import { effectiveEntry, consensusRisk, type SeenBy } from '../../risk/registry/consensus.ts';
import { messageOf } from '../../state/tables/durable.ts';
import type { Store } from '../../state/feed/open-store.ts';
import type { RegistryEntry } from '../../state/tables/registry-table.ts';
import type { ChangeDoor } from '../change-door.ts';
import type { Cli } from '../context.ts';
import type { Io } from '../io.ts';
import { failure, failureOf, ok, type CommandOutcome } from '../command-outcome.ts';
import { createProgress } from '../progress.ts';
import { readRows, type RowFormat } from '../registry-rows.ts';
import { tableText, timeText } from '../text-table.ts';
import { withStore } from '../with-store.ts';

/** Choice: enough to recognise the kind of fault. */
const FAULTS_SHOWN_MAX = 10;
const HASH_FORM = /^[0-9a-fA-F]{64}$/;

export function addRegistry(cli: Cli): void {
  const registry = cli.program.command('registry').description('the shared registry of fingerprints');

  registry
    .command('import <file>')
    .description('import entries from a file, replacing earlier imports of the same fingerprints')
    .addOption(new Option('--format <format>', 'format of the file (default: by its name)').choices(['ndjson', 'csv']))
    .action((file: string, options: { readonly format?: RowFormat }) =>
      cli.run(async () => {
        const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson');
        return withStore(cli.globals().dataDir, (_store, door) => importFile(door, file, format, cli.io));
      }),
    );

  registry
    .command('show <hash>')
    .description("show a fingerprint's entry: its current risk and its origin")
    .action((hash: string) => cli.run(async () => forHash(cli, hash, showEntry)));

  registry
    .command('remove <hash>')
    .description("remove a fingerprint's entry and all sightings of it")
    .action((hash: string) => cli.run(async () => forHash(cli, hash, removeEntry)));
}

async function forHash(
  cli: Cli,
  hash: string,
  work: (store: Store, hash: FingerprintHash, door: ChangeDoor) => Promise<CommandOutcome> | CommandOutcome,
): Promise<CommandOutcome> {
  if (!HASH_FORM.test(hash)) return failure('malformed_hash', 'a fingerprint hash has 64 hex digits');
  return withStore(cli.globals().dataDir, (store, door) => work(store, hash.toLowerCase() as FingerprintHash, door));
}

function showEntry(store: Store, hash: FingerprintHash): CommandOutcome {
  const now = Math.floor(Date.now() / 1000);
  const origin = store.registry.get(hash);
  const customersOfLate = store.sightings.customersOf(hash, now);
  const entry = origin && effectiveEntry(origin.imported, origin.publishedConsensus, now);
  if (origin === null || entry === null) {
    const of = customersOfLate === 0 ? '' : `; ${customersOfLate} of its customers have blocked it within 30 days`;
    return failure('not_found', `the registry does not have that fingerprint${of}`);
  }
  const { imported, publishedConsensus } = origin;
  const risk = Math.round(entry.risk * 10) / 10;
  const stored = Math.max(imported?.risk ?? 0, publishedConsensus === null ? 0 : consensusRisk(publishedConsensus));
  const came = imported === null ? 'promoted' : publishedConsensus === null ? 'imported' : 'imported and promoted';
  return ok(
    {
      fingerprint_hash: hash,
      risk_score: risk,
      stored_risk_score: stored,
      customers_seen: entry.customers,
      first_seen: entry.firstSeenSeconds,
      last_seen: entry.lastSeenSeconds,
      imported: imported && { risk_score: imported.risk, ...partJson(imported) },
      promoted: publishedConsensus && {
        risk_score: consensusRisk(publishedConsensus),
        ...partJson(publishedConsensus),
        customers_confirmed: publishedConsensus.confirmed,
      },
      customers_within_30_days: customersOfLate,
    },
    tableText(
      ['Risk now', 'Risk stored', 'Customers', 'First seen', 'Last seen', 'Origin', 'Customers in 30 days'],
      [
        [
          String(risk),
          String(stored),
          String(entry.customers),
          timeText(entry.firstSeenSeconds),
          timeText(entry.lastSeenSeconds),
          came,
          String(customersOfLate),
        ],
      ],
      '',
    ),
  );
}

function partJson({ customers, firstSeenSeconds, lastSeenSeconds }: SeenBy): object {
  return { customers_seen: customers, first_seen: firstSeenSeconds, last_seen: lastSeenSeconds };
}

async function removeEntry(_store: Store, hash: FingerprintHash, door: ChangeDoor): Promise<CommandOutcome> {
  const origin = { by: 'cli', nowMs: Date.now() } as const;
  const removed = await door.commit({ kind: 'registry.removed', fingerprintHash: hash }, origin);
  if (removed.kind === 'fault') return failureOf(removed);
  const { entry, customers } = removed.value;
  if (!entry && customers === 0) return failure('not_found', 'the registry does not have that fingerprint');
  const of = customers === 0 ? '' : ` and the sightings of ${customers} customers`;
  return ok({ fingerprint_hash: hash, removed: true, sightings_removed: customers }, `Removed ${hash}${of}.`);
}

async function importFile(door: ChangeDoor, file: string, format: RowFormat, io: Io): Promise<CommandOutcome> {
  let totalBytes: number;
  try {
    totalBytes = (await stat(file)).size;
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be read: ${messageOf(error)}`);
  }
  const progress = createProgress(totalBytes, io.write);
  const faults: { readonly line: number; readonly message: string }[] = [];
  let bytes = 0;
  let accepted = 0;
  let rejected = 0;
  let waiting: RegistryEntry[] = [];
  let rowsPerWrite = await door.entriesMax();
  const write = async (isLast: boolean): Promise<CommandOutcome | null> => {
    const total = isLast ? accepted + waiting.length : null;
    const change = { kind: 'registry.imported', entries: waiting, total } as const;
    // Earlier parts become durable with the last one.
    const until = isLast ? 'durable' : 'visible';
    const written = await door.commit(change, { by: 'cli', nowMs: Date.now() }, { until });
    if (written.kind === 'fault') return failure(written.code, `${written.detail}; ${accepted} rows are stored`);
    accepted += waiting.length;
    waiting = [];
    progress.update(bytes, `${accepted} accepted, ${rejected} rejected`);
    return null;
  };
  try {
    const rows = readRows(file, format, Math.floor(Date.now() / 1000), (more) => {
      bytes += more;
    });
    for await (const row of rows) {
      if (row.kind === 'fault') {
        rejected++;
        if (faults.length < FAULTS_SHOWN_MAX) faults.push({ line: row.line, message: row.message });
        continue;
      }
      waiting.push(row.entry);
      if (waiting.length < rowsPerWrite) continue;
      const failed = await write(false);
      rowsPerWrite = await door.entriesMax();
      if (failed !== null) return failed;
    }
    const failed = accepted + waiting.length > 0 ? await write(true) : null;
    if (failed !== null) return failed;
  } catch (error) {
    return failure('unreadable_file', `${file}: ${messageOf(error)}; ${accepted} rows are stored`);
  } finally {
    progress.stop();
  }
  const lines = faults.map((one) => `\n  line ${one.line}: ${one.message}`).join('');
  const more = rejected > faults.length ? `\n  and ${rejected - faults.length} more` : '';
  return ok({ accepted, rejected, faults }, `${accepted} accepted, ${rejected} rejected${lines}${more}`, rejected > 0);
}
