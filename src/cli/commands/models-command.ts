import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../context.ts';
import { failure } from '../command-outcome.ts';
import type { TrainModelOptions } from '../train-model.ts';
import { withStore } from '../with-store.ts';

/** Reads a share above 0, up to 1: `.002` or `0.2%`. */
function parseShare(text: string): number {
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(share > 0 && share <= 1)) throw new InvalidArgumentError('It must be a share such as .002 or 0.2%.');
  return share;
}

/** Choice: who means 0.2 % and writes 0.2 must not get a model that stops every fifth honest session. */
const BUDGET_MAX = 0.05;

function parseBudget(text: string): number {
  const share = parseShare(text);
  if (share > BUDGET_MAX) throw new InvalidArgumentError('It is at most 5%: write 0.2% or .002, for example.');
  return share;
}

export function addModels(cli: Cli): void {
  const models = cli.program.command('models').description('machine learning models');
  // In the order in which an operator needs them.
  addRows(cli, models);
  addTrain(cli, models);
  addCheck(cli, models);
  addSlots(cli, models);
}

function addCheck(cli: Cli, models: Command): void {
  models
    .command('check <file>')
    .description(
      'run the test rows of a model, and report whether a server would accept it, with the gates of its report',
    )
    .option('--policy <file>', 'the policy that the server has (default: GATEHOUSE_POLICY_FILE)')
    .action((file: string, { policy }: { readonly policy?: string }) =>
      cli.run(async () => {
        const { checkModelFiles } = await import('../check-model.ts');
        return checkModelFiles(file, policy ?? cli.io.env['GATEHOUSE_POLICY_FILE'] ?? null);
      }),
    );
}

function addTrain(cli: Cli, models: Command): void {
  models
    .command('train')
    .description('train a model on the stored feature rows and labels, and write it as a candidate')
    .option('--customer <id>', 'only this customer, cus_…')
    .option('--rows <file>', 'NDJSON of decisions export --kept, instead of the data directory')
    .option(
      '--out <folder>',
      'where the folder of the candidate is written (default: candidates in GATEHOUSE_MODELS_DIR)',
    )
    .option('--prior <share>', 'share of fraud among all decisions', parseShare, 0.01)
    .option(
      '--budget <share>',
      'honest sessions that the model alone may stop, such as 0.2%; sets the threshold',
      parseBudget,
    )
    .option(
      '--allow-rate <share>',
      'share of ALLOW decisions whose feature row is kept, for rows that do not have it (default: as in the log)',
      parseShare,
    )
    .option('--flagged-columns', 'also learn from columns that tell integrations apart', false)
    .action((given: Omit<TrainModelOptions, 'out'> & { readonly out?: string }) =>
      cli.run(async () => {
        // The folder in which the server and the other commands look for candidates.
        const out = given.out ?? join(cli.io.env['GATEHOUSE_MODELS_DIR'] ?? 'models', 'candidates');
        const options: TrainModelOptions = { ...given, out };
        const { trainModel } = await import('../train-model.ts');
        const { readExportedRows, readStoredRows } = await import('../training-source.ts');
        if (options.rows !== undefined) return trainModel(await readExportedRows(options.rows), options, cli.io);
        return withStore(cli.globals().dataDir, async (store) =>
          trainModel(await readStoredRows(store, options.customer ?? null), options, cli.io),
        );
      }),
    );
}

function addRows(cli: Cli, models: Command): void {
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

function withFolder(command: Command): Command {
  return command.option('--models <folder>', 'folder of the models (default: GATEHOUSE_MODELS_DIR, else ./models)');
}

/** The commands that choose which candidate runs. */
function addSlots(cli: Cli, models: Command): void {
  const folderOf = (given: string | undefined): string =>
    resolve(given ?? cli.io.env['GATEHOUSE_MODELS_DIR'] ?? 'models');

  withFolder(models.command('shadow [id]'))
    .description('run a candidate beside the active model: it decides nothing')
    .option('--off', 'end the run of the candidate', false)
    .action((id: string | undefined, options: { readonly models?: string; readonly off: boolean }) =>
      cli.run(async () => {
        const { endShadow, shadowModel } = await import('../choose-model.ts');
        const folder = folderOf(options.models);
        if (options.off) return endShadow(folder);
        if (id === undefined) return failure('usage', 'give the id of a candidate, or --off');
        return shadowModel(folder, id, Date.now());
      }),
    );

  withFolder(models.command('compare'))
    .description('compare the candidate that runs beside the active model with it, on labelled decisions')
    .option('--customer <id>', 'only this customer, cus_…')
    .action((options: { readonly models?: string; readonly customer?: string }) =>
      cli.run(async () => {
        const { compareModels } = await import('../compare-models.ts');
        const folder = folderOf(options.models);
        return withStore(cli.globals().dataDir, (store) =>
          compareModels(store, folder, options.customer ?? null, Date.now()),
        );
      }),
    );

  withFolder(models.command('promote <id>'))
    .description('make a candidate the active model, if every gate of models compare holds')
    .option('--yes', 'promote it whatever the gates say', false)
    .action((id: string, { models: given, yes }: { readonly models?: string; readonly yes: boolean }) =>
      cli.run(async () => {
        const { promoteModel } = await import('../choose-model.ts');
        const options = { nowMs: Date.now(), isForced: yes };
        return withStore(cli.globals().dataDir, (store, door) =>
          promoteModel(store, door, folderOf(given), id, options),
        );
      }),
    );

  withFolder(models.command('resume'))
    .description('make the active model count again where its circuit breaker has silenced it')
    .action((options: { readonly models?: string }) =>
      cli.run(async () => {
        const { resumeModel } = await import('../choose-model.ts');
        const folder = folderOf(options.models);
        return withStore(cli.globals().dataDir, (_store, door) => resumeModel(door, folder, Date.now()));
      }),
    );

  withFolder(models.command('rollback'))
    .description('make the model before the last promotion active again')
    .action((options: { readonly models?: string }) =>
      cli.run(async () => {
        const { rollbackModel } = await import('../choose-model.ts');
        const folder = folderOf(options.models);
        return withStore(cli.globals().dataDir, (_store, door) => rollbackModel(door, folder, Date.now()));
      }),
    );
}
