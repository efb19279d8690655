import type { Cli } from '../context.ts';
import { failure, ok } from '../command-outcome.ts';

export function addModels(cli: Cli): void {
  cli.program
    .command('models')
    .description('machine learning models')
    .command('check <file>')
    .description('run the test rows of a model, and report whether a server would accept it')
    .action((file: string) =>
      cli.run(async () => {
        // A corrupt file can crash the process that loads it, so a child process loads it.
        const { checkModelApart } = await import('../../assets/model-child.ts');
        const checked = await checkModelApart(file);
        if (checked.kind === 'fault') return failure(checked.code, checked.detail);
        const { name, version, sha256, rows, maxError } = checked;
        return ok(
          { name, version, sha256, rows, max_error: maxError },
          `${name} ${version} is valid: ${rows} golden rows, largest error ${maxError}\nsha256 ${sha256}`,
        );
      }),
    );
}
