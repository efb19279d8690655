import { InvalidArgumentError } from 'commander';
import type { PolicyDocument, PolicyNote } from '../../risk/policy/policy-document.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type CommandOutcome } from '../command-outcome.ts';
import { withStore } from '../with-store.ts';

/** Choice: as long as ALLOW decisions are kept, so that shares are correct. */
const REPORT_HOURS = 24;
/** Choice: two weeks have every day of the week twice. */
const DEFAULT_DAYS = 14;
/** As long as decisions other than ALLOW are kept. */
const REPORT_HOURS_MAX = 30 * 24;

function parseHours(text: string): number {
  const hours = Number(text);
  if (!(hours > 0) || hours > REPORT_HOURS_MAX) {
    throw new InvalidArgumentError(`It must be a number above 0 and up to ${REPORT_HOURS_MAX}.`);
  }
  return hours;
}

export function addPolicy(cli: Cli): void {
  const policy = cli.program.command('policy').description('the policy file');

  policy
    .command('report')
    .description(
      'count decisions by value and by the rules that fired; in observe mode, by the value that would have been returned',
    )
    .option('--customer <id>', 'only this customer, cus_…')
    .option('--hours <hours>', 'how many hours to look back', parseHours, REPORT_HOURS)
    .action(({ customer, hours }: { readonly customer?: string; readonly hours: number }) =>
      cli.run(async () => {
        const { reportDecisions } = await import('../decision-table.ts');
        const options = { customerId: customer ?? null, hours };
        return withStore(cli.globals().dataDir, (store) => reportDecisions(store, options));
      }),
    );

  policy
    .command('check <file>')
    .description('report whether a server would accept a policy file, and what it changes')
    .action((file: string) => cli.run(() => check(file, cli.globals().dataDir)));

  policy
    .command('test <file>')
    .description('decide the events of a YAML or JSON file and compare with the decisions and reasons that it expects')
    .option('--policy <file>', 'the policy file to test, instead of the one that the test file names')
    .option('--no-geo', 'use no location database, so that the result is the same everywhere')
    .action((file: string, { policy: tested, geo }: { readonly policy?: string; readonly geo: boolean }) =>
      cli.run(async () => {
        const { testPolicy } = await import('../policy-test-command.ts');
        const { dataDir } = cli.globals();
        return testPolicy(file, { policy: tested ?? null, geo, dataDir, env: cli.io.env });
      }),
    );

  policy
    .command('backtest <file>')
    .description(
      'try a policy file on the logged requests of a customer: what would have been decided otherwise, and for whom',
    )
    .option('--since <days>', 'how far back, as 14d', parseDays, DEFAULT_DAYS)
    .option('--customer <id>', 'the customer, cus_…; not needed if there is only one')
    .action((file: string, words: { readonly since: number; readonly customer?: string }) =>
      cli.run(async () => {
        const { backtestPolicy } = await import('../backtest-policy.ts');
        return backtestPolicy(file, { ...words, dataDir: cli.globals().dataDir }, cli.io);
      }),
    );
}

function parseDays(text: string): number {
  const days = Number(/^(\d{1,2})d$/.exec(text)?.[1]);
  if (!(days >= 1 && days <= 90)) throw new InvalidArgumentError('It must be days from 1d to 90d, such as 14d.');
  return days;
}

async function check(file: string, dataDir: string): Promise<CommandOutcome> {
  // The schema and all rules are loaded only for this command.
  const { noteText, readPolicyFile } = await import('../../assets/policy-read.ts');
  const { policyReport } = await import('../policy-report.ts');
  const read = await readPolicyFile(file);
  if (read.kind === 'unreadable') return failure('unreadable_file', `${file} cannot be used: ${read.detail}`);
  if (read.kind === 'faults') {
    const json = { valid: false, version: null, errors: read.faults, warnings: [] };
    const lines = read.faults.map((fault) => `  ${noteText(fault)}`);
    return ok(json, [`${file} is not valid:`, ...lines].join('\n'), true);
  }
  const { document } = read;
  const warnings = [...read.warnings, ...(await unknownCustomers(document, dataDir))];
  const lines = warnings.map((warning) => `warning: ${noteText(warning)}`);
  const text = [`${file} is valid, version ${document.version}`, ...lines, '', policyReport(document)].join('\n');
  return ok({ valid: true, version: document.version, errors: [], warnings }, text);
}

/** Customers may be created later than the file, so an unknown one is not a fault. */
async function unknownCustomers(document: PolicyDocument, dataDir: string): Promise<readonly PolicyNote[]> {
  if (document.customers.size === 0) return [];
  const notes: PolicyNote[] = [];
  const outcome = await withStore(dataDir, ({ customers }) => {
    for (const id of document.customers.keys()) {
      if (customers.findById(id) !== null) continue;
      notes.push({ pointer: `/customers/${id}`, message: 'there is no such customer yet' });
    }
    return ok({}, '');
  });
  return outcome.kind === 'ok' ? notes : aboutAll(`they were not looked up: ${outcome.message}`);
}

function aboutAll(message: string): PolicyNote[] {
  return [{ pointer: '/customers', message }];
}
