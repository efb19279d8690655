import { backup } from '../../state/repair/backup.ts';
import type { Cli } from '../context.ts';
import { failureOf, ok } from '../command-outcome.ts';
import { withStore } from '../with-store.ts';

export function addBackup(cli: Cli): void {
  cli.program
    .command('backup <folder>')
    .description('copy the store into a new folder; a server may be running')
    .action((folder: string) =>
      cli.run(async () => {
        const { dataDir } = cli.globals();
        return withStore(dataDir, async (store) => {
          const made = await backup(store, dataDir, folder);
          if (made.kind === 'fault') return failureOf(made);
          return ok(
            { folder: made.folder, bytes: made.bytes },
            `Backed up ${made.bytes} bytes into ${made.folder}.\nThe backup does not include the master key; keep a separate copy of it.`,
          );
        });
      }),
    );
}
