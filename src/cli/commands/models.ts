import type { Cli } from '../context.ts';
import { failure, ok } from '../outcome.ts';

export function addModels(cli: Cli): void {
  cli.program
    .command('models')
    .description('models that a server may load')
    .command('check <file>')
    .description('load a model, run its golden vectors, and say whether a server would take it')
    .action((file: string) =>
      cli.run(async () => {
        // A damaged file can end the process that loads it, so a child does.
        const { checkModelApart } = await import('../../pools/model-child.ts');
        const checked = await checkModelApart(file);
        if (checked.kind === 'fault') return failure(checked.code, checked.detail);
        const { name, version, sha256, rows, maxError } = checked;
        return ok(
          { name, version, sha256, rows, max_error: maxError },
          `${name} ${version} is good: ${rows} golden rows, largest error ${maxError}\nsha256 ${sha256}`,
        );
      }),
    );
}
