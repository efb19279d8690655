import type { Cli } from '../context.ts';

export function addServe(cli: Cli): void {
  cli.program
    .command('serve')
    .description('run the server')
    .action(async () => {
      // Loaded only here: no other command needs the server's modules.
      const { serve } = await import('../../app/serve.ts');
      await serve({ ...process.env, GATEHOUSE_DATA_DIR: cli.globals().dataDir });
    });
}
