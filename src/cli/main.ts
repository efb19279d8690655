#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { addBackup } from './commands/backup.ts';
import { addConnectors } from './commands/connectors.ts';
import { addCustomers } from './commands/customers.ts';
import { addDecide } from './commands/decide.ts';
import { addExtract } from './commands/extract.ts';
import { addFailures } from './commands/failures.ts';
import { addKeys } from './commands/keys.ts';
import { addModels } from './commands/models.ts';
import { addPolicy } from './commands/policy.ts';
import { addRegistry } from './commands/registry.ts';
import { addServe } from './commands/serve.ts';
import type { Cli, GlobalOptions } from './context.ts';
import { printError, printOutcome, USAGE_EXIT } from './outcome.ts';

async function main(): Promise<void> {
  // Looked for by hand as well, because a usage error ends commander before it knows its options.
  const json = process.argv.includes('--json');
  const cli = createCli(json);
  try {
    await cli.program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      printError('internal_error', error instanceof Error ? error.message : String(error), json);
      process.exitCode = 1;
      return;
    }
    // Help and version were asked for, and are printed already.
    if (error.exitCode === 0) return;
    if (json) printError('usage', error.message.replace(/^error: /, ''), true);
    process.exitCode = USAGE_EXIT;
  }
}

function createCli(json: boolean): Cli {
  const program = new Command('gatehouse')
    .description('Self-hosted risk decisions for logins, checkouts and sign-ups, and extraction of records from sites')
    .option('--json', 'print one JSON object on standard output', false)
    .option('--data-dir <folder>', 'the data directory', process.env['GATEHOUSE_DATA_DIR'] || './data')
    .exitOverride()
    .configureOutput({
      writeErr: (text) => {
        if (!json) process.stderr.write(text);
      },
    });
  const cli: Cli = {
    program,
    globals: () => program.opts<GlobalOptions>(),
    async run(work) {
      const outcome = await work();
      process.exitCode = printOutcome(outcome, json);
      // The store's environment hangs, and with it every other way to end this process.
      if (outcome.kind === 'error' && outcome.code === 'store_stuck') process.kill(process.pid, 'SIGKILL');
    },
  };
  const commands = [
    addServe,
    addExtract,
    addConnectors,
    addFailures,
    addCustomers,
    addKeys,
    addDecide,
    addRegistry,
    addModels,
    addPolicy,
    addBackup,
  ];
  for (const add of commands) add(cli);
  return cli;
}

await main();
