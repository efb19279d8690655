import type { Cli } from '../context.ts';

export function addServe(cli: Cli): void {
  cli.program
    .command('serve')
    .description('run the server')
    .option(
      '--roles <roles>',
      'what this node does: some of decide, api, deliver, extract (default: GATEHOUSE_ROLES, or all)',
    )
    .action(async ({ roles }: { readonly roles?: string }) => {
      // Loaded only here: no other command needs the server's modules.
      const { serve } = await import('../../app/serve.ts');
      // An empty option is a fault, an empty setting counts as absent.
      const given = roles === undefined ? {} : { GATEHOUSE_ROLES: roles || ',' };
      await serve({ ...process.env, GATEHOUSE_DATA_DIR: cli.globals().dataDir, ...given });
    });
}
