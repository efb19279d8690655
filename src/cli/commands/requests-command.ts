import type { Cli } from '../context.ts';

export function addRequests(cli: Cli): void {
  const requests = cli.program.command('requests').description('the request log, which backtests read');

  requests
    .command('erase')
    .description('erase the logged requests about a person, with their outcomes; a running server may go on')
    .requiredOption('--customer <id>', 'the customer, cus_…')
    .requiredOption('--entity <name=value>', 'the person, such as email=anna@example.com')
    .action((words: { readonly customer: string; readonly entity: string }) =>
      cli.run(async () => {
        const { eraseLoggedRequests } = await import('../erase-requests.ts');
        const masterKey = cli.io.env['GATEHOUSE_MASTER_KEY'];
        return eraseLoggedRequests({ ...words, dataDir: cli.globals().dataDir, masterKey });
      }),
    );
}
