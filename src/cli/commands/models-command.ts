import type { Cli } from '../context.ts';
import { failure, ok } from '../command-outcome.ts';
import { withStore } from '../with-store.ts';

export function addModels(cli: Cli): void {
  const models = cli.program.command('models').description('machine learning models');

  models
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

  models
    .command('rows')
    .description('count the stored feature rows and labels that a model could learn from, and what is missing')
    .option('--customer <id>', 'only this customer, cus_…')
    .action(({ customer }: { readonly customer?: string }) =>
      cli.run(async () => {
        const { reportLearningStock } = await import('../learning-stock-report.ts');
        return withStore(cli.globals().dataDir, (store) => reportLearningStock(store, customer ?? null));
      }),
    );
}
