import { makeFilesPrivate } from '../../state/repair/private-files.ts';
import { restoreBackup, type Restored } from '../../state/repair/restore-backup.ts';
import { failureOf, ok, type CommandOutcome } from '../command-outcome.ts';
import type { Cli } from '../context.ts';
import { tableText, timeText } from '../text-table.ts';

export function addRestore(cli: Cli): void {
  cli.program
    .command('restore <folder>')
    .description('restore a backup into an empty data directory; it needs the master key of the backup')
    .action((folder: string) =>
      cli.run(async () => {
        makeFilesPrivate();
        const { dataDir } = cli.globals();
        const restored = await restoreBackup({ folder, dataDir, masterKey: cli.io.env['GATEHOUSE_MASTER_KEY'] });
        return restored.kind === 'fault' ? failureOf(restored) : report(restored);
      }),
    );
}

function report(restored: Restored): CommandOutcome {
  return ok(
    {
      folder: restored.folder,
      data_dir: restored.dataDir,
      backed_up_at: restored.backedUpAt,
      bytes: restored.bytes,
      tables: restored.tables.map(({ environment, table, inBackup, restored: rows }) => ({
        environment,
        table,
        rows_in_backup: inBackup,
        rows_restored: rows,
      })),
      rows_unchecked: restored.unchecked,
      revoked_keys: restored.revokedKeys,
      master_key_proved: restored.isKeyProved,
      not_in_backup: restored.absent,
    },
    textOf(restored),
  );
}

function textOf({ folder, dataDir, backedUpAt, bytes, tables, unchecked, revokedKeys, ...rest }: Restored): string {
  const rows = tables.map(({ environment, table, inBackup, restored }) => [
    environment,
    table,
    String(inBackup),
    String(restored),
  ]);
  const lines = [
    tableText(['Environment', 'Table', 'Rows in the backup', 'Rows restored'], rows, 'The backup has no tables.'),
    `Restored ${bytes} bytes of ${folder}, made at ${timeText(backedUpAt)}, into ${dataDir}.`,
    unchecked === 0
      ? 'The check sums of all rows are right.'
      : `The check sums of ${unchecked} rows were not verified.`,
    `Revoked keys that stay revoked: ${revokedKeys}.`,
    rest.isKeyProved ? 'The master key is the right one.' : 'The backup has nothing to prove a master key with.',
  ];
  if (rest.absent.length > 0)
    lines.push(`Not in the backup, so the next start creates it empty: ${rest.absent.join(', ')}.`);
  return lines.join('\n');
}
