import { InvalidArgumentError } from 'commander';
import type { PolicyDocument, PolicyNote } from '../../core/policy-document.ts';
import type { Cli } from '../context.ts';
import { failure, ok, type Outcome } from '../outcome.ts';
import { withStore } from '../with-store.ts';

/** Choice: as long as ALLOW is kept, so that shares are right. */
const REPORT_HOURS = 24;
/** As long as what is no ALLOW is kept. */
const REPORT_HOURS_MAX = 30 * 24;

function parseHours(text: string): number {
  const hours = Number(text);
  if (!(hours > 0) || hours > REPORT_HOURS_MAX) {
    throw new InvalidArgumentError(`It must be a number over 0 and up to ${REPORT_HOURS_MAX}.`);
  }
  return hours;
}

export function addPolicy(cli: Cli): void {
  const policy = cli.program.command('policy').description('the file that changes how decisions are made');

  policy
    .command('report')
    .description('count what decisions were, or would have been in observe mode, and the rules that made them so')
    .option('--customer <id>', 'of one customer alone, cus_…')
    .option('--hours <hours>', 'of so many hours up to now', parseHours, REPORT_HOURS)
    .action(({ customer, hours }: { readonly customer?: string; readonly hours: number }) =>
      cli.run(async () => {
        const { reportDecisions } = await import('../decision-report.ts');
        const options = { customerId: customer ?? null, hours };
        return withStore(cli.globals().dataDir, (store) => reportDecisions(store, options));
      }),
    );

  policy
    .command('check <file>')
    .description('say whether a server would take a policy file, and what it changes')
    .action((file: string) => cli.run(() => check(file, cli.globals().dataDir)));
}

async function check(file: string, dataDir: string): Promise<Outcome> {
  // The schema and all rules are loaded for this command alone.
  const { noteText, readPolicyFile } = await import('../../pools/policy-read.ts');
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

/** Customers may be made later than the file, so one that does not exist is no fault. */
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
