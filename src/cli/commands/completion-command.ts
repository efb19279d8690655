import { Argument } from 'commander';
import type { Cli } from '../context.ts';
import { completionScript, type Shell, SHELLS } from '../completion-scripts.ts';
import { ok } from '../command-outcome.ts';

export function addCompletion(cli: Cli): void {
  cli.program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) =>
      cli.run(async () => {
        await cli.loadAll();
        const script = completionScript(shell, cli.program);
        return ok({ shell, script }, script);
      }),
    );
}
