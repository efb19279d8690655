import { stat } from 'node:fs/promises';
import { Option } from 'commander';
import type { FingerprintHash } from '../../base/brand.ts';
import { registryRiskAt } from '../../core/registry-risk.ts';
import { messageOf } from '../../store/durable.ts';
import type { Store } from '../../store/open-store.ts';
import type { RegistryEntry } from '../../store/registry.ts';
import type { Cli } from '../context.ts';
import { failure, failureOf, ok, type Outcome } from '../outcome.ts';
import { createProgress } from '../progress.ts';
import { readRows, type RowFormat } from '../registry-rows.ts';
import { tableText, timeText } from '../table.ts';
import { withStore } from '../with-store.ts';

/** Choice: a write of so many holds the store's write lock for some 20 ms, which a server beside it does not notice. */
const ROWS_PER_WRITE = 5_000;
/** Choice: enough to see what kind of fault it is. */
const FAULTS_SHOWN_MAX = 10;
const HASH_FORM = /^[0-9a-fA-F]{64}$/;

export function addRegistry(cli: Cli): void {
  const registry = cli.program.command('registry').description('the shared registry of fingerprints');

  registry
    .command('import <file>')
    .description('add entries from a file; an entry that is there already is replaced')
    .addOption(new Option('--format <format>', "the file's, told by its name unless given").choices(['ndjson', 'csv']))
    .action((file: string, options: { readonly format?: RowFormat }) =>
      cli.run(async () => {
        const format = options.format ?? (/\.csv$/i.test(file) ? 'csv' : 'ndjson');
        return withStore(cli.globals().dataDir, (store) => importFile(store, file, format));
      }),
    );

  registry
    .command('show <hash>')
    .description("show a fingerprint's entry, with its risk as of now")
    .action((hash: string) => cli.run(async () => forHash(cli, hash, showEntry)));

  registry
    .command('remove <hash>')
    .description("remove a fingerprint's entry")
    .action((hash: string) => cli.run(async () => forHash(cli, hash, removeEntry)));
}

async function forHash(
  cli: Cli,
  hash: string,
  work: (store: Store, hash: FingerprintHash) => Promise<Outcome> | Outcome,
): Promise<Outcome> {
  if (!HASH_FORM.test(hash)) return failure('malformed_hash', 'a fingerprint hash has 64 hex digits');
  return withStore(cli.globals().dataDir, (store) => work(store, hash.toLowerCase() as FingerprintHash));
}

function showEntry(store: Store, hash: FingerprintHash): Outcome {
  const entry = store.registry.get(hash);
  if (entry === null) return failure('not_found', 'the registry does not have that fingerprint');
  const now = Math.floor(Date.now() / 1000);
  const risk = Math.round(registryRiskAt(entry.risk, entry.lastSeenSeconds, now) * 10) / 10;
  return ok(
    {
      fingerprint_hash: hash,
      risk_score: risk,
      stored_risk_score: entry.risk,
      customers_seen: entry.customers,
      first_seen: entry.firstSeenSeconds,
      last_seen: entry.lastSeenSeconds,
    },
    tableText(
      ['Risk now', 'Risk stored', 'Customers', 'First seen', 'Last seen'],
      [
        [
          String(risk),
          String(entry.risk),
          String(entry.customers),
          timeText(entry.firstSeenSeconds),
          timeText(entry.lastSeenSeconds),
        ],
      ],
      '',
    ),
  );
}

async function removeEntry(store: Store, hash: FingerprintHash): Promise<Outcome> {
  const removed = await store.registry.remove(hash);
  if (removed.kind === 'fault') return failureOf(removed);
  if (!removed.value) return failure('not_found', 'the registry does not have that fingerprint');
  return ok({ fingerprint_hash: hash, removed: true }, `Removed ${hash}.`);
}

async function importFile(store: Store, file: string, format: RowFormat): Promise<Outcome> {
  let totalBytes: number;
  try {
    totalBytes = (await stat(file)).size;
  } catch (error) {
    return failure('unreadable_file', `${file} cannot be read: ${messageOf(error)}`);
  }
  const progress = createProgress(totalBytes);
  const faults: { readonly line: number; readonly message: string }[] = [];
  let bytes = 0;
  let accepted = 0;
  let rejected = 0;
  let waiting: RegistryEntry[] = [];
  const write = async (): Promise<Outcome | null> => {
    const written = await store.registry.putMany(waiting);
    if (written.kind === 'fault') return failure(written.code, `${written.detail}; ${accepted} rows are stored`);
    accepted += waiting.length;
    waiting = [];
    progress.update(bytes, accepted, rejected);
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
      if (waiting.length < ROWS_PER_WRITE) continue;
      const failed = await write();
      if (failed !== null) return failed;
    }
    const failed = waiting.length > 0 ? await write() : null;
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
