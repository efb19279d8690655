import type { Cli } from '../context.ts';

export function addConnectors(cli: Cli): void {
  const connectors = cli.program.command('connectors').description('what can be extracted, and from where');

  connectors
    .command('list')
    .description('list the connectors and their operations')
    .action(() =>
      cli.run(async () => {
        // All connectors are loaded for these commands alone.
        const { listConnectors } = await import('../extract/catalogue.ts');
        return listConnectors();
      }),
    );

  connectors
    .command('show <id>')
    .description("show a connector's operations: what they take, what their records have, and an example")
    .action((id: string) =>
      cli.run(async () => {
        const { showConnector } = await import('../extract/catalogue.ts');
        return showConnector(id);
      }),
    );
}
