import type { Cli } from '../context.ts';

export function addServe(cli: Cli): void {
  cli.program
    .command('serve')
    .description('serve decisions')
    .action(async () => {
      // Loaded here alone: no other command needs the server's modules.
      const { serve } = await import('../../main.ts');
      await serve({ ...process.env, GATEHOUSE_DATA_DIR: cli.globals().dataDir });
    });
}
