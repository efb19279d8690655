import { Command, CommanderError } from 'commander';
import { endProcess } from '../kernel/end-process.ts';
import { versionOfInstallation } from '../kernel/programs.ts';
import type { Cli, GlobalOptions } from './context.ts';
import type { Io } from './io.ts';
import { forTerminal } from './terminal-text.ts';
import { failure, type CommandOutcome, printOutcome, usage, USAGE_EXIT } from './command-outcome.ts';

type Add = (cli: Cli) => void;

/** Commands in the order of the help. Each is loaded only if it is named: `serve` needs none of the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Add>>> = {
  serve: async () => (await import('./commands/serve-command.ts')).addServe,
  extract: async () => (await import('./commands/extract-command.ts')).addExtract,
  connectors: async () => (await import('./commands/connectors-command.ts')).addConnectors,
  failures: async () => (await import('./commands/failures-command.ts')).addFailures,
  customers: async () => (await import('./commands/customers-command.ts')).addCustomers,
  keys: async () => (await import('./commands/keys-command.ts')).addKeys,
  decisions: async () => (await import('./commands/decisions-command.ts')).addDecisions,
  tail: async () => (await import('./commands/tail-command.ts')).addTail,
  explain: async () => (await import('./commands/explain-command.ts')).addExplain,
  listen: async () => (await import('./commands/listen-command.ts')).addListen,
  trigger: async () => (await import('./commands/trigger-command.ts')).addTrigger,
  webhooks: async () => (await import('./commands/webhooks-command.ts')).addWebhooks,
  decide: async () => (await import('./commands/decide-command.ts')).addDecide,
  lists: async () => (await import('./commands/lists-command.ts')).addLists,
  'named-lists': async () => (await import('./commands/named-lists-command.ts')).addNamedLists,
  registry: async () => (await import('./commands/registry-command.ts')).addRegistry,
  labels: async () => (await import('./commands/labels-command.ts')).addLabels,
  models: async () => (await import('./commands/models-command.ts')).addModels,
  data: async () => (await import('./commands/data-command.ts')).addData,
  evaluate: async () => (await import('./commands/evaluate-command.ts')).addEvaluate,
  policy: async () => (await import('./commands/policy-command.ts')).addPolicy,
  rules: async () => (await import('./commands/rules-command.ts')).addRules,
  requests: async () => (await import('./commands/requests-command.ts')).addRequests,
  dashboard: async () => (await import('./commands/dashboard-command.ts')).addDashboard,
  cluster: async () => (await import('./commands/cluster-command.ts')).addCluster,
  audit: async () => (await import('./commands/audit-command.ts')).addAudit,
  backup: async () => (await import('./commands/backup-command.ts')).addBackup,
  restore: async () => (await import('./commands/restore-command.ts')).addRestore,
  health: async () => (await import('./commands/health-command.ts')).addHealth,
  doctor: async () => (await import('./commands/doctor-command.ts')).addDoctor,
  completion: async () => (await import('./commands/completion-command.ts')).addCompletion,
};

/** Runs the command named by `words` and resolves to the exit code. */
export async function run(words: readonly string[], io: Io): Promise<number> {
  // Searched here as well, because commander ends with a usage error before it knows its options.
  const json = words.includes('--json');
  let exitCode = 0;
  const print = (outcome: CommandOutcome): void => {
    exitCode = printOutcome(outcome, json, io.write);
  };
  const wanted = wantedCommands(words);
  const cli: Cli = {
    program: createProgram(json, io),
    io,
    globals: () => cli.program.opts<GlobalOptions>(),
    async loadAll() {
      for (const load of Object.values(COMMANDS)) if (!wanted.includes(load)) (await load())(cli);
    },
    async run(work) {
      const outcome = await work();
      print(outcome);
      // The store's environment hangs, and with it every other way to end this process.
      if (outcome.kind === 'error' && outcome.code === 'store_stuck') endProcess();
    },
  };
  try {
    for (const load of wanted) (await load())(cli);
    await cli.program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      print(failure('internal_error', error instanceof Error ? error.message : String(error)));
      return exitCode;
    }
    // Help or version was requested and is already printed.
    if (error.exitCode === 0) return 0;
    if (json) print(usage('usage', error.message.replace(/^error: /, '')));
    return USAGE_EXIT;
  }
  return exitCode;
}

function createProgram(json: boolean, io: Io): Command {
  const version = versionOfInstallation();
  return new Command('gatehouse')
    .description('Self-hosted risk decisions for logins, checkouts and sign-ups, and extraction of records from sites')
    .version(json ? JSON.stringify({ version }) : version, '--version', 'print the version')
    .option('--json', 'print one JSON object on standard output', false)
    .option('--data-dir <folder>', 'the data directory', io.env['GATEHOUSE_DATA_DIR'] || './data')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.write(1, forTerminal(text)),
      writeErr: (text) => {
        if (!json) io.write(2, forTerminal(text));
      },
    });
}

/**
 * Returns the commands that a command line names, or all of them if it names none: for the help, and for the message about an unknown one.
 * A word may also be the value of an option, so a command may be loaded needlessly, but a named command is always loaded.
 */
function wantedCommands(words: readonly string[]): readonly (() => Promise<Add>)[] {
  const all = Object.entries(COMMANDS);
  const named = all.filter(([name]) => words.includes(name));
  return (named.length > 0 ? named : all).map(([, load]) => load);
}
