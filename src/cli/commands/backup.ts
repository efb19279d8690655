import { backup } from '../../store/backup.ts';
import type { Cli } from '../context.ts';
import { failureOf, ok } from '../outcome.ts';
import { withStore } from '../with-store.ts';

export function addBackup(cli: Cli): void {
  cli.program
    .command('backup <folder>')
    .description('copy the store into a new folder, beside a running server or without one')
    .action((folder: string) =>
      cli.run(async () => {
        const { dataDir } = cli.globals();
        return withStore(dataDir, async (store) => {
          const made = await backup(store, dataDir, folder);
          if (made.kind === 'fault') return failureOf(made);
          return ok(
            { folder: made.folder, bytes: made.bytes },
            `Backed up ${made.bytes} bytes into ${made.folder}.\nThe master key is not in it: keep it apart.`,
          );
        });
      }),
    );
}
