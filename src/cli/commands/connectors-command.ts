import type { Cli } from '../context.ts';

export function addConnectors(cli: Cli): void {
  const connectors = cli.program.command('connectors').description('the available connectors');

  connectors
    .command('list')
    .description('list the connectors and their operations')
    .action(() =>
      cli.run(async () => {
        // All connectors are loaded only for these commands.
        const { listConnectors } = await import('../extract/connector-list.ts');
        return listConnectors();
      }),
    );

  connectors
    .command('show <id>')
    .description("show a connector's operations: their input, the fields of their records, and an example")
    .action((id: string) =>
      cli.run(async () => {
        const { showConnector } = await import('../extract/connector-list.ts');
        return showConnector(id);
      }),
    );
}
